#!/usr/bin/env bash
# The programs in loom_tests/litmus: herd7, which knows every execution that a memory model allows, says of each
# outcome that must not be whether it is possible. A program's second line has the answers that are wanted, under two
# models: RC11, which forbids load buffering, and C11's, which does not.
. "$(dirname "$0")/lib.sh"

command -v herd7 >/dev/null || skip "herd7 is not on the PATH"
cd loom_tests/litmus
for program in *.litmus; do
    wanted=$(sed -n '2s/"\([^:]*\):.*/\1/p' "$program")
    found=
    for model in rc11 c11_simp; do
        answer=$(herd7 -model "$model.cat" "$program" | sed -n 's/^Observation [^ ]* \([A-Z][a-z]*\).*/\1/p')
        found+=", $model ${answer:-no answer}"
    done
    printf '%-40s%s\n' "$program" "${found#, }"
    [[ ${found#, } == "$wanted" ]] || fail "$program: wanted: $wanted"
done
