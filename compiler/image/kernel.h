// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel: an image with a release, a configuration and modules.
#pragma once
#include "diagnostics/result.h"
#include "image/image.h"
#include "image/kernel_files.h"

#include <memory>

namespace djstap {

// Opening is fast: files are mapped, and tables are cached by build-id. An opened kernel may be
// used by several threads.
class Kernel : public Image {
  public:
    // Fails if neither vmlinux nor kallsyms can be read. `progress` (may be null) is called for
    // long steps.
    static Result<std::unique_ptr<Kernel>> open(KernelFiles files,
                                                void (*progress)(const std::string&) = nullptr);

    virtual const KernelFiles& files() const = 0;
    const std::string& release() const { return files().release; }
    // The utsname version ("#1 SMP PREEMPT_DYNAMIC Debian …"), which a module compares when it is
    // loaded.
    virtual const std::string& version() const = 0;
    // Returns the value of CONFIG_name ("y", "m", a string without quotes); "" if it is not set.
    virtual std::string config(std::string_view name) const = 0;
    virtual bool has_ibt() const = 0; // indirect branches must target a landing pad
};

} // namespace djstap
