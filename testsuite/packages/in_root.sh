# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in a fresh root: /packages holds the packages, /next the same with a higher version. Installs, uses, upgrades and
# removes them.
export DEBIAN_FRONTEND=noninteractive
apt() {
    apt-get "$@" -y -qq >/log 2>&1 || {
        cat /log
        exit 1
    }
}

# Runs a command that has to fail; its messages are in /messages.
fails() {
    if "$@" >/dev/null 2>/messages; then
        echo "it succeeds: $*"
        exit 1
    fi
}

check() {
    test "$(dpkg-query -W -f '${db:Status-Status} ' djstap djrun djstap-dev djstap-pmda)" = "installed installed installed installed "
    djstap --version
    djrun --version
    # It is copied to hosts with any other C library.
    fails ldd /usr/bin/djrun
    test "$(djstap --runtime=user -e 'probe begin { println("begun"); exit() }')" = begun
    djstap --examples | grep -q '^ *opens '
    /var/lib/pcp/pmdas/djstap/pmdadjstap --help 2>&1 | grep -q -e --scripts
    djstap --help errno_str | grep -q errno_str
    for file in include/djstap/marker.h include/djstap/djprobe.h share/man/man1/djstap.1.gz share/man/man1/djrun.1.gz \
        share/man/man1/djstap-run.1.gz share/man/man7/djstapprobes.7.gz lib/systemd/system/djstap-recorder@.service \
        lib/systemd/system/djstap-run.socket lib/systemd/system/djstap-run@.service libexec/djstap/serve-script \
        share/vim/vimfiles/syntax/djstap.vim share/djstap/editors/vscode/syntaxes/djstap.tmLanguage.json \
        share/bash-completion/completions/djstap share/zsh/vendor-completions/_djstap share/fish/vendor_completions.d/djstap.fish; do
        test -f "/usr/$file" || {
            echo "missing: /usr/$file"
            exit 1
        }
    done
    # The group of those who may run what root offers, and nobody in it. Nothing is offered yet.
    getent group djstap | grep -q '^djstap:x:[0-9]*:$'
    test ! -e /etc/djstap
    test ! -e /etc/systemd/system/sockets.target.wants/djstap-run.socket
    fails djstap-run --list
    grep -q 'systemctl enable --now djstap-run.socket' /messages
    # in_guest.sh looks at what djstap says where a kernel lacks its headers; here there is none.
    fails djstap -r 9.9.9 -e 'probe kernel.function("vfs_read") {}'
    grep -q "kernel '9.9.9' is not installed" /messages || {
        cat /messages
        exit 1
    }
}

apt-get update -qq
# pcp, on which djstap-pmda depends, starts its services.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt install --no-install-recommends /packages/*.deb
check
apt install --no-install-recommends /next/*.deb
case $(dpkg-query -W -f '${Version}' djstap) in
*+next) ;;
*)
    echo "djstap was not upgraded"
    exit 1
    ;;
esac
check
apt purge djstap djrun djstap-dev djstap-pmda
left=$(find / -xdev -path '*djstap*' -o -xdev -path '*djrun*' | grep -v -e '^/packages' -e '^/next' -e '^/var/cache' -e '^/root/.cache' -e '^/proc' || true)
test -z "$left" || {
    echo "left behind: $left"
    exit 1
}
# djrun alone, which needs nothing of djstap.
apt autoremove
apt install --no-install-recommends /packages/djrun_*.deb
djrun --version
fails djstap --version
echo "installed, used, upgraded and removed"
