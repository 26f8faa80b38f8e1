#!/usr/bin/env bash
# Other processors and systems than the one that the rest of CI runs on.
#
#   ci/processors.sh         everything below
#   ci/processors.sh short   what CI runs: the checks, and the tests on i686
#
# * Compiled, with all features: see `checked`.
# * Tests run: i686 (natively, on x86_64 with Linux); AArch64 in qemu, which runs the instructions of
#   that processor, but with the memory order of this one: what depends on a weaker order is for
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
tests aarch64-unknown-linux-gnu aarch64-linux-gnu-gcc "qemu-aarch64 -L /usr/aarch64-linux-gnu" \
    gcc-aarch64-linux-gnu qemu-user -- --lib --test all -- "${skips[@]}"
