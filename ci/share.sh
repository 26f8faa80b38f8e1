#!/usr/bin/env bash
# The example `share`, as a user runs it: with its default input, with given files, and with every
# kind of bad input.
. "$(dirname "$0")/lib.sh"

step cargo build --release --example share
share=target/release/examples/share
step "$share" --seconds 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/empty" "$work/docs"
echo '{"a": [1, 2, {"b": null}], "c": "x"}' >"$work/docs/good.json"
printf '{\n  "a": [1, 2,, 3]\n}\n' >"$work/bad.json"
printf '"\377\376"' >"$work/not-utf8.json"
step "$share" --rounds 3 --quiet --frame-hz 0 "$work/docs"
step "$share" --rounds 3 --quiet --frame-hz 0 --memory global "$work/docs"

refuses() {
    local wanted=$1 status=0 message
    shift
    message=$("$share" --quiet "$@" 2>&1 >/dev/null) || status=$?
    if [ "$status" != 2 ] || ! grep -qF -- "$wanted" <<<"$message"; then
        echo "share $*: exit $status, message: $message (wanted exit 2 and \"$wanted\")" >&2
        exit 1
    fi
    echo "share $*: exit 2: $message"
}
refuses "$work/missing.json" "$work/missing.json"
refuses "$work/empty" "$work/empty"
refuses "bad.json:2:14" "$work/bad.json"
refuses "(0 live objects)" "$work/bad.json"
refuses "$work/not-utf8.json" "$work/not-utf8.json"
refuses "workers" --workers 0
refuses "--nonsense" --nonsense
refuses "blocks or global" --memory swap

# A trace: threads by name, frames with their drains inside. `xtask trace` checks that spans nest.
step "$share" --rounds 3 --quiet --trace "$work/trace.json" --workers 2 "$work/docs"
threads=$(xtask trace "$work/trace.json")
echo "$threads"
for wanted in \
    '^main: [1-9][0-9]* frames, .* [1-9][0-9]* of them in frames, ' \
    '^reclaimer: 0 frames, .*; [1-9]' \
    '^worker-1: 0 frames, .*; [1-9]' \
    '^worker-2: 0 frames, .*; [1-9]'; do
    grep -qE -- "$wanted" <<<"$threads" || {
        echo "the trace has no $wanted" >&2
        exit 1
    }
done
step xtask trace "$work/trace.json" -o "$work/trace.svg"
refuses "$work/missing/trace.json" --trace "$work/missing/trace.json" "$work/docs"
refuses "bad.json:2:14" --trace "$work/trace.json" "$work/bad.json"
