// SPDX-License-Identifier: GPL-2.0-or-later
// A process of djstap's own that outlives it: whatever ends djstap, the program is freed of what
// was placed in it.
#pragma once
#include "diagnostics/result.h"
#include "system/descriptor.h"

#include <functional>
#include <sys/types.h>
#include <vector>

namespace djstap::injection {

class Keeper {
  public:
    // Creates the process. It runs `begin`, and `end` when this process is gone, or asks for it;
    // `end` returns whether it could do its work. It keeps only these descriptors, and gets no
    // signals of a terminal.
    static Result<Keeper> start(std::vector<int> descriptors, std::function<Status()> begin,
                                std::function<bool()> end);
    Keeper(Keeper&& other) noexcept;
    Keeper& operator=(Keeper&&) = delete;
    ~Keeper() { end(); }

    pid_t pid() const { return pid_; }
    // Returns what `begin` has returned.
    Status begun();
    // Has it run `end`, and waits for that. Returns what that has returned: false if the process
    // was killed before.
    bool end();

  private:
    Keeper() = default;
    pid_t pid_ = -1;
    FileDescriptor asks_, answers_;
};

} // namespace djstap::injection
