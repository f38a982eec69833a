// SPDX-License-Identifier: GPL-2.0-or-later
// Determines which files of the host a command needs in order to run in an empty file system.
#pragma once
#include "guest/guest.h"

namespace djstap {

// Returns whether a shell must interpret the command (quotes, pipes, variables …); otherwise spaces
// separate its words.
bool needs_shell(std::string_view command);

// Returns how to run `command` in a guest: its words, or sh -c if needs_shell().
std::vector<std::string> command_words(std::string_view command);

// Returns the command's program (from $PATH, or a path), its ELF interpreter and every shared
// library it needs, and the interpreter of a script, each at its path on the host. If the program
// is a relative path, GuestJob::directory must therefore be the working directory. A program in no
// standard folder is also linked into /usr/local/bin, so that its name alone finds it. In a shell
// command, every word in the position of a command that names a program of the host is included.
// Libraries opened at run time (dlopen) and data files are not followed. Fails if the program or a
// library is missing.
Result<std::vector<FileToCopy>> command_closure(std::string_view command);

// Returns other files that a command is likely to read: the files of /etc with the names of users,
// groups and hosts and the time zone, the terminal's description, and the files that the command
// names. Missing and too large files are skipped.
std::vector<FileToCopy> data_files(std::string_view command);

// The same for one program, given its path.
Result<std::vector<FileToCopy>> program_closure(const std::string& path);

} // namespace djstap
