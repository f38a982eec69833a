#!/bin/bash
# Builds the runtime with scripts written by hand for every kernel that is unpacked and runs tests.sh with them in
# a guest. Needs qemu-system-x86, busybox-static, the kernels' headers.   run.sh [RELEASE…]
set -u
here=$(cd "$(dirname "$0")" && pwd)
runtime=$(cd "$here/../../../runtime" && pwd)
kernels=${DJSTAP_KERNELS:-/var/lib/djstap/kernels}
work=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
failed=0

addresses() { # VMLINUX: addresses.h
    local ibt=0
    grep -q '^CONFIG_X86_KERNEL_IBT=y' "/lib/modules/$release/build/.config" && ibt=4
    nm "$1" | awk -v ibt=$ibt -v release="$release" '
        function define(name, address) { printf "#define %s 0x%sull\n", name, address }
        function plus(address, n) { return sprintf("ull + %d", n) }
        { for (i = split("getppid umask getsid getpgid", names); i; i--)
              if ($3 == "__x64_sys_" names[i]) found[names[i]] = $1
          if ($3 == "ktime_get_real_ts64") found["clock"] = $1
          if ($3 == "_printk") printf "#define ADDRESS_printk 0x%sull\n", $1 }
        END { for (name in found) {
                  printf "#define ADDRESS_%s 0x%sull\n", name, found[name]
                  printf "#define SITE_%s (0x%sull + %d)\n", name, found[name], ibt
                  printf "#define AFTER_%s (0x%sull + %d)\n", name, found[name], ibt + 5 }
              printf "#define TEST_RELEASE \"%s\"\n", release }'
}

build() {
    mkdir -p "$tree" "$root/t" "$root/bin"
    cp -ru "$runtime/." "$tree/"
    cp -u "$here"/*.[ch] "$tree/"
    addresses "$kernels/$release/usr/lib/debug/boot/vmlinux-$release" > "$tree/addresses.h"
    for variant in error forced busy exit release begin ftrace jump nested; do
        printf '#define VARIANT_%s 1\n#include "s_small.c"\n' "${variant^^}" > "$tree/s_$variant.c"
    done
    local script list=""
    cp "$runtime/Kbuild" "$tree/Kbuild"
    echo 'obj-m :=' >> "$tree/Kbuild"
    for script in basic small error forced busy exit release begin ftrace jump nested; do
        list="$list t_$script.o"
        printf 'obj-m += t_%s.o\nt_%s-y := $(djs-objects) s_%s.o\n' $script $script $script >> "$tree/Kbuild"
    done
    # One make for all: they share the runtime's objects, of which Kbuild warns.
    make -s -j2 -C "/lib/modules/$release/build" M="$tree" KCFLAGS=-g0 CONFIG_DEBUG_INFO_BTF_MODULES= modules \
        > "$tree/log" 2>&1 || { cat "$tree/log"; return 1; }
    grep -iE 'warning|error:' "$tree/log" | grep -v 'added to multiple modules' && return 1
    for script in $list; do cp "$tree/${script%.o}.ko" "$root/t/"; done
    cc -O2 -Wall -static -pthread -I"$runtime" -I"$here" -o "$root/t/reader" "$here/reader.c" "$runtime"/text/*.c
}

for release in ${*:-$(ls "$kernels")}; do
    echo "# $release"
    tree=$work/$release/tree root=$work/$release/root
    build || { failed=1; continue; }
    cp /bin/busybox "$root/bin/busybox"
    cp "$here/guest.sh" "$root/init"
    cp "$here/tests.sh" "$root/t/"
    (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$work/$release/initrd.gz"
    timeout "${GUEST_SECONDS:-300}" qemu-system-x86_64 -accel tcg,thread=single -smp 2 -cpu max -m 1G -nodefaults -display none -no-reboot \
        -serial "file:$work/$release/console" \
        -kernel "$kernels/$release/boot/vmlinuz-$release" -initrd "$work/$release/initrd.gz" \
        -append "console=ttyS0 quiet panic=-1 panic_on_oops=1 ${APPEND:-}" < /dev/null
    tr -d '\r' < "$work/$release/console" | grep -aE .
    grep -aq '^GUEST DONE' "$work/$release/console" || { echo "not ok guest was lost"; failed=1; }
    grep -aq '^not ok' "$work/$release/console" && failed=1
done
exit $failed
