// SPDX-License-Identifier: GPL-2.0-or-later
// The script's regular expressions as constants of its module.
#pragma once
#include "codegen/abi.h"
#include "diagnostics/diagnostic.h"
#include "semantics/program.h"

#include <llvm/IR/Module.h>

#include <map>
#include <string>

namespace djstap::codegen {

class RegexTables {
  public:
    // Compiles every pattern of the program; with groups if it uses them (matched()).
    RegexTables(llvm::Module& module, const AbiTypes& types, const program::Program& program,
                Diagnostics& diagnostics);

    // Returns the struct djs_regex of a pattern.
    llvm::Constant* table(const std::string& pattern) const { return tables_.at(pattern); }
    bool keeps_matches() const { return keeps_matches_; }
    // Returns the bytes at the start of a handler's scratch memory that hold its last match.
    uint32_t match_bytes(uint32_t string_bytes) const;

  private:
    void compile(const program::RegexMatch& match, Diagnostics& diagnostics);
    llvm::Constant* bytes(llvm::Constant* data);

    llvm::Module& module_;
    const AbiTypes& types_;
    bool keeps_matches_ = false;
    uint32_t max_steps_ = 0;
    std::map<std::string, llvm::Constant*> tables_;
};

} // namespace djstap::codegen
