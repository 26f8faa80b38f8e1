#!/usr/bin/env bash
# The checkers, checked: each must report a bug that is planted in a copy of src/.
# A checker that is off, or has no test that would notice, fails here.
#
#   ci/sanitize/planted.sh             all of ci/sanitize/planted/*.patch
#   ci/sanitize/planted.sh NAME...     those
#   ci/sanitize/planted.sh short       what CI runs: a third of them, another third for another commit; all must
#                             apply
#
# Above each patch stands what the bug is, which script is run, and which words the
# checker must say: any other failure, such as a compile error, is none of its doing.
# `passes:` names what must not notice the bug: for those that only larger programs find.
# The copy is built in a target directory of its own, and both go at the end: nobody
# else can run what has a bug in it.
. "$(dirname "$0")/../lib.sh"

if [ "${1-}" = short ]; then
    set --
    third=$((16#$(git rev-parse HEAD | cut -c1-7) % 3))
    for patch in ci/sanitize/planted/*.patch; do
        git apply --check "$patch"
        if [ $((third++ % 3)) = 0 ]; then set -- "$@" "$(basename "$patch" .patch)"; fi
    done
fi
xtask planted "$@"
