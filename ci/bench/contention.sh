#!/usr/bin/env bash
# A quick run of all benchmarks: checks that all implementations do equal work, and that a run writes
# a page and a table, both with all scenarios. Arguments
# are passed to `cargo bench --bench contention`.
. "$(dirname "$0")/../lib.sh"

if [ $# -gt 0 ]; then
    step cargo bench --bench contention -- "$@"
    exit
fi
# No figure of this run is kept, so it is built the quick way.
export CARGO_PROFILE_BENCH_LTO=off CARGO_PROFILE_BENCH_CODEGEN_UNITS=16
has_c=$(can_have c++ && echo yes || true)
out=${CARGO_TARGET_DIR:-target}/contention
rm -rf "$out"
mkdir -p "$out"
# Not benches/TABLE.md, as the figures of a quick run are not reliable.
step cargo bench --bench contention -- --quick --threads 2 --markdown "$(realpath "$out/table.md")"
scenarios=$(cargo bench --bench contention -- --list 2>/dev/null | awk '/^[a-z]/ { print $1 }')
[ "$(wc -w <<<"$scenarios")" -ge 9 ]
for scenario in $scenarios; do
    grep -q "<td>$scenario: " "$out/report.html" && grep -q "^| $scenario: " "$out/table.md" ||
        fail "$out has no row of $scenario"
done
grep -q 'Arc + Vec, mimalloc' "$out/report.html" || fail "$out/report.html has no figures with mimalloc"
[ -z "$has_c" ] || grep -q 'Arc + Vec, snmalloc' "$out/report.html" ||
    fail "$out/report.html has no figures with snmalloc, though there is a C++ compiler"
