# SPDX-License-Identifier: GPL-2.0-or-later
# What the cases that refuse requests begin with, in the case's folder: djstap with another runtime, the module that counts, fail-nth.
cd "$T"
python3 "$SOURCES/testsuite/kernel/refusing/instrument.py" "$(command -v djstap)" "$T/prefix"
cp -r "$SOURCES/testsuite/kernel/refusing" module
for kernel in "$KERNEL_FOLDER"/lib/modules/*; do :; done
make -s -C "$kernel/build" M="$PWD/module" modules > log 2>&1 || cat log
gcc -O2 -Wall -Werror "$SOURCES/testsuite/kernel/fail-nth/fail-nth.c" -o fail-nth
# Compiles a script to NAME.ko, with the runtime that asks through refusing.h: compile NAME [OPTION…] -e SCRIPT
compile() { prefix/bin/djstap -r $KERNEL -w -g -p4 -m "$@" >/dev/null; }
