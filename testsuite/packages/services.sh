#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests the units of the package djrun under systemd, in a guest that has the modules djstap_counts.ko, djstap_waits.ko and
# djstap_recorder.ko for its kernel in /modules (in_guest.sh):
#   services.sh prepare    as the first process: enables the units and becomes systemd, which starts them as after any boot
#   services.sh check      a service of that boot: what the units do for root, for a member of the group djstap, and for others
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8

counts_users=257 # the first systemd that counts a user's connections to a socket of a file

end() {
    echo "$1"
    sync
    sleep 1 # the console is written behind the programs
    echo o >/proc/sysrq-trigger
    sleep 1000
}

failed() {
    [ ! -s /tmp/out ] || cat /tmp/out
    journalctl --no-pager -n 40 2>/dev/null | cat
    end "FAILED: $1"
}

# is WHAT EXPECTED ACTUAL
is() {
    [ "$2" = "$3" ] || {
        echo "expected: $2"
        echo "actual: $3"
        failed "$1"
    }
    echo "$1: done"
}

# becomes CONDITION…: waits until the command succeeds.
becomes() {
    for _ in $(seq 600); do
        ! "$@" || return 0
        sleep 0.5
    done
    failed "never: $*"
}

as() {
    user=$1
    shift
    status=0
    setpriv --reuid "$user" --regid "$user" --init-groups "$@" >/tmp/out 2>&1 </dev/null || status=$?
}

loaded() { grep -q "^$1 " /proc/modules; }
unloaded() { ! loaded "$1"; }
waiting() { grep -q '^waits$' "/tmp/waits$1"; }
dropped() { journalctl --no-pager -u djstap-run.socket | grep -q 'Too many incoming connections.* from source'; }
finished() { ! kill -0 "$1" 2>/dev/null; }

prepare() {
    useradd --no-create-home --groups djstap member
    useradd --no-create-home other
    install -D -m 600 -t /etc/djstap/scripts /modules/djstap_counts.ko /modules/djstap_waits.ko
    install -D -m 600 /modules/djstap_counts.ko /etc/djstap/metrics/djstap_metrics.ko
    install -D -m 600 -t /etc/djstap/recorders /modules/djstap_recorder.ko
    cat >/etc/systemd/system/check.service <<END_OF_UNIT
[Unit]
Description=the test of djstap's units
After=multi-user.target
[Service]
ExecStart=/bin/sh /services.sh check
StandardOutput=file:/dev/console
StandardError=file:/dev/console
END_OF_UNIT
    ln -sf /lib/systemd/system/multi-user.target /etc/systemd/system/default.target
    mkdir -p /etc/systemd/system/multi-user.target.wants
    ln -sf ../check.service /etc/systemd/system/multi-user.target.wants/check.service
    systemctl --quiet mask getty.target apt-daily.timer apt-daily-upgrade.timer 2>/dev/null
    systemctl --quiet enable djstap-run.socket djstap-recorder@djstap_recorder.service || end "FAILED: systemctl enable"
    exec /sbin/init
}

check() {
    version=$(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p')
    echo "systemd $version"
    # The flight recorder that was enabled has been loaded by the boot.
    is "the recorder after a boot" active "$(systemctl is-active djstap-recorder@djstap_recorder)"
    loaded djstap_recorder || failed "the recorder is not loaded"
    cat /etc/passwd >/dev/null
    djrun --attach djstap_recorder >/tmp/out 2>&1 || failed "djrun --attach"
    grep -q '^read by ' /tmp/out || failed "the recorder recorded nothing"
    systemctl stop djstap-recorder@djstap_recorder || failed "systemctl stop of the recorder"
    is "the recorder after its stop" 0 "$(grep -c '^djstap_recorder ' /proc/modules)"
    ! systemctl start djstap-recorder@missing 2>/dev/null || failed "a recorder without a module starts"
    is "a recorder without a module" inactive "$(systemctl is-active djstap-recorder@missing)"

    # The scripts that root offers.
    is "the socket" "active root:djstap 660" "$(systemctl is-active djstap-run.socket) $(stat -c '%U:%G %a' /run/djstap/run.socket)"
    as member djstap-run djstap_counts
    is "a member runs a script" "0 counts for user 0 counted" "$status $(paste -sd ' ' /tmp/out)"
    as member djstap-run --list
    is "a member's list, without what is for the agent" "0 djstap_counts djstap_waits" "$status $(paste -sd ' ' /tmp/out)"
    as other djstap-run djstap_counts
    is "another user" 1 "$status"
    grep -q 'only root and the members of the group djstap' /tmp/out || failed "the refusal says something else"
    as member djstap-run djstap_recorder
    is "what is not offered" "1 djstap-run: there is no script djstap_recorder" "$status $(head -n 1 /tmp/out)"
    as member sh -c 'djrun /etc/djstap/scripts/djstap_counts.ko || djrun --attach djstap_counts'
    [ "$status" -ne 0 ] || failed "a member loads a module"
    echo "what a member may not: done"
    becomes unloaded djstap_counts

    # A script that does not end by itself, until its user leaves.
    setpriv --reuid member --regid member --init-groups djstap-run djstap_waits >/tmp/waits1 2>&1 </dev/null &
    user=$!
    becomes waiting 1
    loaded djstap_waits || failed "the script is not loaded"
    kill -INT $user
    becomes finished $user
    becomes unloaded djstap_waits
    is "Ctrl-C" "waits ends" "$(paste -sd ' ' /tmp/waits1)"
    is "who ran what" "user $(id -u member) runs djstap_waits" \
        "$(journalctl --no-pager -o cat -u 'djstap-run@*' | grep djstap_waits | tail -n 1)"
    # One user does not take all connections, where systemd counts those of a user.
    if [ "$version" -ge "$counts_users" ]; then
        as member perl -MIO::Socket::UNIX -e \
            'my @open = map { IO::Socket::UNIX->new(Peer => "/run/djstap/run.socket") } 1 .. 8; sleep 2'
        becomes dropped
        echo "too many connections of one user: done"
    fi
    systemctl stop djstap-run.socket
    as member djstap-run djstap_counts
    is "without the socket" 1 "$status"
    grep -q 'systemctl enable --now djstap-run.socket' /tmp/out || failed "it does not say how to begin"
    end "everything works"
}

case ${1:-} in
prepare) prepare ;;
check) check ;;
esac
