#!/usr/bin/env bash
# The checkers, checked: each must report a bug that is planted in a copy of src/.
# A checker that is off, or has no test that would notice, fails here.
#
#   ci/planted.sh             all of ci/planted/*.patch
#   ci/planted.sh NAME...     those
#
# Above each patch stands what the bug is, which script is run, and which words the
# checker must say: any other failure, such as a compile error, is none of its doing.
# The copy is built in a target directory of its own, and both go at the end: nobody
# else can run what has a bug in it.
. "$(dirname "$0")/lib.sh"

xtask planted "$@"
