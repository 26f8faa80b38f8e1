# Sourced by the scripts here: stops at the first error, changes to the root, and prints each step.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() {
    printf '\n== %s ==\n' "$*"
    "$@"
}

# Ends the script with success, as something that it needs is missing. `.ci/run` repeats the reason.
skip() {
    printf '\nSKIPPED ci/%s: %s\n' "$(basename "$0")" "$*" | tee -a "${SKIPPED:-/dev/null}"
    exit 0
}

# `cargo xtask`, built in one way whatever flags a script has set.
xtask() {
    env -u RUSTFLAGS -u CARGO_PROFILE_DEV_DEBUG cargo xtask "$@"
}

# Sets `tests` to what `cargo test` is given for the tests in these lists of ci/tests.txt.
tests_of() {
    local names
    names=$(xtask tests "$@")
    mapfile -t tests <<<"$names"
}

# Sets `tests` to the whole names of the tests in the first list that are not in the second one.
whole_names_of() {
    local names others
    names=$(xtask tests --whole "$1")
    others=$(xtask tests --whole "$2")
    mapfile -t tests < <(grep -vxFf <(printf '%s\n' "$others") <<<"$names")
}

# Sets `skips` to the options that skip them.
skip_tests() {
    local tests test
    tests_of "$@"
    skips=()
    for test in "${tests[@]}"; do skips+=(--skip "$test"); done
}

# Skips unless there is a nightly toolchain with these components, or it can be had.
needs_nightly() {
    rustup toolchain list 2>/dev/null | grep -q '^nightly' ||
        rustup toolchain install nightly --profile minimal >/dev/null 2>&1 ||
        skip "there is no nightly toolchain (rustup toolchain install nightly)"
    local component
    for component in "$@"; do
        rustup component add "$component" --toolchain nightly >/dev/null 2>&1 ||
            skip "the nightly toolchain has no $component (rustup component add $component --toolchain nightly)"
    done
    host=$(rustc +nightly -vV | sed -n 's/^host: //p')
}
