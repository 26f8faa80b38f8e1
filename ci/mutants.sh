#!/usr/bin/env bash
# Logic mutants of the concurrent core, made by cargo-mutants: each must be noticed by
# a test, or failing that by a model, or stand in ci/mutants/justified.txt with its
# reason.
#
#   ci/mutants.sh all          all of them: about three hours on two quiet cores
#   ci/mutants.sh FILE...      those of these files of src/
#   ci/mutants.sh changed [N]  those in lines that changed since the report was
#                              made, at most N of them (40)
#   ci/mutants.sh commit [N]   those in lines that the last commit changed, as CI does
#
# The first two keep the report, ci/mutants/report.txt: a line for each file.
. "$(dirname "$0")/lib.sh"

here=ci/mutants
out=target/mutants
mkdir -p "$out"

if ! cargo mutants --version >/dev/null 2>&1; then
    step cargo install --locked cargo-mutants || skip "cargo-mutants is not there and cannot be had"
fi
# nextest stops at the first test that fails; a user may not have it.
options=(--no-shuffle)
if cargo nextest --version >/dev/null 2>&1; then
    export NEXTEST_PROFILE=mutants
    options+=(--test-tool nextest)
fi

# FILE: what it is, without the commit that it came with: that may be rebased, or not
# be in a shallow clone.
content() {
    git hash-object "$1" | cut -c1-12
}

# FILE: what changed in it since its line in the report.
change_of() {
    local since
    since=$(awk -v file="$1" '$1 == file { print $2 }' "$here/report.txt")
    if [ "$since" = "$(content "$1")" ]; then
        return
    elif [ -n "$since" ] && git cat-file blob "$since" >"$out/before" 2>/dev/null; then
        git diff --no-ext-diff --no-index --src-prefix=a/ --dst-prefix=b/ "$out/before" "$1" || true
    else
        # Never examined, or what was examined is not here: all of it.
        git diff --no-ext-diff --no-index --src-prefix=a/ --dst-prefix=b/ /dev/null "$1" || true
    fi
}

files() {
    cargo mutants --list-files
}

# What there is to examine.
case "${1:?all, FILE... or changed: see the head of this script}" in
    all) wanted=$(files) ;;
    changed | commit)
        wanted=""
        if [ "$1" = changed ]; then
            for file in $(files); do change_of "$file"; done >"$out/change.diff"
        else
            git rev-parse -q --verify HEAD^ >/dev/null || skip "the commit before the last one is not here"
            git diff --no-ext-diff HEAD^ HEAD -- $(files) >"$out/change.diff"
        fi
        if [ ! -s "$out/change.diff" ]; then
            echo "nothing has changed"
            exit 0
        fi
        options+=(--in-diff "$out/change.diff")
        count=$(cargo mutants --list "${options[@]}" | wc -l)
        most=${2:-40}
        echo "$count mutants in what changed"
        [ "$count" -gt 0 ] || exit 0
        if [ "$count" -gt "$most" ]; then
            parts=$(((count + most - 1) / most))
            echo "only a sample: one in $parts (ci/mutants.sh changed $count runs all)"
            options+=(--shard "0/$parts" --sharding round-robin)
        fi
        ;;
    *) wanted=$* ;;
esac

# Exit code 2 says that some were missed, 3 that some did not end: looked at below.
status=0
files_options=()
for file in $wanted; do files_options+=(--file "$file"); done
if [ -n "$wanted" ]; then
    # What is asked for here is all; the settings name the same files and more.
    sed '/^examine_globs/,/^]/d' .cargo/mutants.toml >"$out/settings.toml"
    options+=(--config "$out/settings.toml" "${files_options[@]}")
fi
step cargo mutants --output "$out" "${options[@]}" || status=$?
case $status in 0 | 2 | 3) ;; *) exit "$status" ;; esac
results=$out/mutants.out

# A mutant by its name without line and column.
name() { sed -E 's/:[0-9]+:[0-9]+: /: /' <<<"$1"; }

reason() {
    awk -v name="$1" 'index($0, name " -- ") == 1 { print substr($0, length(name) + 5); exit }' \
        "$here/justified.txt"
}

