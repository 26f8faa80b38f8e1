#!/usr/bin/env bash
# The standard library's own tests and examples of `Arc` and `Weak`, from the sources of the nightly
# toolchain, with `Ref` in their place: changed as a program would be, see docs/FROM_ARC.md.
. "$(dirname "$0")/lib.sh"

needs_nightly rust-src
xtask std-arc
