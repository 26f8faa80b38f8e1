#!/usr/bin/env bash
# The report of the benchmark `contention`, drawn from figures that nobody measured: as markup,
# and as a Chromium shows it, light and dark, on wide and narrow screens.
. "$(dirname "$0")/lib.sh"

step cargo test -p releasepool-benches --test report

for browser in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if command -v -- "$browser" >/dev/null; then
        echo "drawn by $browser: the page and pictures of it are in target/tmp/report"
        exit 0
    fi
done
skip "there is no Chromium (CHROMIUM can name one), so the report was read, but not looked at"
