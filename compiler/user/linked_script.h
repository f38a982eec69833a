// SPDX-License-Identifier: GPL-2.0-or-later
// A script's object, linked into this process.
#pragma once
#include "diagnostics/result.h"

#include <memory>
#include <string>

struct djs_script;

namespace djstap {

class LinkedScript {
  public:
    // Links an ELF object that was compiled for user space (CodegenKernel::user_space) with the
    // runtime, which djs_user_init() has given its memory. Fails when the object refers to
    // something that user space has none of.
    static Result<LinkedScript> link(const std::string& object);
    LinkedScript(LinkedScript&&) noexcept;
    ~LinkedScript(); // its code and data go

    // The object's tables (runtime/include/script.h), at the addresses where they lie now.
    const djs_script& script() const { return *script_; }

  private:
    struct Memory;
    LinkedScript(std::unique_ptr<Memory> memory, const djs_script* script);
    std::unique_ptr<Memory> memory_;
    const djs_script* script_;
};

} // namespace djstap
