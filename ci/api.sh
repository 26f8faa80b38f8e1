#!/usr/bin/env bash
# Compares the public names of the library, with all features, with ci/api.txt, and fails if they differ.
#
#   ci/api.sh         prints the differences
#   ci/api.sh renew   writes the file anew
. "$(dirname "$0")/lib.sh"

# rustdoc writes them as JSON, in a format that changes: if it is another one than we read, the nightly of a
# certain day does it.
format_read=$(sed -n '/^name = "rustdoc-types"/{n;s/^version = "0\.\([0-9]*\).*/\1/p}' Cargo.lock)
json=target/docsrs/doc/releasepool.json
for toolchain in nightly nightly-2026-05-20; do
    can_have $toolchain || skip "$missing"
    RUSTDOCFLAGS="--cfg docsrs" step cargo "+$toolchain" rustdoc -p releasepool --lib \
        --features $features --target-dir target/docsrs \
        -- -Zunstable-options --output-format json
    format=$(sed -n 's/.*"format_version":\([0-9]*\).*/\1/p' $json)
    [ "$format" != "$format_read" ] || break
done
[ "$format" = "$format_read" ] || fail "$toolchain writes format $format, and the crate public-api reads $format_read: \
change its version in xtask/api/Cargo.toml, or the toolchain in ci/api.sh and ci/installs.txt"

found=target/api.txt
cargo run --quiet -p xtask-api --target-dir target/xtask -- $json >$found
if [ "${1-}" = renew ]; then
    cp $found ci/api.txt
else
    step git --no-pager diff --no-index --unified=0 -- ci/api.txt $found ||
        fail "the public API has changed: if that is intended, ci/api.sh renew, and a line in CHANGELOG.md"
fi
