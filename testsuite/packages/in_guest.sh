#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The first process of a guest (guest.sh): apt installs djstap from the repository on the disk, and scripts run on the guest's own
# kernel, with its packaged headers.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs tmp /run
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing

end() {
    echo "$1"
    sync
    sleep 1 # the console is written behind the programs
    echo o >/proc/sysrq-trigger
    sleep 1000
}

try() {
    what=$1
    shift
    "$@" >/log 2>&1 || {
        cat /log
        end "FAILED: $what"
    }
    echo "$what: done"
}

release=$(uname -r)
echo "Linux $release"
try "apt update" apt-get update
try "apt install djstap" apt-get install -y --no-install-recommends djstap
# Before the headers are there, djstap says which package has them, by its exact name.
! djstap -e 'probe kernel.function("vfs_read") { exit() }' >/log 2>&1 || end "FAILED: a script runs without headers"
package=$(grep -o "linux-headers-[^ ]*" /log | head -n 1)
[ "$package" = "linux-headers-$release" ] || {
    cat /log
    end "FAILED: the message names $package"
}
djstap --info >/log 2>&1
grep -q "apt-get install linux-headers-$release\$" /log && grep -q "apt-get install linux-image-$release-dbg\$" /log || {
    cat /log
    end "FAILED: --info does not name the packages"
}
try "apt install $package" apt-get install -y --no-install-recommends "$package"
script='global n probe kernel.function("vfs_read") { if (n++ >= 5) exit() } probe end { println(n > 5 ? "counted" : "missed") }'
for which in first second third; do
    began=$(cut -d ' ' -f 1 /proc/uptime)
    djstap -c 'cat /proc/self/status /proc/self/maps /proc/self/stat /proc/self/limits' -o /output -e "$script" >/log 2>&1 || {
        cat /log
        end "FAILED: the $which script"
    }
    [ "$(cat /output)" = counted ] || {
        cat /log /output
        end "FAILED: the $which script did not count"
    }
    echo "the $which script: $(echo "$began $(cut -d ' ' -f 1 /proc/uptime)" | awk '{ printf "%.1f", $2 - $1 }') s of the guest's clock"
done
! grep -q djstap /proc/modules || end "FAILED: a module is left"

# What the units run, which systemd starts as the next process 1.
mkdir /modules
cd /modules
try "a script to offer" djstap -p4 -m djstap_counts -e 'probe begin { printf("counts for user %d\n", uid()) }
    global n probe kernel.function("vfs_read") { if (n++ == 5) exit() } probe end { println(n > 5 ? "counted" : "missed") }'
try "another one" djstap -p4 -m djstap_waits -e 'probe begin { println("waits") } probe end { println("ends") }'
try "a flight recorder" djstap -p4 -m djstap_recorder -e 'probe kernel.function("vfs_read") { printf("read by %s\n", execname()) }'
exec sh /services.sh prepare
