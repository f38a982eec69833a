// SPDX-License-Identifier: GPL-2.0-or-later
// Functions, parameters, types, locations and lines of a kernel: from DWARF through libdw (an index
// is built once per build-id and mapped), or from BTF and the calling convention if there is no
// DWARF.
#pragma once
#include "arch/location.h"
#include "diagnostics/result.h"
#include "image/image.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace djstap {

// ---- types --------------------------------------------------------------------------------------

enum class CTypeKind : uint8_t {
    Void,
    Integer,
    Bool,
    Char,
    Enum,
    Float,
    Pointer,
    Array,
    Struct,
    Union,
    Function,
    Unknown
};

// Identifies a type inside one DebugInfo; 0 is void. resolve() strips qualifiers and typedefs.
using TypeId = uint64_t;

struct CType {
    CTypeKind kind = CTypeKind::Unknown;
    std::string name;  // "unsigned int", "timespec64" (no "struct "); "" if anonymous
    uint64_t size = 0; // bytes; 0 if incomplete or unknown
    bool is_signed = false;
    TypeId base_type = 0; // pointee, element, return type
    uint64_t count = 0;   // elements of an array (0: flexible)
};

struct CMember {
    std::string name; // "" for an anonymous struct/union, whose members belong to the outer one
    TypeId type = 0;
    uint64_t offset = 0;     // bytes from the struct's beginning
    uint32_t bit_offset = 0; // from `offset`, least significant bit first; only if bit_size > 0
    uint32_t bit_size = 0;   // 0: not a bit-field
};

struct CEnumerator {
    std::string name;
    int64_t value = 0;
};

// ---- variables

struct Variable {
    std::string name;
    TypeId type = 0;
    Location location; // at the requested address
    bool is_parameter = false;
};

// ---- functions ----------------------------------------------------------------------------------

struct FunctionInfo {
    std::string name; // as in the source ("vfs_read")
    // The name in the symbol table ("vfs_read", "foo.isra.0", "__x64_sys_gettimeofday").
    std::string symbol;
    uint64_t entry = 0; // link-time address of the entry
    uint64_t size = 0;  // size of the symbol
    // The file of the declaration in DWARF, relative to the source tree ("fs/read_write.c").
    std::string file;
    uint32_t line = 0;
    // Resolved from sys_NAME to its wrapper: parameters come from a pt_regs.
    bool is_syscall = false;
    bool external = false;
    bool varargs = false;
    bool noreturn = false;
    std::optional<TypeId> return_type; // nothing: unknown; 0: void
    // With their locations at the entry. For a system call: name and type from its definition;
    // location.kind is Memory relative to the wrapper's first argument (offset = the offset in
    // pt_regs).
    std::vector<Variable> parameters;
    std::string parameters_hint; // if they are unknown: how to make them known
};

// One address for a source line, or for an offset from a function's entry.
struct StatementAddress {
    uint64_t address = 0;
    std::string function; // the concrete function (or its inlining caller) that covers it
    std::string symbol;
    uint64_t symbol_entry = 0;
    std::string file;
    uint32_t line = 0;
    bool is_stmt = true; // false: there was no is_stmt row, which should be reported
    bool inlined = false;
    uint64_t scope = 0; // from inlined(): for variables_of_inlined()
};

// A label in the source; `at` is its first instruction, with the label's file and line.
struct LabelAddress {
    std::string label;
    StatementAddress at;
};

// ---- calls --------------------------------------------------------------------------------------

// A part of an image's code, as linked.
struct CodeRange {
    uint64_t begin = 0, end = 0;
};

// The code whose calls are sought: a function, or one of its inline instances.
struct CallerScope {
    uint64_t entry = 0; // of the function; not needed for an inline instance
    uint64_t scope = 0; // as in StatementAddress; 0: the function
};

// One call in the source whose callee is known when it is compiled.
struct CallSite {
    enum class Kind : uint8_t {
        Call,
        Jump,   // the last thing that the caller does: its frame is gone
        Inlined // there is no call
    } kind = Kind::Call;
    FunctionInfo callee;      // Call, Jump: without details
    StatementAddress inlined; // Inlined
    // Call: what it pushes on the stack. Jump: the jump.
    uint64_t address = 0;
    // The memory at register + offset holds the caller's own return address: at the callee's entry
    // for a Call, else at the address. Nothing: unknown.
    std::optional<std::pair<PtReg, int64_t>> return_slot;
    // The frame pointer of the caller's own caller is stored that far from there; nothing: the
    // register still holds it.
    std::optional<int64_t> frame_pointer;
};
struct CallSites {
    std::vector<CodeRange> code; // of the caller
    std::vector<CallSite> sites;
};

// The parsed argument of kernel.function / kernel.statement: "func", "func@file", "func@file:line",
// "func@file+offset", "func@file:*", "*@file:a-b". func and file may contain wildcards.
struct FunctionPattern {
    std::string function;
    std::string file; // empty: any. Matches a whole path or its tail at a slash
    enum class LineKind : uint8_t {
        None,
        Absolute,
        Relative,
        All,
        Range
    } line_kind = LineKind::None;
    uint32_t line = 0; // absolute, or relative to the declaration
    uint32_t last_line = 0;
};
// Fails with a message that names the invalid part.
Result<FunctionPattern> parse_function_pattern(std::string_view text);

struct StatementResult {
    std::vector<StatementAddress> addresses;
    // if a line has no row: the nearest lines before and after that have one
    std::vector<uint32_t> nearest_lines;
};

// ---- the interface ------------------------------------------------------------------------------

