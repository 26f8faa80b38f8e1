#!/usr/bin/env bash
# The documentation, with no warning allowed; what the README promises exists.
. "$(dirname "$0")/lib.sh"

RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --features checks,tracing
RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --document-private-items

# Every loom model that a comment in src/ names exists.
missing=0
models=$(cat loom_tests/src/checks/*.rs)
for name in $(grep -rhoE 'Models?: [a-z_, ]+' src --include='*.rs' | sed -E 's/Models?: //; s/,/ /g'); do
    if ! grep -q "\"$name\"" <<<"$models"; then
        echo "src/ names the model $name, which does not exist" >&2
        missing=1
    fi
done
exit "$missing"
