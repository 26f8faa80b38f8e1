#!/usr/bin/env bash
# The documentation, with no warning allowed; what the README promises exists.
#
#   ci/docs.sh         everything
#   ci/docs.sh names   only that pages and comments name what exists
. "$(dirname "$0")/lib.sh"

# same WHAT LINES LINES: fails if two sets of lines differ.
same() {
    diff <(tr ' ' '\n' <<<"$2" | sort -u) <(tr ' ' '\n' <<<"$3" | sort -u) || fail "$1 (< has what > lacks)"
}

# Links of the README are on the list that leads them to these pages, too.
same "README.md and src/readme_links.md define other links" \
    "$(grep -o '^\[[^]]*\]:' README.md)" "$(grep -o '^\[[^]]*\]:' src/readme_links.md)"

# Every model that a comment in src/ names exists; that it names the right one, ci/mutate.sh checks. Each model is run
# by a command on the page on proofs, and each of these commands runs a model.
models=$(grep -rhozP '(Model::new\(\s*"|model!\(\s*)\K(?!canary_)\w+' loom_tests/src | tr '\0' '\n')
names=$(grep -oP '`cargo loom \K[a-z_]+' docs/PROOF.md | sort -u)
for name in $names; do
    grep -q "$name" <<<"$models" || fail "docs/PROOF.md runs models named $name, and there are none"
done
! grep -vF "$names" <<<"$models" || fail "docs/PROOF.md has no command that runs these models"
same "a comment in src/ names a model that does not exist" "$models" \
    "$models $(grep -rhoP 'Model: \K[a-z_]+(, [a-z_]+)*' src | tr -s ', ' ' ')"
[ "${1-}" != names ] || exit 0

RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --features $features
RUSTDOCFLAGS="-D warnings" step cargo doc --no-deps --document-private-items
# As docs.rs makes it.
if has "the documentation as docs.rs makes it" nightly; then
    RUSTDOCFLAGS="-D warnings --cfg docsrs" \
        step cargo +nightly doc -p releasepool --no-deps --features $features --target-dir target/docsrs
    grep -q 'Available on <strong>crate feature <code>leak-detection' target/docsrs/doc/releasepool/leaks/index.html ||
        fail "docs.rs would not say which feature the module leaks needs"
fi