class DebugInfo {
  public:
    // Opens what the image has: DWARF (found as image/debug_file.h describes; index built or mapped
    // from the cache), else BTF, where a module's extends its kernel's; a program without DWARF has
    // the functions in its symbol tables. `progress` (may be null) is
    // called for long steps, and if DWARF was found that cannot be used. Fails if there is neither.
    // `image` must outlive the object. DJSTAP_NO_DWARF=1 in the environment disables DWARF. An
    // object must be used by one thread only.
    static Result<std::unique_ptr<DebugInfo>> open(const Image& image,
                                                   void (*progress)(const std::string&) = nullptr);
    virtual ~DebugInfo() = default;

    // Returns the image that it describes.
    virtual const Image& image() const = 0;
    virtual bool has_dwarf() const = 0;
    // "DWARF" or "BTF": for messages.
    virtual std::string_view source() const = 0;
    // The file that contained the DWARF, as it was found; empty without DWARF.
    const std::string& origin() const { return origin_; }
    // Why other files with DWARF that were found are not used, each with its path.
    const std::vector<std::string>& refused() const { return refused_; }

    // Returns functions with code of their own whose name, symbol or system call name matches; one
    // entry per out-of-line instance (including clones, but no .cold parts), sorted by name, then
    // address.
    // If `details` is false, without details of parameters, so that listings and wide patterns are
    // fast.
    virtual std::vector<FunctionInfo> functions(const FunctionPattern& pattern,
                                                bool details) const = 0;
    // Sets return type and parameters of a function that was found without details.
    virtual void add_details(FunctionInfo& function) const = 0;
    // Returns names for hints ("did you mean"): all function names within an edit or two; fast.
    virtual std::vector<std::string> similar_functions(std::string_view name) const = 0;
    // The same for names of global variables.
    virtual std::vector<std::string> similar_variables(std::string_view name) const = 0;
    // Returns whether `name` exists only inlined: for messages.
    virtual bool only_inlined(std::string_view name) const = 0;

    // Returns where matching functions were inlined: the first instruction of each inline instance,
    // by address. `function`, `file` and `line` are those of the inlined function; the symbol is
    // that of the function that contains it. `wanted`, if it is set: of each function only the
    // first instance that it accepts, else the first. Nothing without DWARF.
    using PlaceFilter = std::function<bool(const StatementAddress&)>;
    virtual std::vector<StatementAddress> inlined(const FunctionPattern& pattern,
                                                  const PlaceFilter& wanted) const = 0;
    // Returns an upper bound of their number; fast.
    virtual size_t inlined_count(const FunctionPattern& pattern) const = 0;

    // Returns the addresses of the pattern's line(s). `nearest`: if the line has no row, uses the
    // nearest line that has one.
    virtual Result<StatementResult> statements(const FunctionPattern& pattern,
                                               bool nearest) const = 0;

    // Returns the statement that begins at an address; fails if no row of a line table does, and
    // names the nearest address before that has one.
    virtual Result<StatementAddress> statement_at(uint64_t address) const = 0;
    // Returns the innermost inline instance that contains an address, as inlined() does.
    virtual std::optional<StatementAddress> inlined_at(uint64_t address) const = 0;
    // Returns the labels of matching functions, and of their inline instances, whose names match
    // `label` and that the compiler kept, by address. Nothing without DWARF.
    virtual std::vector<LabelAddress> labels(const FunctionPattern& pattern,
                                             std::string_view label) const = 0;

    // Returns the calls in a function or an inline instance, but not those in what is inlined
    // there. Nothing without DWARF.
    virtual CallSites calls(const CallerScope& caller) const = 0;

    // Returns variables (parameters and locals) visible at an address, each with its location
    // there.
    virtual std::vector<Variable> variables_at(uint64_t address) const = 0;
    // Returns those of one inline instance, but not of functions around or inside it, at its first
    // instruction.
    virtual std::vector<Variable> variables_of_inlined(const StatementAddress& inlined) const = 0;
    // Returns a global variable of the kernel: "jiffies_64", or the one in a source file, with a
    // file pattern as for functions: "jiffies_64@kernel/time/timer.c".
    virtual std::optional<Variable> global(std::string_view name_and_file) const = 0;

    // Types. resolve() strips typedefs and qualifiers.
    virtual CType resolve(TypeId type) const = 0;
    virtual std::string type_name(TypeId type) const = 0; // in C syntax: "struct timeval *"
    virtual std::vector<CMember> members(TypeId struct_or_union) const = 0;
    // Finds a member, including those of anonymous members (whose offsets are added).
    virtual std::optional<CMember> member(TypeId struct_or_union, std::string_view name) const = 0;
    virtual std::vector<CEnumerator> enumerators(TypeId enumeration) const = 0;
    // Returns the value of an enumerator in any enumeration; the first one of several with that
    // name.
    virtual std::optional<int64_t> enumerator(std::string_view name) const = 0;
    // Returns names for hints, like similar_functions().
    virtual std::vector<std::string> similar_enumerators(std::string_view name) const = 0;
    // The same for names of types, without "struct" and the like.
    virtual std::vector<std::string> similar_types(std::string_view name) const = 0;
    // Finds "struct foo", "union foo", "enum foo", a typedef or a base type's name.
    virtual std::optional<TypeId> type_by_name(std::string_view name) const = 0;

  private:
    std::string origin_;
    std::vector<std::string> refused_;
};

std::string address_text(uint64_t address); // "0xffffffff81000000"

// Returns the path of the cached index for a build-id, for tests and --info.
std::string debuginfo_index_path(const std::string& build_id);

} // namespace djstap
