# SPDX-License-Identifier: GPL-2.0-or-later
# For cases: the installed kernel without what its debug package brought, as the only one. A debug kernel's headers are in
# build-folder, which others do not have.
source=$KERNEL_FOLDER
mkdir -p "$T/kernels/${source##*/}/usr/lib"
for part in boot lib build-folder usr/src $(cd "$source" && echo usr/lib/linux-kbuild-*); do
    ln -s "$source/$part" "$T/kernels/${source##*/}/$part"
done
export DJSTAP_KERNELS="$T/kernels"
