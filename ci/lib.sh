# Sourced by the scripts here: stop at the first error, work from the root, and
# say what is being done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() {
    printf '\n== %s ==\n' "$*"
    "$@"
}
