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
refuses "$work/not-utf8.json" "$work/not-utf8.json"
refuses "workers" --workers 0
refuses "--nonsense" --nonsense
refuses "blocks or global" --memory swap
