# Sourced by the scripts here: stops at the first error, changes to the root, and prints each step.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The running script, from here.
script=ci/${0##*ci/}

# Flags of the caller's shell would replace those that scripts give.
unset RUSTFLAGS RUSTDOCFLAGS

# Goes at the end, with what scripts have put there.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() {
    printf '\n== %s ==\n' "$*"
    "$@"
}

# cargo_test ARGUMENTS...: `cargo test`, where a test that takes more than a minute (test runners say so, by
# name) ends the script.
cargo_test() {
    local output pid hung
    printf '\n== cargo test %s ==\n' "$*"
    output=$(mktemp -p "$work")
    # In a process group of its own, to end the tests, too.
    set -m
    cargo test "$@" > >(tee "$output") 2>&1 &
    set +m
    pid=$!
    # Ctrl-C reaches this script alone.
    trap 'kill -- "-$pid"' INT TERM
    while kill -0 "$pid" 2>/dev/null; do
        if hung=$(grep -m 1 'has been running for over 60 seconds' "$output"); then
            kill -KILL -- "-$pid"
            fail "$hung"
        fi
        sleep 1
    done
    trap - INT TERM
    wait "$pid"
}

# Ends the script with an error.
fail() {
    echo "$script: $*" >&2
    exit 1
}

# Says that a part of the script is left out, and why. `.ci/run` repeats it.
skipped() {
    printf '\nSKIPPED %s: %s\n' "$script" "$*" | tee -a "${SKIPPED:-/dev/null}"
}

# Ends the script with success, as something that it needs is missing.
skip() {
    skipped "$@"
    exit 0
}

# is_there NAME COMMAND...: returns whether what this row of ci/installs.txt installs is there.
is_there() {
    local name=$1
    shift
    case "$1 $2" in
        "apt-get install") type -P "$name" >/dev/null || dpkg -s "${@:3}" >/dev/null 2>&1 ;;
        "rustup toolchain") rustup toolchain list | grep -q "^$4\(-[^0-9]\| \|$\)" ;;
        "cargo install") type -P "$name" >/dev/null ;;
        "python3 -m")
            local package=${*: -1}
            [ -d "target/$name/${package%%=*}" ]
            ;;
        # Quick if there is nothing to do.
        *) false ;;
    esac
}

# install COMMAND...: runs the command of a row, and prints what it says.
install() {
    if [ "$1" = apt-get ]; then
        type -P apt-get && [ "$(id -u)" = 0 ] || return
        set -- "$1" "$2" -y --no-install-recommends "${@:3}"
        export DEBIAN_FRONTEND=noninteractive
        # The lists of packages may be old, or missing. With old ones, some packages are not found.
        [ -n "$(find /var/lib/apt/lists -maxdepth 0 -mtime 0)" ] || apt-get update
    fi
    "$@"
}

# can_have NAME...: returns whether these rows of ci/installs.txt are there, or can be installed. If
# not, `missing` says what is missing, and how to install it.
can_have() {
    local name row rows how said
    for name in "$@"; do
        mapfile -t rows < <(sed -n "s/^$name  *//p" ci/installs.txt)
        [ ${#rows[@]} != 0 ] || fail "ci/installs.txt has no row for $name"
        for row in "${rows[@]}"; do
            eval "how=($row)"
            is_there "$name" "${how[@]}" || said=$(install "${how[@]}" 2>&1 </dev/null) || {
                missing="there is no $name (${how[*]}): $(tail -n 1 <<<"$said")"
                return 1
            }
        done
    done
}

# needs NAME...: skips the script without these.
needs() {
    can_have "$@" || skip "$missing"
}

# has WHAT NAME...: returns whether a part of the script has what it needs. If not, says that it is left out.
has() {
    can_have "${@:2}" || { skipped "$1: $missing" && false; }
}

# Prints the head of the script, which says how it is called, and ends it.
usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script" >&2
    exit 2
}

# refuses WANTED COMMAND...: checks that the command ends with exit code 2 and a message with these words.
refuses() {
    local wanted=$1 status=0 message
    shift
    message=$("$@" 2>&1 >/dev/null) || status=$?
    [ $status = 2 ] && grep -qF -- "$wanted" <<<"$message" ||
        fail "$*: exit $status, message: $message (wanted exit 2 and \"$wanted\")"
    echo "$*: exit 2: $message"
}

# All features that change something without flags.
features=allocator-api2,checks,leak-detection,metrics,serde,tracing

# The flags with which everything runs on loom.
loom_flags="['--cfg=loom']"

# refuses_loom_off OPTION...: checks that these models do not build with RUSTFLAGS set, for which cargo ignores the
# flags above.
refuses_loom_off() {
    local off
    off=$(RUSTFLAGS="-Cdebuginfo=0" cargo check --target-dir target/loom-off \
        --config "build.rustflags=$loom_flags" "$@" 2>&1) && fail "the models built with loom off"
    grep -q "loom is off, so nothing would be checked" <<<"$off" || fail "$off"
    echo "with RUSTFLAGS set, the models refuse to build: good"
}

# Every script uses these.
can_have cc git || fail "$missing"

# `cargo xtask`, built in one way whatever flags a script has set.
xtask() {
    env -u RUSTFLAGS -u CARGO_PROFILE_DEV_DEBUG cargo xtask "$@"
}

# Sets `tests` to the names of tests and modules in these lists of ci/tests.txt.
tests_of() {
    local list
    tests=()
    for list in "$@"; do
        mapfile -t -O ${#tests[@]} tests < <(sed -n "s/^$list \([^ ]*\).*/\1/p" ci/tests.txt)
    done
    [ ${#tests[@]} != 0 ] || fail "ci/tests.txt has no list $*"
}

# Sets `skips` to the options that skip them.
skip_tests() {
    tests_of "$@"
    skips=("${tests[@]/#/--skip=}")
}

# callbacks SANITIZER ROUNDS: the scenario of an SDK's callback (capi/tests/programs/crash.cpp) in C++, on the
# static library; both are instrumented. With counts inlined by the header, and with counts by calls. `build`
# and `host` say how the library is built; `RUSTFLAGS` instruments it.
callbacks() {
    has "the callback in C++" clang++ clang-runtime || return 0
    # No other kind of library, as those are linked with the sanitizer.
    step cargo +nightly rustc "${build[@]}" -p releasepool-capi --lib --crate-type staticlib
    local target=${build[*]: -1} calls program runtime
    # Rust's runtime, as that of an older clang has not all functions that Rust calls. Clang's own calls are
    # the same ones.
    runtime=$(rustc +nightly --print target-libdir)/librustc-nightly_rt.${1:0:1}san.a
    for calls in 0 1; do
        program=$target/callbacks-$calls
        step clang++ -std=c++17 -O1 -g "-fsanitize=$1" "-DRP_CHECKED=$calls" -I capi/include \
            -c capi/tests/programs/crash.cpp -o "$program.o"
        step clang++ "$program.o" -o "$program" "$target/$host/debug/libreleasepool_capi.a" \
            -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive -pthread -ldl -lm -lrt -lresolv
        step "$program" ours "$2"
    done
}

# Skips unless there is a nightly toolchain with these components, or it can be had.
needs_nightly() {
    needs nightly "$@"
    host=$(rustc +nightly -vV | sed -n 's/^host: //p')
}
