#!/usr/bin/env bash
# The documentation, with no warning allowed; what the README promises exists.
. "$(dirname "$0")/lib.sh"

RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --features allocator-api2,checks,tracing
RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --document-private-items

# Links of the README are on the list that leads them to these pages, too.
labels() { grep -oE '^\[[^]]+\]:' "$1" | sort; }
diff <(labels README.md) <(labels src/readme_links.md)

# Every model that a comment in src/ or the page on proofs names exists, and the
# page names every model. That a comment names the right one, ci/weaken.sh checks.
models=$(grep -hA1 "Model::new($" loom_tests/src/checks/*.rs | grep -oE '"[a-z_]+"' | tr -d '"' | grep -v ^canary_)
in_comments=$(grep -rhoE 'Model: [a-z_, ]+' src --include='*.rs' | sed -E 's/Model: //; s/,/ /g')
in_page=$(sed -n '/what cannot happen/,/^$/p' docs/PROOF.md | grep -oE '`[a-z]+_[a-z_]+`' | tr -d '`' |
    grep -vxE '(get|make)_mut|try_unwrap|into_inner|(strong|weak)_count')
failed=0
for name in $in_comments $in_page; do
    if ! grep -qxF "$name" <<<"$models"; then
        echo "the model $name is named, but does not exist" >&2
        failed=1
    fi
done
for name in $models; do
    if ! grep -qxF "$name" <<<"$in_page"; then
        echo "docs/PROOF.md does not name the model $name" >&2
        failed=1
    fi
done
exit "$failed"
