#!/usr/bin/env bash
# Checks that take as long as one likes.
#
#   ci/long.sh soak [MINUTES]      everything at once (soak/), for ten minutes; and its messages for bad options
#   ci/long.sh threads [NUMBER]    100,000 threads that start and end leave memory use flat
#   ci/long.sh memory [NUMBER]     memory use stays flat: 100 million objects that one thread creates and another one
#                                  frees, and as many temporaries of GLib and Python in pools
#   ci/long.sh slots [MINUTES]     readers of a slot never take an old object for a new one at its address: one thread
#                                  stores small objects as fast as it can, and two read, for ten minutes
#   ci/long.sh tasks [NUMBER]      the inspector reports nothing that tasks of tokio have: three times in each of 300
#                                  processes, beside busy threads
. "$(dirname "$0")/lib.sh"

case ${1-} in
    soak)
        step cargo build --release -p releasepool-soak
        soak=target/release/soak
        step "$soak" --minutes "${2:-10}"
        refuses "--minutes" "$soak" --minutes 0
        refuses "--minutes" "$soak" --minutes NaN
        refuses "--workers" "$soak" --workers 1000
        refuses "--nonsense" "$soak" --nonsense
        ;;
    threads)
        tests_of threads
        RELEASEPOOL_THREADS=${2:-100000} step cargo test --test all -- "${tests[@]}"
        ;;
    memory)
        number=${2:-100000000}
        tests_of memory
        RELEASEPOOL_OBJECTS=$number step cargo test --release --test all -- "${tests[@]}"
        for bin in glib python; do
            has "the example $bin" "lib$bin" || continue
            step cargo run --release -p releasepool-foreign --bin "$bin" "$number"
        done
        ;;
    slots)
        tests_of slots
        RELEASEPOOL_SECONDS=$((${2:-10} * 60)) step cargo test --release --test all -- "${tests[@]}"
        ;;
    tasks) RELEASEPOOL_PROCESSES=${2:-300} step cargo test --release -p releasepool-inspect --test held what_tasks_have ;;
    *) usage ;;
esac
