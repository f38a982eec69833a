// SPDX-License-Identifier: GPL-2.0-or-later
// The memory of --runtime=user: the runtime's own, and a script's.
#pragma once
#include "userspace/userspace.h"

namespace djstap {

// The runtime's own memory: allocated before a script is linked, which refers to it. There can be
// one at a time.
class RuntimeMemory {
  public:
    RuntimeMemory() : error_(djs_user_init(1)) {}
    ~RuntimeMemory() { djs_user_exit(); }
    RuntimeMemory(const RuntimeMemory&) = delete;
    RuntimeMemory& operator=(const RuntimeMemory&) = delete;
    bool made() const { return error_ == 0; }

  private:
    int error_;
};

// What the runtime allocates for a script: freed before the script, because the script's tables
// refer to it.
class LoadedScript {
  public:
    LoadedScript(const djs_script& script, const djs_user_options& options)
        : error_(djs_user_load(&script, &options)) {}
    ~LoadedScript() {
        if (error_ == 0)
            djs_user_unload();
    }
    LoadedScript(const LoadedScript&) = delete;
    LoadedScript& operator=(const LoadedScript&) = delete;
    bool made() const { return error_ == 0; }

  private:
    int error_;
};

} // namespace djstap
