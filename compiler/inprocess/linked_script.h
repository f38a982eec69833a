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
    // runtime, whose memory djs_user_init() has allocated. Fails if the object refers to a symbol
    // that user space lacks.
    static Result<LinkedScript> link(const std::string& object);
    LinkedScript(LinkedScript&&) noexcept;
    ~LinkedScript(); // frees its code and data

    // The object's tables (runtime/include/script.h), at their linked addresses.
    const djs_script& script() const { return *script_; }
    // Returns the address of a symbol that the object exports; null: there is none.
    void* symbol(const std::string& name) const;

  private:
    struct Memory;
    LinkedScript(std::unique_ptr<Memory> memory, const djs_script* script);
    std::unique_ptr<Memory> memory_;
    const djs_script* script_;
};

} // namespace djstap
