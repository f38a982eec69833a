// SPDX-License-Identifier: GPL-2.0-or-later
// Which files nobody else can have written: what djstap takes from its cache becomes code of the
// kernel's, or decides it.
#pragma once
#include "diagnostics/result.h"
#include "system/descriptor.h"

#include <string>

namespace djstap {

// Done where only root and this process's user can put anything else in the place of `path`: it,
// what symbolic links lead to, and each folder on the way belong to one of them, and nobody else
// can write to them. A folder that is only on the way may have the sticky bit (/tmp). Goes from the
// root down, so that what was found stays true. What is not there is not in question.
Status check_trusted(const std::string& path);

// The same for a folder in which something is made under a name that is not there yet: it may have
// the sticky bit itself.
Status check_trusted_place(const std::string& path);

// Opens a file for reading that is trusted; what is opened is what was looked at. No descriptor,
// with errno, where that fails: EPERM where it is not trusted.
FileDescriptor open_trusted(const std::string& path);

} // namespace djstap
