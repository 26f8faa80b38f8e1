#!/usr/bin/env bash
# A quick run of the benchmark `contention`: checks that all implementations do equal work, and that
# a run writes its figures, and a page with a chart of each scenario. Arguments are passed to `cargo
# bench --bench contention`.
. "$(dirname "$0")/../lib.sh"

if [ $# -gt 0 ]; then
    step cargo bench --bench contention -- "$@"
    exit
fi
has_c=$(can_have c++ && echo yes || true)
out=target/contention
rm -rf "$out"
step cargo bench --bench contention -- --quick --threads 1,2
scenarios=$(cargo bench --bench contention -- --list 2>/dev/null | awk '/^[a-z]/ { print $1 }')
[ "$(wc -w <<<"$scenarios")" -ge 12 ]
for scenario in $scenarios; do
    if ! grep -q "\"id\": \"$scenario\"" "$out/results.json" || ! grep -q "data-scenario=\"$scenario\"" "$out/report.html"; then
        echo "$out has no figures, or no chart, of $scenario" >&2
        exit 1
    fi
done
if ! grep -q '"implementation": "Arc + Vec, mimalloc"' "$out/results.json" || ! grep -q '"samples": \[[0-9]' "$out/results.json"; then
    echo "$out/results.json has no rows with mimalloc, or no samples" >&2
    exit 1
fi
if [ -n "$has_c" ] && ! grep -q '"implementation": "Arc + Vec, snmalloc"' "$out/results.json"; then
    echo "$out/results.json has no rows with snmalloc, though there is a C++ compiler" >&2
    exit 1
fi
# Once more, with that run as the baseline.
step cargo bench --bench contention -- --quick --threads 1 --scenario temporaries-1000 --baseline "$out/results.json"
