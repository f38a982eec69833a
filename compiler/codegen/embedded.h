// SPDX-License-Identifier: GPL-2.0-or-later
// A script's embedded C code, as one source for the kernel's compiler.
#pragma once
#include "semantics/program.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace djstap {
class SourceManager;
}

namespace djstap::codegen {

class EmbeddedCode {
  public:
    EmbeddedCode(const program::Program& program, const SourceManager& sources,
                 uint32_t string_bytes)
        : program_(program), sources_(sources), string_bytes_(string_bytes) {}

    // Each returns the name of the C function that contains it: see body.
    //   function: RESULT name(ctx, [char *out,] arguments), like an intrinsic
    //   expression: s64 name(ctx, parameters), or void name(ctx, char *out, parameters)
    //   statement: void name(ctx, parameters)
    std::string function(const program::Function& function);
    std::string expression(const program::EmbeddedC& node);
    std::string statement(const program::EmbeddedStatement& node);

    // Returns the whole source; empty if nothing of it is used.
    std::string source() const;
    // Returns whether it uses CONTEXT, or a function that does, for which the runtime has to
    // allocate memory.
    bool uses_context() const;

    // The functions with which C code reads and writes a global; empty names: unused.
    //   get: s64 or const char * name(ctx, keys…); set: void name(ctx, keys…, value)
    struct Accessors {
        std::string get, set;
        SourceRange range; // of the first code that uses one
    };
    const std::vector<std::pair<const program::Global*, Accessors>>& accessors() const {
        return accessors_;
    }

  private:
    std::string line(SourceRange range) const; // #line
    // Returns the macros that code needs for its globals; `undo` gets the code that undefines them.
    std::string macros(const std::vector<program::EmbeddedGlobal>& globals, std::string& undo);
    std::string add(const std::string& head, const std::string& before, const std::string& code,
                    const std::string& after, SourceRange range);

    const program::Program& program_;
    const SourceManager& sources_;
    uint32_t string_bytes_;
    std::string text_;
    std::set<uint32_t> files_; // whose top-level blocks are needed
    std::unordered_map<const void*, std::string> names_;
    std::vector<std::pair<const program::Global*, Accessors>> accessors_; // in order of use
};

} // namespace djstap::codegen
