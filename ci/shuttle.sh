#!/usr/bin/env bash
# Random programs on eight threads, by shuttle: loom_tests/README.md says what that adds to the models.
#
#   ci/shuttle.sh [SEEDS]     a number, or FROM..TO; otherwise 200000, which take ten minutes
. "$(dirname "$0")/lib.sh"

step cargo shuttle "${1:-200000}"

# A seed replays: twice the same steps and switches, by each kind of schedule.
for seed in 6 7 8; do
    first=$(cargo shuttle --replay "$seed")
    grep -q switches <<<"$first"
    [ "$first" = "$(cargo shuttle --replay "$seed")" ] || fail "seed $seed does not replay"
done
echo "seeds replay: good"