# Whether the models notice a mutant that no test does.
models_notice() {
    local file=${1%%:*} description diff copy
    description=$(sed -E 's/^[^ ]+ //' <<<"$1")
    local at=${1#*:}
    at="line_${at%%:*}_col_$(cut -d: -f2 <<<"$at")"
    diff=$(grep -lxF -- "+++ $description" "$results/diff/${file//\//__}_$at"*.diff | head -n 1)
    # Outside of this project, as cargo would add its settings to those of the copy; and
    # the same place each time, so that only this crate is built anew.
    copy=${TMPDIR:-/tmp}/releasepool-mutant
    mkdir -p "$copy"
    find "$copy" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
    git ls-files -z | xargs -0 cp --parents -t "$copy"
    patch -s "$copy/$file" <"$diff"
    local status=0
    (cd "$copy" && timeout 1200 cargo loom) >"$out/loom.log" 2>&1 || status=$?
    [ "$status" != 0 ] || return 1
    # A model that does not end notices, too. But not that something else went wrong.
    if [ "$status" = 124 ] || grep -qE '^[0-9]+ checks, [1-9][0-9]* failed' "$out/loom.log"; then
        return 0
    fi
    echo "the models did not run: $out/loom.log" >&2
    exit 1
}

unexplained=0
: >"$out/verdicts.txt"
while IFS= read -r missed; do
    [ -n "$missed" ] || continue
    why=$(reason "$(name "$missed")")
    file=${missed%%:*}
    if [ -n "$why" ]; then
        echo "$file justified" >>"$out/verdicts.txt"
        echo "justified: $(name "$missed"): $why"
    elif models_notice "$missed"; then
        echo "$file models" >>"$out/verdicts.txt"
        echo "noticed by a model: $missed"
    else
        echo "$file unexplained" >>"$out/verdicts.txt"
        echo "NOT NOTICED, and not in $here/justified.txt: $missed"
        unexplained=$((unexplained + 1))
    fi
done <"$results/missed.txt"

# What is listed and noticed after all is no survivor.
while IFS= read -r line; do
    justified=${line%% -- *}
    if grep -hE '^src/' "$results/caught.txt" "$results/timeout.txt" | sed -E 's/:[0-9]+:[0-9]+: /: /' |
        grep -qxF -- "$justified" && ! sed -E 's/:[0-9]+:[0-9]+: /: /' "$results/missed.txt" | grep -qxF -- "$justified"; then
        echo "LISTED, BUT NOTICED: $justified"
        unexplained=$((unexplained + 1))
    fi
done < <(grep -E '^src/' "$here/justified.txt")

count() { grep -c "^$2\b" "$1" || true; }

if [ -n "$wanted" ]; then
    {
        grep '^#' "$here/report.txt"
        {
            for file in $wanted; do
                caught=$(($(count "$results/caught.txt" "$file") + $(count "$results/timeout.txt" "$file")))
                unviable=$(count "$results/unviable.txt" "$file")
                models=$(count "$out/verdicts.txt" "$file models")
                listed=$(count "$out/verdicts.txt" "$file justified")
                left=$(count "$out/verdicts.txt" "$file unexplained")
                echo "$file $(content "$file") $unviable $caught $models $listed $left"
            done
            for done in $(awk '/^src/ { print $1 }' "$here/report.txt"); do
                case " $(tr '\n' ' ' <<<"$wanted") " in
                    *" $done "*) ;;
                    *) grep "^$done " "$here/report.txt" ;;
                esac
            done
        } | sort
    } >"$out/report.txt"
    cp "$out/report.txt" "$here/report.txt"
fi

lines() { cat "$@" 2>/dev/null | wc -l; }
printf '%d mutants, %d do not build, %d noticed by tests, %d by models, %d justified, %d unexplained\n' \
    "$(lines "$results"/{caught,timeout,missed,unviable}.txt)" "$(lines "$results/unviable.txt")" \
    "$(lines "$results"/{caught,timeout}.txt)" "$(grep -c models "$out/verdicts.txt" || true)" \
    "$(grep -c justified "$out/verdicts.txt" || true)" "$unexplained"
[ "$unexplained" = 0 ]
