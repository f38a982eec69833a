// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/arch.h"

#include <elf.h>

namespace djstap::arch {

const Names& names() {
    static constexpr Names all{
        .title = "x86-64",
        .machine = "x86_64",
        .kernel = "x86",
        .boot_image = "arch/x86/boot/bzImage",
        .linker = "elf_x86_64",
        .interpreter = "/ld-linux-x86-64.so",
        .emulator = "qemu-system-x86_64",
        .emulator_package = "qemu-system-x86",
    };
    return all;
}

uint16_t elf_machine() {
    return EM_X86_64;
}

} // namespace djstap::arch
