#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# demo.sh SUITE MIRROR: scripts/demo in a fresh root of Debian, as a user of this distribution runs it from the sources: it installs
# what it needs, builds djstap and shows it in virtual machines. The root shares this machine's kernels for guests and cannot change them.
set -eu
sources=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
suite=$1 mirror=$2
kernels=${DJSTAP_KERNELS:-/var/lib/djstap/kernels}
work=$(mktemp -d)
root=$work/root
unmount() {
    for each in proc dev var/lib/djstap/kernels .; do
        umount "$root/$each" 2>/dev/null || true
    done
    rm -rf --one-file-system "$work"
}
trap unmount EXIT
trap 'exit 130' INT TERM HUP

mmdebstrap --variant=apt --quiet "$suite" "$root" "deb $mirror $suite main"
mkdir -p "$root/djstap" "$root/var/lib/djstap/kernels"
git -C "$sources" ls-files -z --cached --others --exclude-standard | tar -c -C "$sources" --null -T - --ignore-failed-read | tar -x -C "$root/djstap"
# Guests get the files below a mount, as on a machine of its own.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount --bind "$kernels" "$root/var/lib/djstap/kernels"
mount -o remount,ro,bind "$root/var/lib/djstap/kernels"
{
    chroot "$root" env -u DJSTAP_KERNELS -u DJSTAP_CACHE -u XDG_CACHE_HOME DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin sh /djstap/scripts/demo 2>&1 && echo "the demo ended"
} | tee "$work/log"
# What it shows: each call with its arguments, the three figures of the second script, and where djstap is.
for shown in 'gtodbench([0-9]*) tv=0x[0-9a-f]* tz=' '^[0-9][0-9]* calls' 'value |-' '^[0-9]* kernel.statement("ktime_get_real_ts64@' \
    'djstap is at /djstap/build/release/bin/djstap' '^the demo ended$'; do
    tr -d '\r' <"$work/log" | grep -q "$shown" || {
        echo "FAILED: the demo does not show $shown"
        exit 1
    }
done
! grep 'warning:' "$work/log" || {
    echo "FAILED: the demo warns"
    exit 1
}
echo "the demo works on $suite"
