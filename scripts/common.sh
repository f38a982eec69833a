# Shared by the scripts of this folder: where things are, and how to say what goes on.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
KERNELS=${DJSTAP_KERNELS:-/var/lib/djstap/kernels}
JOBS=$(nproc)
export DEBIAN_FRONTEND=noninteractive

say() {
    printf '\n== %s\n' "$*"
}

fail() {
    printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
    exit 1
}

# Runs a command that is only allowed to root.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo DEBIAN_FRONTEND=noninteractive "$@"
    else
        fail "'$*' needs root, and there is no sudo"
    fi
}

# Runs a long command quietly: a line when it begins, its time at the end, its output when it fails.
quietly() {
    what=$1
    shift
    printf '%s … ' "$what"
    began=$(date +%s)
    log=$(mktemp)
    if "$@" >"$log" 2>&1 </dev/null; then
        printf 'done (%s s)\n' "$(($(date +%s) - began))"
        rm -f "$log"
    else
        printf 'failed\n'
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
}

# Prints the newest installed kernel of a series ("6.1") that has all that is needed: image, modules,
# debug symbols, headers.
whole_kernel() {
    for folder in "$KERNELS/$1".*; do
        release=$(basename "$folder")
        if [ -e "$folder/boot/vmlinuz-$release" ] && [ -d "$folder/lib/modules/$release" ] &&
            [ -e "$folder/usr/lib/debug/boot/vmlinux-$release" ] && [ -d "/lib/modules/$release/build/" ]; then
            echo "$release"
        fi
    done | sort -V | tail -n 1
}

# Sets up, fetches kernels and builds one preset, saying so.
build_preset() {
    preset=$1
    say "Building the $preset version (build/$preset)"
    if [ ! -e "$ROOT/build/$preset/build.ninja" ]; then
        quietly "configuring" cmake -S "$ROOT" --preset "$preset"
    fi
    # ninja shows its own progress; the last line stays.
    cmake --build "$ROOT/build/$preset" -j "$JOBS"
}
