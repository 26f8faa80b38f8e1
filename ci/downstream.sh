#!/usr/bin/env bash
# Crates that build on this one and check their own code, as docs/CHECKING.md says. One has models: its tests, its
# models, and that the page shows what is really there. The other one uses each public type, natively and in
# Miri with its default flags.
. "$(dirname "$0")/lib.sh"

package=loom_tests/downstream
models=(--release --features models --test loom)

step cargo test --manifest-path $package/Cargo.toml --target-dir target/downstream
step cargo test --manifest-path $package/Cargo.toml --target-dir target/downstream-loom \
    "${models[@]}" --config "build.rustflags=$loom_flags"
refuses_loom_off --manifest-path $package/Cargo.toml "${models[@]}"

# The recipe shows these packages word for word, except for the paths of dependencies.
page=docs/CHECKING.md
# first LANGUAGE: the first code block of this language.
first() {
    sed -n "0,/^\`\`\`$1\$/d; /^\`\`\`/q; p" $page
}
manifest=$(sed 's/, path = "[^"]*"//; s/{ version = \("[^"]*"\) }/\1/' $package/Cargo.toml)
[[ $manifest == *"$(first toml)"* ]] || fail "$page shows another Cargo.toml than $package has"
for part in "${models[*]}" "--config \"build.rustflags=$loom_flags\""; do
    [[ $(first console) == *"$part"* ]] || fail "the first command of $page lacks $part"
done
sources=$(find $package loom_tests/miri -name '*.rs' -exec cat {} +)
while IFS= read -rd '' example; do
    [[ $sources == *"$example"* ]] || fail "$page shows what is in no package: $example"
done < <(awk '/^```rust,ignore$/ { is_in = 1; next } is_in && /^```/ { is_in = 0; printf "%c", 0 } is_in' $page)

# Natively, too: destructors run in the same order.
package=loom_tests/miri
step cargo test --manifest-path $package/Cargo.toml --target-dir target/downstream
needs_nightly miri rust-src
unset MIRIFLAGS
log=$work/miri
step cargo +nightly miri test --manifest-path $package/Cargo.toml --target-dir target/downstream-miri 2>&1 | tee "$log"
# Undefined behavior, leaks and threads that are left are errors. Warnings are none.
if grep -E '^warning: |\.\.\. warning: ' "$log"; then
    fail "Miri or the compiler warns of something"
fi
