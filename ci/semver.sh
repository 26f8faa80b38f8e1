#!/usr/bin/env bash
# Compares the library with its last release: what breaks users needs a version that says so.
#
#   ci/semver.sh            with the last tag
#   ci/semver.sh REVISION   with this revision
. "$(dirname "$0")/lib.sh"

before=${1-$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null)} || skip "there is no release yet"
needs cargo-semver-checks
unset RUSTFLAGS
step cargo semver-checks -p releasepool --baseline-rev "$before"
