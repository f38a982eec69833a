// SPDX-License-Identifier: GPL-2.0-or-later
// Which files of the host a command needs, to run it where there is nothing else.
#pragma once
#include "guest/guest.h"

namespace djstap {

// True when a shell has to interpret the command (quotes, pipes, variables …); otherwise its words
// are separated by blanks alone.
bool needs_shell(std::string_view command);

// How to run `command` in a guest: its words, or sh -c where needs_shell().
std::vector<std::string> command_words(std::string_view command);

// The command's program (from $PATH, or a path), its ELF interpreter and every shared library it
// needs, the interpreter of a script: each at its path on the host, so the command is to be run in
// the guest with GuestJob::directory set to the working directory when its program is a relative
// path. A program in no standard folder is linked into /usr/local/bin too, so that its name alone
// finds it. In a shell command every word in a command's place that names a program of the host is
// taken. Libraries opened at run time (dlopen) and data files are not followed. Fails when the
// program or a library is missing.
Result<std::vector<FileToCopy>> command_closure(std::string_view command);

// What else a command is likely to look at: the files of /etc that tell names of users, groups and
// hosts and the time zone, the description of the terminal, and the files that the command names.
// Those that are not there or too large are left out.
std::vector<FileToCopy> data_files(std::string_view command);

// The same for one program by its path.
Result<std::vector<FileToCopy>> program_closure(const std::string& path);

} // namespace djstap
