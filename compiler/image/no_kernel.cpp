// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/no_kernel.h"

#include "image/opened.h"

namespace djstap {

namespace {

class NoKernel final : public OpenedImage<Kernel> {
  public:
    NoKernel() { symbols_ = SymbolTable::hold(SymbolTable::serialize({})); }
    ImageKind kind() const override { return ImageKind::Kernel; }
    const std::string& name() const override { return name_; }
    std::string title() const override { return "the kernel"; }
    const Kernel& kernel() const override { return *this; }
    const std::string& file() const override { return nothing_; }
    const KernelFiles& files() const override { return files_; }
    const std::string& version() const override { return nothing_; }
    std::string config(std::string_view) const override { return {}; }
    bool has_ibt() const override { return false; }

  private:
    const std::string name_ = "kernel", nothing_;
    const KernelFiles files_;
};

} // namespace

const Kernel& no_kernel() {
    static const NoKernel none;
    return none;
}

} // namespace djstap
