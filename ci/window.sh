#!/usr/bin/env bash
# The example `window`, on a screen that is not shown: it draws what docs/window.png shows and leaves no object.
#
#   ci/window.sh          compares the sprites with the picture
#   ci/window.sh renew    makes the picture anew
. "$(dirname "$0")/lib.sh"

needs x11-screen
case ${1-} in
    "") what=--check ;;
    renew) what=--screenshot ;;
    *) usage ;;
esac
step cargo build --release -p releasepool-window
screen=(xvfb-run --auto-servernum "--server-args=-screen 0 800x600x24")
step timeout 120 "${screen[@]}" target/release/releasepool-window --frames 118 $what docs/window.png
