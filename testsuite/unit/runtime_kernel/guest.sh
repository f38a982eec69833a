#!/bin/busybox sh
# The guest's init: every test prints "ok NAME" or "not ok NAME: why".
/bin/busybox mkdir -p /bin /proc /sys /tmp
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
echo 4 > /proc/sys/kernel/printk
cd /t

check() { # NAME PATTERN…: /tmp/out has a line for every pattern
    name=$1 why=
    shift
    for pattern; do grep -qE -- "$pattern" /tmp/out || why="$why [$pattern]"; done
    if [ -z "$why" ]; then echo "ok $name"; else echo "not ok $name: no$why in:"; sed 's/^/    /' /tmp/out; fi
}
loaded() { lsmod | grep -q "^$1 "; }
log_since() { dmesg | sed "1,${mark}d"; }
marked() { mark=$(dmesg | wc -l); }

. ./tests.sh

marks=$(dmesg | grep -cE 'BUG|WARNING: (CPU|poss)|Oops|Call Trace|general protection|RCU stall|soft lockup')
[ "$marks" = 0 ] && echo "ok kernel log is clean" || { echo "not ok kernel log"; dmesg | grep -E -A25 'BUG|WARNING: |Oops|general prot' | head -80; }
echo "GUEST DONE"
poweroff -f
