// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel as djstap knows it: an image with a release, a configuration and modules.
#pragma once
#include "diagnostics/result.h"
#include "image/image.h"
#include "image/kernel_files.h"

#include <memory>

namespace djstap {

// Cheap to open: files are mapped, and tables are cached per build-id.
class Kernel : public Image {
  public:
    // Fails when neither vmlinux nor kallsyms can be read. `progress` (may be null) is told of long
    // steps.
    static Result<std::unique_ptr<Kernel>> open(KernelFiles files,
                                                void (*progress)(const std::string&) = nullptr);

    virtual const KernelFiles& files() const = 0;
    const std::string& release() const { return files().release; }
    // The utsname version ("#1 SMP PREEMPT_DYNAMIC Debian …"): what a module compares at load.
    virtual const std::string& version() const = 0;
    // Value of CONFIG_name ("y", "m", a string without quotes), empty where unset.
    virtual std::string config(std::string_view name) const = 0;
    virtual bool has_ibt() const = 0; // indirect branches must meet a landing pad
};

} // namespace djstap
