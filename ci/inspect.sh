#!/usr/bin/env bash
# The inspector: its tests; planted leaks by pid and from a core, in a debug and a release build; and no
# report on the other examples.
. "$(dirname "$0")/lib.sh"

has "some tests" kill gcore || true
step cargo test -p releasepool-inspect
step cargo test -p releasepool-inspect-ledger
step cargo build --release -p releasepool-inspect --bins --examples
step cargo test --release -p releasepool-inspect --test leaky
step cargo build --release -p releasepool-soak
step cargo build --release --example share
step cargo build --release -p releasepool-examples --examples
step cargo build --release -p releasepool-tasks --bins
inspect=target/release/releasepool-inspect

pid=
finish() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

# Starts a program in the background, and sets `pid`.
start() {
    printf '\n== %s ==\n' "$*"
    "$@" >"$work/out" 2>&1 &
    pid=$!
}

# Ends the program, which must still run.
stop() {
    if ! kill -0 "$pid" 2>/dev/null; then
        echo "the program has ended while it was inspected:" >&2
        cat "$work/out" >&2
        exit 1
    fi
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    pid=
}

# Inspects the running program several times; no leak may be reported, and the program goes on.
healthy() {
    local _
    for _ in 1 2 3; do
        sleep 0.7
        if ! "$inspect" leaks --fail --pid "$pid" >"$work/leaks"; then
            cat "$work/leaks" >&2
            exit 1
        fi
        sed -n 1,2p "$work/leaks"
    done
    stop
}

start target/release/soak --minutes 1 --quiet
healthy
start target/release/examples/share --seconds 60 --no-compare --quiet
healthy

# Inspects a program that ends soon, stopped at several moments. Something may be in flight, and stays
# so while the program is stopped: a leak is what three looks report, between which it goes on.
brief() {
    local delay status looks=0
    for delay in 0.002 0.005 0.01 0.02 0.03 0.04 0.06 0.08; do
        "$@" >"$work/out" 2>&1 &
        pid=$!
        sleep "$delay"
        for _ in 1 2 3; do
            kill -STOP "$pid" 2>/dev/null || true
            status=0
            "$inspect" leaks --fail --looks 1 --pid "$pid" >"$work/leaks" 2>&1 || status=$?
            kill -CONT "$pid" 2>/dev/null || true
            # 2: it has ended, or is not loaded yet.
            [ "$status" = 1 ] || break
            sleep 0.002
        done
        if [ "$status" = 1 ]; then
            cat "$work/leaks" >&2
            exit 1
        fi
        [ "$status" != 0 ] || looks=$((looks + 1))
        wait "$pid"
        pid=
    done
    printf '\n== %s: no leak in %d looks ==\n' "$1" "$looks"
}
brief target/release/examples/frames
brief target/release/examples/home
brief target/release/examples/parser
brief target/release/tokio
brief target/release/rayon

refuses "does not use releasepool" "$inspect" leaks --pid $$

# The guide's commands print what it shows.
PATH=$PWD/target/release:$PATH step xtask guide docs/DEBUGGING.md
