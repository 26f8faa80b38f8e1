#!/usr/bin/env bash
# Tests the report page of the benchmark `contention` with made-up figures: its markup, and pictures
# of it by Chromium, in light and dark mode, on wide and narrow screens.
. "$(dirname "$0")/../lib.sh"

browser=
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable chrome; do
    browser=${browser:-$(type -P -- "$name" || true)}
done
[ -n "$browser" ] || ! can_have chromium || browser=chromium
step cargo test -p releasepool-benches --test report
[ -n "$browser" ] || skip "only the markup of the report was tested: $missing; CHROMIUM can name one"
echo "rendered by $browser: the page and its pictures are in target/tmp/report"
