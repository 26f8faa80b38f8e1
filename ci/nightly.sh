#!/usr/bin/env bash
# Runs all checks: also those that take hours, or rarely find anything, and that `.ci/run` leaves out or
# shortens, or that take turns there. Runs each script to its end even if another one fails; says at the
# end which did.
#
#   ci/nightly.sh            everything
#   ci/nightly.sh NAME...    those of the scripts below
cd "$(dirname "$0")/.."

scripts=(
    ".ci/run all"
    "ci/test.sh msrv"
    ci/package.sh
    ci/capi.sh
    ci/shuttle.sh
    ci/sanitize/planted.sh
    "ci/sanitize/sanitizers.sh tsan"
    "ci/sanitize/sanitizers.sh asan"
    "ci/loom.sh asan"
    ci/sanitize/valgrind.sh
    ci/sanitize/careful.sh
    ci/sanitize/miri.sh
    ci/processors.sh
    ci/bench/locked.sh
    "ci/long.sh soak"
    "ci/long.sh threads"
    "ci/long.sh memory"
    "ci/long.sh slots"
    "ci/long.sh tasks"
    ci/fuzz.sh
    "ci/mutate.sh weaken all"
    "ci/mutate.sh changed"
    "ci/mutate.sh prove"
)

failed=()
for script in "${scripts[@]}"; do
    if [ $# -gt 0 ] && ! grep -qF -f <(printf '%s\n' "$@") <<<"$script"; then continue; fi
    printf '\n######## %s ########\n' "$script"
    $script || failed+=("$script")
done
printf '\nfailed: %s\n' "${failed[*]:-none}"
[ ${#failed[@]} = 0 ]
