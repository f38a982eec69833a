#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# next_version.sh PACKAGE.deb FOLDER: writes the same package with a higher version to the folder.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dpkg-deb -R "$1" "$work/package"
version=$(sed -n 's/^Version: //p' "$work/package/DEBIAN/control")
sed -i "s/$version/$version+next/" "$work/package/DEBIAN/control"
dpkg-deb -Zgzip -z1 --root-owner-group -b "$work/package" "$2" >/dev/null
