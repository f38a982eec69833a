// SPDX-License-Identifier: GPL-2.0-or-later
// Programs and libraries of user space as images: files that processes map, each at an address of
// its own.
#pragma once
#include "image/elf_file.h"
#include "image/kernel.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Opens the program or library at an absolute path. `kernel`, which must outlive it, is the one on
// which it runs. Its symbols are those of the file, and of its separate debug file if the file was
// stripped.
Result<std::unique_ptr<Image>> open_program(const Kernel& kernel, const std::string& path);

// Returns the canonical path of what a script names: a path that contains a slash, relative to the
// current folder, or a program in $PATH; a script's #! line names its interpreter. Fails with a
// reason and a hint.
Result<std::string> find_program_file(const std::string& name);

// Returns the canonical path of the program that a process runs. Fails with a reason and a hint.
Result<std::string> program_file_of_process(int64_t pid);

// Returns where Debian keeps a library that the path of one, or a pattern, has in lib, lib64 or
// lib*: in the folder of the machine. "": the path is none of a library.
std::string in_folder_of_machine(const std::string& path);

// Returns the files that match a pattern with wildcards, sorted. Those that are no programs are
// left out. If there are none, libraries are looked for in the folder of the machine, too.
std::vector<std::string> program_files_matching(const std::string& pattern);

// Returns whether the file begins like an ELF file.
bool is_elf_file(const std::string& path);

} // namespace djstap
