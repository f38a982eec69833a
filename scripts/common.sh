# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the scripts of this folder: paths, and functions that report progress.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
KERNELS=${DJSTAP_KERNELS:-/var/lib/djstap/kernels}
JOBS=$(nproc)
export DEBIAN_FRONTEND=noninteractive

say() {
    printf '\n== %s\n' "$*"
}

# Prints the comment with which a script begins.
show_help() {
    sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$ROOT/scripts/$(basename -- "$0")"
}

fail() {
    printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
    exit 1
}

# Runs a command that requires root.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo DEBIAN_FRONTEND=noninteractive "$@"
    else
        fail "'$*' needs root, and there is no sudo"
    fi
}

# Prints the mirror of Debian that this machine's apt uses.
debian_mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$'
}

# Runs a long command quietly: prints a line when it begins, its time at the end, and its output if it fails.
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

# Returns true if the kernel unpacked to KERNELS/RELEASE is complete: image, modules with their order, debug symbols (unless
# $without_symbols is set), and headers that modules can be built with.
kernel_is_whole() {
    [ -s "$KERNELS/$1/boot/vmlinuz-$1" ] && [ -s "$KERNELS/$1/lib/modules/$1/modules.dep" ] &&
        { [ "${without_symbols:-}" ] || [ -s "$KERNELS/$1/usr/lib/debug/boot/vmlinux-$1" ]; } && [ -e "$KERNELS/$1/lib/modules/$1/build/Makefile" ] &&
        [ -d "$KERNELS/$1/lib/modules/$1/build/tools/objtool" ]
}

# Prints the kernels of a series ("6.1", or "6.1-rt" with PREEMPT_RT) that exist, complete or not.
releases_of() {
    for folder in "$KERNELS/${1%-rt}".*; do
        release=$(basename "$folder")
        case $1,$release in
        *-rt,*-rt-*) echo "$release" ;;
        *-rt,* | *,*-rt-* | *'*') ;;
        *) echo "$release" ;;
        esac
    done
}

# Prints the newest complete kernel of a series.
whole_kernel() {
    for release in $(releases_of "$1"); do
        if kernel_is_whole "$release"; then
            echo "$release"
        fi
    done | sort -V | tail -n 1
}

# Configures one preset, if that has not been done.
configure_preset() {
    if [ ! -e "$ROOT/build/$1/build.ninja" ]; then
        quietly "configuring" cmake -S "$ROOT" --preset "$1"
    fi
}

# Builds one preset and reports it: all of it, or the targets that follow.
build_preset() {
    preset=$1
    shift
    say "Building the $preset version (build/$preset)"
    configure_preset "$preset"
    # ninja shows its own progress; the last line stays.
    cmake --build "$ROOT/build/$preset" -j "$JOBS" ${1:+--target "$@"}
}
