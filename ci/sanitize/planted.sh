#!/usr/bin/env bash
# The checkers, checked: each must report a bug that is planted in a copy of the project.
# A checker that is off, or has no test that would notice, fails here.
#
#   ci/sanitize/planted.sh             all of ci/sanitize/planted/*.patch
#   ci/sanitize/planted.sh NAME...     those
#
# Above each patch stands what the bug is, which script is run, and which words the
# checker must say: any other failure, such as a compile error, is none of its doing.
# `passes:` names what must not notice the bug: for those that only larger programs find.
# The copy is built in a target directory of its own, and both go at the end: nobody
# else can run what has a bug in it.
. "$(dirname "$0")/../lib.sh"

[ $# -gt 0 ] || set -- $(basename -s .patch ci/sanitize/planted/*.patch)
# Below the root, where cargo finds the settings. git is not to look for the repository around it.
copy=$PWD/target/planted log=$PWD/target/planted.log patches=$PWD/ci/sanitize/planted
export GIT_CEILING_DIRECTORIES=$PWD/target
unset CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR CARGO_BUILD_BUILD_DIR
trap 'rm -rf "$copy" "$log" "$work"' EXIT
rm -rf "$copy"
mkdir -p "$copy/target"
git ls-files -z --cached --others --exclude-standard -- ':!.cargo' |
    tar -c --null --ignore-failed-read -T - | tar -x -C "$copy"
# What the scripts have built already: then only the project is built once more, not what it depends on. Times
# decide what cargo builds anew.
for build in asan loom loom-asan miri shuttle tsan valgrind; do
    [ ! -d target/$build ] || cp -a --reflink=auto target/$build "$copy/target"
done
cd "$copy"

# field KEY: the text behind this word above the patch.
field() {
    sed -n "/^--- /q; s/^$1: *//p" "$patch"
}

# verdict: plants the bug, and sets `said` to what the checkers made of it.
verdict() {
    local run passes reports status=0
    read -ra run < <(field run) && read -ra passes < <(field passes) || true
    reports=$(field reports)
    [ -n "$bug" ] && [ ${#run[@]} != 0 ] && [ -n "$reports" ] || fail "$patch lacks bug, run or reports"
    git apply "$patch" || fail "bring $patch up to date"
    "${run[@]}" >"$log" 2>&1 </dev/null || status=$?
    if said=$(grep -m 1 '^SKIPPED' "$log"); then
        :
    elif [ $status = 0 ]; then
        said="FAILED: nothing was reported"
    elif ! grep -qF -- "$reports" "$log"; then
        said="FAILED: exit $status, but the output lacks \"$reports\""
    else
        said=$reports
        grep -m 1 -F -A 3 -- "$reports" "$log" | cut -c -150
        [ ${#passes[@]} = 0 ] || "${passes[@]}" >"$log" 2>&1 </dev/null || said="FAILED: \`${passes[*]}\` does not pass"
    fi
    [[ $said != FAILED* ]] || tail -n 40 "$log"
    git apply -R "$patch"
}

table=$(printf '%-20s %-62s %7s  %s' planted bug seconds 'reported as')
for name in "$@"; do
    patch=$patches/$name.patch
    bug=$(field bug)
    printf '\n== %s: %s; %s ==\n' "$name" "$bug" "$(field run)"
    began=$SECONDS
    verdict
    table+=$(printf '\n%-20s %-62s %7d  %s' "$name" "$bug" $((SECONDS - began)) "$said")
done
printf '\n%s\n' "$table"
[[ $table != *FAILED* ]]
