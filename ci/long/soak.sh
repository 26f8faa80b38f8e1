#!/usr/bin/env bash
# Everything at once (`soak/`) for ten minutes, or the given number, and its error messages for bad
# options.
. "$(dirname "$0")/../lib.sh"

step cargo build --release -p releasepool-soak
soak=target/release/soak
step "$soak" --minutes "${1:-10}"

refuses() {
    local status=0 message
    message=$("$soak" "$@" 2>&1 >/dev/null) || status=$?
    if [ "$status" != 2 ] || ! grep -qF -- "$1" <<<"$message"; then
        echo "soak $*: exit $status, message: $message (wanted exit 2 and \"$1\")" >&2
        exit 1
    fi
    echo "soak $*: exit 2: $message"
}
refuses --minutes 0
refuses --minutes NaN
refuses --workers 1000
refuses --nonsense
