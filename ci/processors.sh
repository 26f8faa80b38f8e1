#!/usr/bin/env bash
# Other processors and systems than the one that the rest of CI runs on.
#
#   ci/processors.sh         everything below
#   ci/processors.sh short   what CI runs: the checks, the tests on i686, and those of Miri
#
# * Compiled, with all features: see `checked`; and for wasm32 with atomics, for which the standard
#   library has to be built, too.
# * Tests run natively: i686, on x86_64 with Linux.
# * Tests run by Miri: the list `big-endian` of ci/tests.txt, on s390x.
# * Tests run in qemu: AArch64, riscv64, and s390x, which is big-endian. qemu runs the instructions of
#   those processors, but with the memory order of this one: what depends on a weaker order is for
#   `cargo loom` and Miri.
. "$(dirname "$0")/lib.sh"

case ${1-} in
    "" | short) ;;
    *)
        echo "usage: ci/processors.sh [short]" >&2
        exit 2
        ;;
esac
unset RUSTFLAGS

checked=(
    x86_64-unknown-linux-musl
    aarch64-unknown-linux-gnu
    riscv64gc-unknown-linux-gnu
    armv7-linux-androideabi
    aarch64-linux-android
    x86_64-pc-windows-msvc
    aarch64-apple-darwin
    aarch64-apple-ios
    wasm32-unknown-unknown
    wasm32-wasip1-threads
)
features=allocator-api2,checks,leak-detection,metrics,serde,tracing

# Returns whether the standard library of a target is there, or can be had.
has_target() {
    rustup target add "$1" >/dev/null 2>&1
}

for target in "${checked[@]}"; do
    if has_target "$target"; then
        step cargo check --quiet -p releasepool --lib --target-dir target/processors --target "$target" --features "$features"
    else
        echo "SKIPPED the check for $target: rustup target add $target" | tee -a "${SKIPPED:-/dev/null}"
    fi
done

# Returns whether there is a nightly toolchain with these components, or can be had: `needs_nightly`
# would end this script.
has_nightly() {
    [ "$(SKIPPED=/dev/null; needs_nightly "$@" >/dev/null 2>&1; echo there)" = there ]
}

if [ "${1-}" != short ]; then
    # Threads of WebAssembly without WASI: the standard library of the target has none.
    target=wasm32-unknown-unknown
    if has_nightly rust-src; then
        RUSTFLAGS="-C target-feature=+atomics,+bulk-memory,+mutable-globals" \
            step cargo +nightly check --quiet -Zbuild-std=std,panic_abort -p releasepool --lib \
            --target-dir target/processors/atomics --target "$target" --features "$features"
    else
        echo "SKIPPED the check for $target with atomics: it needs a nightly toolchain with rust-src" |
            tee -a "${SKIPPED:-/dev/null}"
    fi
fi

# Tree Borrows, as crossbeam-epoch does what Stacked Borrows does not allow; ci/miri.sh has both.
if has_nightly miri rust-src; then
    tests_of big-endian
    MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows" \
        step cargo +nightly miri test --quiet --target-dir target/miri --target s390x-unknown-linux-gnu \
        -p releasepool --lib --test all -- --exact "${tests[@]}"
else
    echo "SKIPPED the tests on a big-endian target: they need a nightly toolchain with miri and rust-src" |
        tee -a "${SKIPPED:-/dev/null}"
fi

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    skip "tests of other processors run on Linux with x86_64 only"
fi

# Returns whether these packages of Debian are there, or can be had.
has_packages() {
    dpkg -s "$@" >/dev/null 2>&1 && return
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    (apt-get update && apt-get install -y --no-install-recommends "$@") >/dev/null 2>&1
}

# tests TARGET LINKER RUNNER PACKAGES... -- ARGUMENTS...: runs tests on another processor.
tests() {
    local target=$1 linker=$2 runner=$3 packages=()
    shift 3
    while [ "$1" != -- ]; do
        packages+=("$1")
        shift
    done
    shift
    if ! has_target "$target" || ! has_packages "${packages[@]}"; then
        echo "SKIPPED the tests on $target: rustup target add $target; apt-get install ${packages[*]}" |
            tee -a "${SKIPPED:-/dev/null}"
        return
    fi
    local variable=CARGO_TARGET_${target^^}
    variable=${variable//-/_}
    export "${variable}_LINKER=$linker" "RELEASEPOOL_TEST_RUNNER=$runner"
    [ -z "$runner" ] || export "${variable}_RUNNER=$runner"
    step cargo test --quiet --target-dir target/processors --target "$target" -p releasepool "$@"
}

tests i686-unknown-linux-gnu i686-linux-gnu-gcc "" gcc-i686-linux-gnu libc6-i386 lib32gcc-s1 -- --lib --test all
[ "${1-}" != short ] || exit 0
skip_tests qemu
# emulated TARGET PROCESSOR ARCHITECTURE: runs all others in qemu. Debian has a name of its own for
# the architecture.
emulated() {
    local system=$2-linux-gnu
    tests "$1" "$system-gcc" "qemu-$2 -L /usr/$system" "gcc-$system" "libc6-dev-$3-cross" qemu-user -- \
        --lib --test all -- "${skips[@]}"
}
emulated aarch64-unknown-linux-gnu aarch64 arm64
emulated riscv64gc-unknown-linux-gnu riscv64 riscv64
emulated s390x-unknown-linux-gnu s390x s390x
