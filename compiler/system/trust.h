// SPDX-License-Identifier: GPL-2.0-or-later
// Determines which files no other user can have written: what djstap takes from its cache becomes
// kernel code, or controls it.
#pragma once
#include "diagnostics/result.h"
#include "system/descriptor.h"

#include <string>
#include <unistd.h>

namespace djstap {

// Succeeds if only root and `user`, by default this process's, can replace `path`: it, the targets
// of symbolic links, and each folder on the way belong to one of them, and no other user can write
// to them. A folder that is only on the way may have the sticky bit (/tmp). Walks down from the
// root, so that what was checked stays true. A path that does not exist passes.
Status check_trusted(const std::string& path, uid_t user = geteuid());

// The same for a folder in which a new name is created: it may have the sticky bit itself.
Status check_trusted_place(const std::string& path);

// Opens a trusted file for reading; what is opened is what was checked. Returns no descriptor, with
// errno, on failure: EPERM if the file is not trusted.
FileDescriptor open_trusted(const std::string& path);

} // namespace djstap
