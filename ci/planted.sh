#!/usr/bin/env bash
# The checkers, checked: each must report a bug that is planted in a copy of src/.
# A checker that is off, or has no test that would notice, fails here.
#
#   ci/planted.sh             all of ci/planted/*.patch
#   ci/planted.sh NAME...     those
#
# Above each patch stands what the bug is, which script is run, and which words the
# checker must say: any other failure, such as a compile error, is none of its doing.
. "$(dirname "$0")/lib.sh"

root=$PWD
# Below target/, so that what the sanitizers have built is used again.
copy=$root/target/planted
log=$copy.log
# git is not to look for the repository around the copy.
export GIT_CEILING_DIRECTORIES=$root/target

if [ $# -eq 0 ]; then
    for patch in ci/planted/*.patch; do
        set -- "$@" "$(basename "$patch" .patch)"
    done
fi

# The working files as they are; cargo's settings come from the root anyhow.
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard -- . ':!.cargo' |
    while IFS= read -r -d '' file; do
        if [ -e "$file" ]; then printf '%s\0' "$file"; fi
    done | tar -c --null -T - | tar -x -C "$copy"
ln -s "$root/target" "$copy/target"

table=$(printf '%-20s %-62s %7s  %s' planted bug seconds "reported as")
failed=0
for name in "$@"; do
    patch=$root/ci/planted/$name.patch
    field() { sed -n "s/^$1: //p" "$patch"; }
    bug=$(field bug)
    wanted=$(field reports)
    read -ra run <<<"$(field run)"
    start=$SECONDS
    printf '\n== %s: %s; %s ==\n' "$name" "$bug" "${run[*]}"
    if ! (cd "$copy" && git apply "$patch"); then
        verdict="FAILED: the patch does not apply any more: bring ci/planted/$name.patch up to date"
    else
        status=0
        (cd "$copy" && "${run[@]}") >"$log" 2>&1 || status=$?
        if grep -q '^SKIPPED' "$log"; then
            verdict=$(grep '^SKIPPED' "$log")
        elif [ "$status" = 0 ]; then
            verdict="FAILED: nothing was reported"
        elif grep -qF -- "$wanted" "$log"; then
            verdict=$wanted
            grep -m1 -F -A3 -- "$wanted" "$log" | cut -c1-150
        else
            verdict="FAILED: exit $status, but the output lacks \"$wanted\""
            tail -n 40 "$log"
        fi
        (cd "$copy" && git apply -R "$patch")
    fi
    case $verdict in FAILED*) failed=1 ;; esac
    table+=$(printf '\n%-20s %-62s %7d  %s' "$name" "$bug" $((SECONDS - start)) "$verdict")
done
rm -rf "$copy" "$log"
printf '\n%s\n' "$table"
exit "$failed"
