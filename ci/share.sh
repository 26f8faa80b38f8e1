#!/usr/bin/env bash
# The example `share`, as a user runs it: with its default input, with given files, and with every
# kind of bad input.
. "$(dirname "$0")/lib.sh"

step cargo build --release --example share
share=target/release/examples/share
step cargo test --release -p releasepool-share
step "$share" --seconds 3

mkdir "$work/empty" "$work/docs" "$work/api"
echo '{"a": [1, 2, {"b": null}], "c": "x"}' >"$work/docs/good.json"
echo '[1, "two", {"three": 3}]' >"$work/docs/small.json"
printf '{\n  "a": [1, 2,, 3]\n}\n' >"$work/bad.json"
printf '[\n "\377\376"' >"$work/not-utf8.json"
step "$share" --rounds 3 --quiet --frame-hz 0 "$work/docs"

# Runs it and checks that a line of the report is like this.
says() {
    local wanted=$1 report
    shift
    report=$(timeout 120 "$share" --quiet --no-compare "$@")
    grep -qE -- "$wanted" <<<"$report" || fail "share $*: the report has no \"$wanted\":"$'\n'"$report"
    echo "share $*: $(grep -m 1 -E -- "$wanted" <<<"$report")"
}
says '^Input: .*/good.json, 37 bytes' --rounds 1 "$work/docs/good.json"
says '^share [0-9]' --version
says '^Input: .*; ([2-9]|[1-9][0-9]+) workers, ' --seconds 1

# Nothing takes more than linear time: a large document whose keys are all different, one with a
# single large array, and 3,000 descriptions of an API of different sizes.
awk 'BEGIN {
    printf "{\"k0\": 0"; for (i = 1; i < 300000; i++) printf ",\n \"key %d\": \"value %d\"", i, i; print "}"
}' >"$work/keys.json"
awk 'BEGIN {
    printf "[0"; for (i = 1; i < 300000; i++) printf ",\n {\"n\": %d, \"text\": \"a \\\"quoted\\\" \\u00e9 %d\"}", i, i; print "]"
}' >"$work/array.json"
awk -v out="$work/api" 'BEGIN {
    for (file = 0; file < 3000; file++) {
        name = sprintf("%s/%d.json", out, file)
        printf "{\n  \"openapi\": \"3.0.0\",\n  \"paths\": {" >name
        for (i = 0; i < 1 + file % 40 * 2; i++) {
            printf "%s\n    \"/resource%d/{id%d}\": {\n", i ? "," : "", file, i >name
            printf "      \"get\": {\"summary\": \"Returns resource %d of kind %d, if the caller may see it\",\n", i, file >name
            printf "        \"parameters\": [{\"name\": \"id%d\", \"in\": \"path\", \"required\": true}],\n", i >name
            printf "        \"responses\": {\"200\": {\"description\": \"It was found.\"}}}}" >name
        }
        printf "\n  }\n}\n" >name
        close(name)
    }
}'
says '^  digests +ok: 4 of 4 ' --rounds 2 --workers 2 --frame-hz 0 "$work/keys.json"
says '^  digests +ok: 4 of 4 ' --rounds 2 --workers 2 --frame-hz 0 "$work/array.json"
says '^  digests +ok: 12,000 of 12,000 ' --rounds 2 --workers 2 --frame-hz 0 "$work/api"

# What is no file is skipped.
mkdir "$work/kinds"
printf '{"a": 1}\n' >"$work/kinds/one.json"
mkfifo "$work/kinds/pipe.json"
ln -s /dev/zero "$work/kinds/zero.json"
says '^  digests +ok: 2 of 2 ' --rounds 1 --workers 2 --frame-hz 0 "$work/kinds"

# The comparison with a tree without counts.
compared=$("$share" --quiet --seconds 6)
grep -qE '^  serde_json::Value +[0-9.]+ [kMG]?B +1\.00$' <<<"$compared" || fail "no row of serde_json::Value: $compared"

# Workers wait for a slow UI thread: what is in flight is bounded. (A little more than 4 MiB of text.)
says '^  peak of text in flight +[0-4]\.[0-9] MB' --seconds 3 --workers 4 --frame-hz 1
if [ "$(uname)" = Linux ]; then
    # Besides the text of all documents, which is 31 MB, some 50 MB for those in flight and what the
    # allocator keeps. If workers did not wait, it would be gigabytes. (4 times the text at most.)
    says '; peak memory ([0-9]|[1-9][0-9]|1[01][0-9])\.[0-9] MB' --seconds 3 --workers 2 "$work/api"
fi

refuses "$work/missing.json" "$share" --quiet "$work/missing.json"
refuses "$work/empty" "$share" --quiet "$work/empty"
refuses "bad.json:2:14" "$share" --quiet "$work/bad.json"
refuses "(0 live objects)" "$share" --quiet "$work/bad.json"
refuses "$work/not-utf8.json: cannot be read: stream did not contain valid UTF-8" "$share" --quiet "$work/not-utf8.json"
refuses "bad.json:2:14" "$share" --quiet "$work/docs" "$work/bad.json"
printf '%0200d' 0 | sed 's/0/[/g' >"$work/levels.json"
refuses "levels.json:1:128: invalid JSON: recursion limit" "$share" --quiet "$work/levels.json"
refuses "workers" "$share" --quiet --workers 0
refuses "rounds" "$share" --quiet --rounds -1
refuses "frame-hz" "$share" --quiet --frame-hz 0.5
refuses "seconds" "$share" --quiet --seconds 0
refuses "seconds" "$share" --quiet --seconds NaN
refuses "seconds" "$share" --quiet --seconds 1 --rounds 1
refuses "--nonsense" "$share" --quiet --nonsense
