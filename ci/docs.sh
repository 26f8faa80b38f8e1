#!/usr/bin/env bash
# The documentation, with no warning allowed; what the README promises exists.
. "$(dirname "$0")/lib.sh"

RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --features allocator-api2,checks,leak-detection,metrics,serde,tracing
RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --document-private-items

# Links of the README are on the list that leads them to these pages, too. Every model that a
# comment in src/ or the page on proofs names exists, and the page names every model. That a comment
# names the right one, ci/mutate.sh checks.
step xtask docs
