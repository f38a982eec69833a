// SPDX-License-Identifier: GPL-2.0-or-later
// What a program does first.
#pragma once

namespace djstap {

// Opens /dev/null in place of each standard stream that is closed: the next file that is opened
// would become that stream, and messages would go there. A write beyond the limit of `ulimit -f`
// fails with EFBIG from now on, as one to a full disk with ENOSPC, and no longer kills.
void prepare_streams();

} // namespace djstap
