// SPDX-License-Identifier: GPL-2.0-or-later
// Debug information without DWARF: BTF for types and prototypes, the calling convention for
// locations.
#pragma once
#include "debuginfo/btf.h"
#include "debuginfo/syscalls.h"
#include "debuginfo/without_dwarf.h"
#include "image/kernel.h"

namespace djstap {

class BtfInfo final : public WithoutDwarf {
  public:
    // Reads vmlinux's .BTF, else the file of raw BTF, and that of a module, which extends it. Fails
    // if the kernel has none.
    static Result<std::unique_ptr<DebugInfo>> open(const Image& image);

    std::string_view source() const override { return "BTF"; }
    std::vector<FunctionInfo> functions(const FunctionPattern& pattern,
                                        bool details) const override;
    void add_details(FunctionInfo& function) const override;
    std::vector<std::string> similar_functions(std::string_view name) const override;
    Result<StatementResult> statements(const FunctionPattern& pattern, bool nearest) const override;
    Result<StatementAddress> statement_at(uint64_t) const override {
        return Failure{"the addresses of statements are known only from debug symbols", ""};
    }
    std::vector<Variable> variables_at(uint64_t address) const override;
    std::optional<Variable> global(std::string_view name) const override;
    CType resolve(TypeId type) const override { return btf_.resolve(type); }
    std::string type_name(TypeId type) const override;
    std::vector<CMember> members(TypeId type) const override { return btf_.members(type); }
    std::optional<CMember> member(TypeId type, std::string_view name) const override;
    std::vector<CEnumerator> enumerators(TypeId type) const override {
        return btf_.enumerators(type);
    }
    std::optional<int64_t> enumerator(std::string_view name) const override {
        return btf_.enumerator(name);
    }
    std::vector<std::string> similar_enumerators(std::string_view name) const override;
    std::vector<std::string> similar_types(std::string_view name) const override;
    std::optional<TypeId> type_by_name(std::string_view name) const override {
        return btf_.by_name(name);
    }

  private:
    BtfInfo(const Image& image, std::unique_ptr<std::string> bytes, std::unique_ptr<Btf> base,
            Btf btf)
        : WithoutDwarf(image), bytes_(std::move(bytes)), base_(std::move(base)),
          btf_(std::move(btf)), syscall_formats_(image.kernel().files().syscall_formats) {}
    FunctionInfo function_info(const Symbol& symbol) const;
    void add_syscall_details(FunctionInfo& function) const;

    std::unique_ptr<std::string> bytes_; // if they are not vmlinux's
    std::unique_ptr<Btf> base_;          // the kernel's, for a module
    Btf btf_;
    SyscallFormats syscall_formats_;
};

} // namespace djstap
