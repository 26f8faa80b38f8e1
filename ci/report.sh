#!/usr/bin/env bash
# Tests the report page of the benchmark `contention` with made-up figures: its markup, and pictures
# of it by Chromium, in light and dark mode, on wide and narrow screens.
. "$(dirname "$0")/lib.sh"

step cargo test -p releasepool-benches --test report

for browser in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if command -v -- "$browser" >/dev/null; then
        echo "rendered by $browser: the page and its pictures are in target/tmp/report"
        exit 0
    fi
done
skip "there is no Chromium (CHROMIUM can name one), so only the markup of the report was tested"
