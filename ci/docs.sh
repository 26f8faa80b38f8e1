#!/usr/bin/env bash
# The documentation, with no warning allowed; what the README promises exists.
. "$(dirname "$0")/lib.sh"

RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --features allocator-api2,checks,leak-detection,metrics,serde,tracing
RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --document-private-items
# As docs.rs makes it.
if can_have nightly; then
    RUSTDOCFLAGS="-D warnings --cfg docsrs" \
        step cargo +nightly doc -p releasepool --no-deps --features allocator-api2,checks,leak-detection,metrics,serde,tracing \
        --target-dir target/docsrs
    grep -q 'Available on <strong>crate feature <code>leak-detection' target/docsrs/doc/releasepool/leaks/index.html ||
        fail "docs.rs would not say which feature the module leaks needs"
else
    skipped "the documentation as docs.rs makes it: $missing"
fi

# Links of the README are on the list that leads them to these pages, too. Every model that a
# comment in src/ or the page on proofs names exists, and the page names every model. That a comment
# names the right one, ci/mutate.sh checks.
step xtask docs
