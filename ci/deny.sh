#!/usr/bin/env bash
# The dependencies of all packages: their licenses, where they come from, and what is known against them. The
# library has only one version of each of its own. What is allowed is in deny.toml.
. "$(dirname "$0")/lib.sh"

needs cargo-deny
step cargo deny --workspace --all-features check licenses sources
step cargo deny --all-features --exclude-dev check bans
if said=$(cargo deny fetch db 2>&1); then
    step cargo deny --workspace --all-features check advisories
else
    skipped "advisories: $(tail -n 1 <<<"$said")"
fi
