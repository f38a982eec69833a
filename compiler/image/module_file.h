// SPDX-License-Identifier: GPL-2.0-or-later
// Kernel modules as files: where they are, and as images with addresses.
#pragma once
#include "image/elf_file.h"
#include "image/kernel.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// "kernel/drivers/virtio/virtio-pci.ko.xz" → "virtio_pci"
std::string module_name_of(std::string_view path);

// A module's file, decompressed.
Result<std::string> module_bytes(const std::string& path);

// The kernel's modules: names as the kernel has them, and their files. Empty where there are none.
std::map<std::string, std::string> module_files(const KernelFiles& kernel);
// True where the kernel has the module built in.
bool is_built_in(const KernelFiles& kernel, std::string_view module);
// The names of the modules that are loaded, where `kernel` is the one that runs; else nothing.
std::optional<std::vector<std::string>> loaded_modules(const KernelFiles& kernel);

// A module's file, unpacked and with an address for each section, as a linker would write it: its
// symbols have addresses, and relocations are applied to its debug information, its table of fentry
// sites and its list of functions that kprobes must not touch. Its code keeps its relocations.
// Fails where the bytes are no relocatable ELF file of the architecture.
Result<std::string> link_module_image(std::string bytes, const std::string& path);

// The path of the linked file, which is made in the cache of `kernel` where it is missing.
Result<std::string> linked_module(const Kernel& kernel, const std::string& path);

// One for each section of code or data that stays after the module's initialization and that two
// symbols, or one, tell apart from all others.
std::vector<Segment> module_segments(const ElfFile& linked);

// A module of `kernel`, which must outlive it, from its file.
Result<std::unique_ptr<Image>> open_module(const Kernel& kernel, const std::string& path);

} // namespace djstap
