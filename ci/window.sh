#!/usr/bin/env bash
# The example `window`, on a screen that is not shown: it draws what docs/window.png shows, and leaves no object.
#
#   ci/window.sh          compares the sprites with the picture
#   ci/window.sh renew    makes the picture anew
. "$(dirname "$0")/lib.sh"

needs x11-screen
case ${1-} in
    "") what=--check ;;
    renew) what=--screenshot ;;
    *)
        echo "usage: ci/window.sh [renew]" >&2
        exit 2
        ;;
esac
step cargo build --release -p releasepool-window
step timeout 120 xvfb-run --auto-servernum --server-args="-screen 0 800x600x24" \
    target/release/releasepool-window --frames 118 $what docs/window.png
