// SPDX-License-Identifier: GPL-2.0-or-later
// program + sites → LLVM IR → object: everything a script's module has of its own.
#pragma once
#include "arch/mitigations.h"
#include "diagnostics/diagnostic.h"
#include "probes/plan.h"
#include "semantics/program.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace djstap {

// A sanitizer of the kernel's: KASAN, KCSAN.
enum class Sanitizer : uint8_t { None, Address, Thread };

// Limits of the language, set by -D NAME=VALUE.
struct Limits {
    int64_t MAXACTION = 1000;
    int64_t MAXACTION_INTERRUPTIBLE = 10000; // begin, end, error: ten times MAXACTION, unless set
    int64_t MAXMAPENTRIES = 2048;
    int64_t MAXSTRINGLEN = 512; // with the terminator
    int64_t MAXERRORS = 0;
    int64_t MAXSKIPPED = 100;
    int64_t MAXTRYLOCK = 1000;
    int64_t MAXNESTING = 0; // 0: as deep as the program's calls go, but 10
    int64_t MAXBACKTRACE = 20;
    int64_t MINSTACKSPACE = 1024;    // bytes of stack that a handler must leave
    int64_t KRETACTIVE = 0;          // 0: the runtime's default
    int64_t MAXKPROBES = 1000;       // of one pattern for functions
    int64_t MAXSPECULATIONS = 65536; // texts of speculate() that a reader keeps
    int64_t RING_KB = 1024;          // per CPU (-s)
    // A probe whose handlers run for THRESHOLD of INTERVAL nanoseconds on a CPU is taken out.
    int64_t STP_OVERLOAD_INTERVAL = 1000000000;
    int64_t STP_OVERLOAD_THRESHOLD = 900000000;
    int64_t STP_NO_OVERLOAD = 0; // 1: none is
    // Sets one by name; false where there is no such limit or the value is out of its range.
    bool set(std::string_view name, int64_t value);
    static std::vector<std::string> names();
    // "1 to 100": what `name`, which is one of names(), may be set to.
    static std::string range(std::string_view name);
};

// The kernel a script is compiled for, as far as instructions and structures depend on it.
struct CodegenKernel {
    std::string release, version;
    ProbedImage image;
    uint64_t direct_table = 0; // link-time address of the table of direct calls; 0: not known
    uint64_t irq_stack = 0;    // … of the per-CPU variable hardirq_stack_ptr; 0: not known
    // A symbol that scripts may refer to, and its link-time address: other addresses of the kernel
    // are told by their distance from it.
    static constexpr const char* reference_symbol = "memset";
    uint64_t reference = 0;
    arch::Mitigations mitigations;
    int call_padding = 0;                  // CONFIG_FUNCTION_PADDING_BYTES: 16 or 0
    Sanitizer sanitizer = Sanitizer::None; // whose functions it offers to modules
    // No kernel at all: the object is linked into a process (compiler/user). It is
    // position-independent, and reaches the runtime through the table that its linker makes.
    bool user_space = false;
    // From the runtime kit: {symbol, value} under a name ("current_task", "task_struct.pid" …).
    std::function<std::optional<std::pair<std::string, int64_t>>(std::string_view)> offset;
};

struct CodegenOptions {
    Limits limits;
    // The longest record that a session of the script can keep, and what it is that bounds it.
    uint64_t longest_record = uint64_t{1} << 30;
    bool recorder = false; // for a flight recorder
    std::string module_name;
    int optimization = 2; // 0…2; lowered by itself for very many handlers
    bool explain = false; // fill CompiledObject::explanation
    bool dump_ir = false; // fill CompiledObject::ir
    std::string script_name;
    // Has the kernel's sanitizer check what the handlers access.
    bool sanitize = false;
    // A test's: plants a mistake in the code before it is optimized.
    std::function<void(llvm::Module&)> plant;
};

// A handler that needs neither a context nor a lock has no loop and calls nothing; and no form of
// it has more instructions. Overload protection leaves those alone (runtime/context/overload.c).
inline constexpr uint64_t most_lean_instructions = 512;

struct CompiledObject {
    std::string object; // ELF relocatable, for compiler/module
    std::string meta;   // JSON for readers; also inside the object (.djstap.meta)
    std::string ir;
    std::vector<std::string> explanation; // with CodegenOptions::explain: lines
    std::string c_source; // the script's own C code, which the object calls; empty: none
};

// Yields nothing after reporting at least one error (features that it does not handle yet
// included).
std::optional<CompiledObject> generate(const program::Program& program, const ProbePlan& plan,
                                       const CodegenKernel& kernel, const CodegenOptions& options,
                                       Diagnostics& diagnostics);

} // namespace djstap
