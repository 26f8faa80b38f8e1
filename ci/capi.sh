#!/usr/bin/env bash
# The C and C++ interface where `cargo test` does not look: the headers on other systems, compiled by clang with
# the C++ libraries of those systems, and what cargo-c installs.
. "$(dirname "$0")/lib.sh"

targets=(
    aarch64-linux-musl
    arm-linux-musleabihf
    x86-linux-musl
    x86_64-windows-gnu
    x86-windows-gnu
    aarch64-macos
    x86_64-macos
)
flags=(-std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if has "the headers on other systems" zig; then
    for target in "${targets[@]}"; do
        more=()
        # What clang-cl turns on.
        [[ $target != *windows* ]] || more=(-fms-extensions -fdelayed-template-parsing)
        for program in references threads names crash cocos_v2; do
            PYTHONPATH=target/zig step python3 -m ziglang c++ -target "$target" "${flags[@]}" "${more[@]}" -I capi/include \
                -c "capi/tests/programs/$program.cpp" -o target/zig/object
        done
    done
fi

can_have c++ pkg-config cargo-cinstall || skip "cargo-c: $missing"
prefix=$work
step cargo cinstall --release --manifest-path capi/Cargo.toml --target-dir target/cargo-c \
    --prefix "$prefix" --libdir lib
cat >"$prefix/use.cpp" <<'END'
#include <releasepool.h>
#include <releasepool/cocos2d_v2.hpp>

struct Node : rp::Object {
    int value = 3;
};

int main() {
    rp::AutoreleasePool pool;
    return rp::create<Node>()->value - 3;
}
END
read -ra shared < <(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs releasepool)
step c++ -std=c++17 "$prefix/use.cpp" -o "$prefix/use" "${shared[@]}"
LD_LIBRARY_PATH=$prefix/lib step "$prefix/use"
read -ra static < <(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs --static releasepool)
step c++ -std=c++17 "$prefix/use.cpp" -o "$prefix/use" "${static[@]/#-lreleasepool/-l:libreleasepool.a}"
step "$prefix/use"
