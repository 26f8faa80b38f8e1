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

# Every model that the page on proofs or a comment in src/ names exists, and the page names every model. That a
# comment names the right one, ci/mutate.sh checks.
models=$(grep -rhozP '(Model::new\(\s*"|model!\(\s*)\K(?!canary_)\w+' loom_tests/src | tr '\0' '\n')
same "loom_tests/src has other models than docs/PROOF.md" "$models" \
    "$(sed -n '/^| what cannot happen | models |/,/^$/p' docs/PROOF.md | cut -d '|' -f 3 | grep -oP '`\K\w+(?=`)')"
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
