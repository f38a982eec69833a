#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# rpm_root.sh ROOT FOLDER NEXT: installs the .rpm of FOLDER in a fresh root of Debian, which has the libraries that they need but no
# packages that rpm knows, uses what they contain, upgrades them to those of NEXT, and removes them.
set -eu
root=$1 folder=$2 next=$3

fails() {
    echo "FAILED: $1"
    exit 1
}

in_root() { chroot "$root" env -u XDG_CACHE_HOME -u DJSTAP_CACHE HOME=/root LC_ALL=C.UTF-8 "$@"; }

# check RELEASE: it is installed, whole, and works.
check() {
    [ "$(rpm --root "$root" -q --qf '%{RELEASE} ' djstap djrun djstap-dev)" = "$1 $1 $1 " ] || fails "release $1 is not installed"
    rpm --root "$root" -V --nodeps djstap djrun djstap-dev || fails "what is installed differs from the packages"
    for program in djstap djrun djstap-run; do
        in_root $program --version
    done
    [ "$(in_root djstap --runtime=user -e 'probe begin { println("begun"); exit() }')" = begun ] || fails "a script does not run"
    in_root djstap --examples | grep -q '^ *opens ' || fails "the examples are not found"
    grep -q '^djstap:x:[0-9]*:$' "$root/etc/group" || fails "the group djstap is not there, or has members"
    [ ! -e "$root/etc/systemd/system/sockets.target.wants/djstap-run.socket" ] || fails "the socket is active by itself"
}

mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
rpm --root "$root" --initdb
# Without them it names what is missing, the programs that Kbuild needs among them.
! rpm --root "$root" -i "$folder"/*.rpm 2>"$root/messages" || fails "rpm installs them although nothing that they need is there"
for needed in make gcc binutils shadow-utils; do
    grep -q "^[[:space:]]*$needed is needed by dj" "$root/messages" || {
        cat "$root/messages"
        fails "rpm does not ask for $needed"
    }
done
rpm --root "$root" -i --nodeps "$folder"/*.rpm
release=$(rpm -qp --qf '%{RELEASE}' "$folder"/djrun-[0-9]*.rpm)
check "$release"
rpm --root "$root" -U --nodeps "$next"/*.rpm
check $((release + 1))
[ "$(grep -c '^djstap:' "$root/etc/group")" = 1 ] || fails "the upgrade makes the group again"
rpm --root "$root" -e djstap-dev djstap djrun
left=$(find "$root" -xdev \( -path '*djstap*' -o -path '*djrun*' \) ! -path "$root/root/.cache/*" ! -path "$root/var/*")
[ -z "$left" ] || fails "left behind: $left"
echo "the .rpm were installed, used, upgraded and removed"
