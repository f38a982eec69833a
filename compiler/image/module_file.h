// SPDX-License-Identifier: GPL-2.0-or-later
// Kernel modules as files: their locations, and linked images of them.
#pragma once
#include "image/elf_file.h"
#include "image/kernel.h"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// "kernel/drivers/virtio/virtio-pci.ko.xz" → "virtio_pci"
std::string module_name_of(std::string_view path);

// The suffixes of files that module_bytes() decompresses.
inline constexpr std::array<std::string_view, 3> compressed_suffixes{".xz", ".zst", ".gz"};
// Returns the bytes of a module or of another file, decompressed if its suffix says so.
Result<std::string> module_bytes(const std::string& path);

// Returns the kernel's modules: the kernel's names for them, and their files. Empty if there are
// none.
std::map<std::string, std::string> module_files(const KernelFiles& kernel);
// Returns whether the module is built into the kernel.
bool is_built_in(const KernelFiles& kernel, std::string_view module);
// Returns the names of the loaded modules if `kernel` is the running one; else nothing.
std::optional<std::vector<std::string>> loaded_modules(const KernelFiles& kernel);

// Returns a module's file, decompressed and with an address for each section, as if a linker had
// written it: its symbols have addresses, and relocations are applied to its debug information, its
// table of fentry sites and its kprobe blacklist. Its code keeps its relocations. `like`: a linked
// module whose separate debug information the bytes are; their sections get its addresses. Fails if
// the bytes are not a relocatable ELF file for the architecture, or not that of the module.
Result<std::string> link_module_image(std::string bytes, const std::string& path,
                                      const ElfFile* like = nullptr);

// Returns whether the file is a kernel module that has not been loaded or linked.
bool is_module(const ElfFile& file);

// The same with all relocations applied, also those of the code. What the kernel and other modules
// define is an absolute symbol behind the module, of which only the name means anything. The
// offsets of relocations become addresses.
Result<std::string> link_module_code(std::string bytes, const std::string& path);

// Returns the path of what `link` makes of the bytes of the file at `path`, decompressed with all
// their sections. It is kept in the cache of `kernel`, as NAME, a key and SUFFIX, and made anew if
// the file changes.
Result<std::string> cached_copy(const Kernel& kernel, const std::string& path,
                                const std::string& name, const std::string& suffix,
                                const std::function<Result<std::string>(std::string)>& link);
// Returns the path of the linked file, which is created in the cache of `kernel` if it is missing.
Result<std::string> linked_module(const Kernel& kernel, const std::string& path);

// Returns one segment for each section of code or data that remains after the module's
// initialization and that two symbols, or one, distinguish from all others.
std::vector<Segment> module_segments(const ElfFile& linked);

// Opens a module of `kernel`, which must outlive it, from its file.
Result<std::unique_ptr<Image>> open_module(const Kernel& kernel, const std::string& path);
// Opens an object that was compiled only for the types of headers. `name` is for messages; the
// types describe memory of `space`.
Result<std::unique_ptr<Image>> open_headers(const Kernel& kernel, const std::string& path,
                                            const std::string& name, AddressSpace space);

} // namespace djstap
