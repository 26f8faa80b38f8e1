#!/usr/bin/env bash
# Other processors and systems than the one that the rest of CI runs on.
#
#   ci/processors.sh         everything below
#   ci/processors.sh short   what CI runs: the checks, the tests on i686, and those of Miri
#
# * Compiled, with all features: each target of ci/installs.txt; and for wasm32 with atomics, for which the standard
#   library has to be built, too.
# * Tests run natively: i686, on x86_64 with Linux; with the thread-locals of Android and
#   without the kernel's fence, and with both; also the programs in C and C++. With musl, on x86_64.
# * Tests run by Miri: the list `big-endian` of ci/tests.txt, on s390x.
# * Tests run in qemu: AArch64, riscv64, and s390x, which is big-endian. qemu runs the instructions of
#   those processors, but with the memory order of this one: what depends on a weaker order is for
#   `cargo loom` and Miri.
. "$(dirname "$0")/lib.sh"

[[ ${1-} =~ ^(short)?$ ]] || usage

mapfile -t checked < <(sed -n 's/^\([^ ]*\)  *rustup target .*/\1/p' ci/installs.txt)
for target in "${checked[@]}"; do
    has "the check for $target" "$target" || continue
    step cargo check --quiet -p releasepool --lib --target-dir target/processors --target "$target" --features "$features"
done

if [ "${1-}" != short ]; then
    # Threads of WebAssembly without WASI: the standard library of the target has none.
    target=wasm32-unknown-unknown
    if has "the check for $target with atomics" nightly rust-src; then
        RUSTFLAGS="-C target-feature=+atomics,+bulk-memory,+mutable-globals" \
            step cargo +nightly check --quiet -Zbuild-std=std,panic_abort -p releasepool --lib \
            --target-dir target/processors/atomics --target "$target" --features "$features"
    fi
fi

if has "the tests on a big-endian target" nightly miri rust-src; then
    tests_of big-endian
    MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks" \
        step cargo +nightly miri test --quiet --target-dir target/miri --target s390x-unknown-linux-gnu \
        -p releasepool --lib --test all -- --exact "${tests[@]}"
fi

[ "$(uname -sm)" = "Linux x86_64" ] || skip "tests of other processors run on Linux with x86_64 only"

# tests TARGET PROCESSOR RUNNER ARGUMENTS...: runs tests on another processor.
tests() {
    local target=$1 linker=$2-linux-gnu-gcc runner=$3
    has "the tests on $target" "$target" "$2-linker" || return 0
    shift 3
    local variable=CARGO_TARGET_${target^^}
    variable=${variable//-/_}
    export "${variable}_LINKER=$linker" "RELEASEPOOL_TEST_RUNNER=$runner"
    [ -z "$runner" ] || export "${variable}_RUNNER=$runner"
    step cargo test --quiet --target-dir target/processors --target "$target" "$@"
}

RUSTFLAGS="--cfg releasepool_key_locals --cfg releasepool_fences" tests i686-unknown-linux-gnu i686 "" \
    -p releasepool --lib --test all
# The headers of C++ on a 32-bit target.
RUSTFLAGS="--cfg releasepool_key_locals" tests i686-unknown-linux-gnu i686 "" -p releasepool-capi --test all -- \
    programs::every_function_of_c references_of_cpp cocos::program names --skip leak --skip installed
[ "${1-}" != short ] || exit 0
tests i686-unknown-linux-gnu i686 "" -p releasepool --lib --test all
if has "the tests with musl" x86_64-unknown-linux-musl; then
    step cargo test --quiet --target-dir target/processors --target x86_64-unknown-linux-musl -p releasepool --lib --test all
fi
skip_tests qemu
# emulated TARGET PROCESSOR: runs all others in qemu.
emulated() {
    tests "$1" "$2" "qemu-$2 -L /usr/$2-linux-gnu" -p releasepool --lib --test all -- "${skips[@]}"
}
emulated aarch64-unknown-linux-gnu aarch64
emulated riscv64gc-unknown-linux-gnu riscv64
emulated s390x-unknown-linux-gnu s390x
