#!/usr/bin/env bash
# Compares the assembly of the hot paths with the files in benches/assembly, and fails if it differs.
#
#   ci/bench/assembly.sh         prints the differences
#   ci/bench/assembly.sh renew   writes the files anew, with this compiler
. "$(dirname "$0")/../lib.sh"

host=$(rustc -vV | sed -n 's/^host: //p')
[ "$host" = x86_64-unknown-linux-gnu ] || skip "the files are those of x86-64 with Linux"

if [ "${1-}" != renew ]; then
    # Other compilers write other code.
    files_of=$(sed -n '1s/^# rustc \(.*\), x86-64;.*/\1/p' benches/assembly/create.s)
    rustc=$(rustc --version | cut -d' ' -f2)
    [ "$rustc" = "$files_of" ] || skip "the files are those of rustc $files_of, and this is rustc $rustc"
fi
step xtask assembly "$@"
