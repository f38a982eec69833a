#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# guest.sh SUITE FOLDER MIRROR: boots a fresh root of Debian in a virtual machine, with a kernel of its own and a repository on
# its disk that holds the packages of FOLDER and all that they depend on; in_guest.sh and services.sh run there.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
suite=$1 packages=$2 mirror=$3
work=$(mktemp -d)
root=$work/root
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

mmdebstrap --variant=apt --quiet --include=linux-image-cloud-amd64,apt-utils,udev,mount,systemd-sysv "$suite" "$root" "deb $mirror $suite main"
mkdir "$root/repository"
cp "$packages"/*.deb "$root/repository"
mount -t proc proc "$root/proc"
chroot "$root" sh -e <<'END'
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
release=$(ls /lib/modules)
apt-get install -y -qq --download-only --no-install-recommends /repository/*.deb "linux-headers-$release" >/dev/null
cp /var/cache/apt/archives/*.deb /repository
cd /repository
apt-ftparchive packages . >Packages
apt-get clean
rm -rf /var/lib/apt/lists/*
mkdir -p /etc/apt/sources.list.d
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/repository ./' >/etc/apt/sources.list
END
umount "$root/proc"
install -m 755 "$here/in_guest.sh" "$here/services.sh" "$root"
truncate -s 6G "$work/disk"
/sbin/mke2fs -q -t ext4 -d "$root" "$work/disk"
log=$work/log
timeout "${DJSTAP_PATIENCE:-7200}" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -machine q35 -cpu max -m 2048 \
    -accel tcg -serial stdio -kernel "$root"/boot/vmlinuz-* -initrd "$root"/boot/initrd.img-* \
    -drive file="$work/disk",format=raw,if=virtio,cache=unsafe \
    -append "console=ttyS0 quiet root=/dev/vda rw init=/in_guest.sh panic=-1" </dev/null | stdbuf -o L tr -d '\r' | tee "$log"
grep -q '^everything works$' "$log"
