// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles program + sites to LLVM IR and an object: everything that is specific to a script's
// module.
#pragma once
#include "arch/mitigations.h"
#include "diagnostics/diagnostic.h"
#include "probes/plan.h"
#include "semantics/program.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace djstap {

// The kernel's sanitizer: KASAN, KCSAN.
enum class Sanitizer : uint8_t { None, Address, Thread };

// Limits of the language, set by -D NAME=VALUE.
struct Limits {
    int64_t MAXACTION = 1000;
    int64_t MAXACTION_INTERRUPTIBLE = 10000; // begin, end, error: ten times MAXACTION, unless set
    int64_t MAXMAPENTRIES = 2048;
    int64_t MAXSTRINGLEN = 512; // including the terminator
    int64_t MAXERRORS = 0;
    int64_t MAXSKIPPED = 100;
    int64_t MAXTRYLOCK = 1000;
    int64_t MAXNESTING = 0; // 0: the depth of the script's calls, plus 10 for recursive functions
    int64_t MAXBACKTRACE = 20;
    int64_t MAXSYMBOLS = 8192;    // addresses whose symbols are looked up only once
    int64_t MINSTACKSPACE = 2048; // bytes of stack that a handler must leave
    int64_t KRETACTIVE = 0; // instances of a kretprobe without .maxactive; 0: the runtime's default
    int64_t MAXKPROBES = 1000;        // for one pattern of functions
    int64_t MAXPERFTHREADS = 4096;    // that perf.….process attaches to at the same time
    int64_t STAP_CALLEE_MATCHALL = 0; // 1: callees are probed whoever calls them
    int64_t MAXSPECULATIONS = 65536;  // strings of speculate() that a reader keeps
    int64_t RING_KB = 1024;           // per CPU (-s)
    // A probe whose handlers run for THRESHOLD of INTERVAL nanoseconds on a CPU is disarmed.
    int64_t STP_OVERLOAD_INTERVAL = 1000000000;
    int64_t STP_OVERLOAD_THRESHOLD = 900000000;
    int64_t STP_NO_OVERLOAD = 0; // 1: probes are never disarmed
    // Sets a limit by name; returns false if there is no such limit or the value is out of its
    // range.
    bool set(std::string_view name, int64_t value);
    static std::vector<std::string> names();
    // Returns "1 to 100": the range of `name`, which is one of names().
    static std::string range(std::string_view name);
};

// The kernel that a script is compiled for, as far as code and structures depend on it.
struct CodegenKernel {
    std::string release, version;
    ProbedImage image;
    uint64_t direct_table = 0; // link-time address of the table of direct calls; 0: unknown
    uint64_t fast_clock = 0;   // … of tk_fast_mono; 0: unknown
    uint64_t irq_stack = 0;    // … of the per-CPU variable hardirq_stack_ptr; 0: unknown
    uint64_t loaded_mm = 0;    // … of the per-CPU variable cpu_tlbstate; 0: unknown
    uint64_t rethook = 0;      // … to which kretprobes have functions return; 0: unknown
    uint64_t graph_return = 0; // … to which the function_graph tracer does; 0: unknown
    // A symbol that scripts may refer to, and its link-time address: other addresses of the kernel
    // are expressed relative to it.
    static constexpr const char* reference_symbol = "memset";
    uint64_t reference = 0;
    arch::Mitigations mitigations;
    int call_padding = 0;                  // CONFIG_FUNCTION_PADDING_BYTES: 16 or 0
    Sanitizer sanitizer = Sanitizer::None; // whose functions it exports to modules
    // No kernel: the object is linked into a process (compiler/inprocess). It is
    // position-independent, and reaches the runtime through its linker's table.
    bool user_space = false;
    // With user_space: it is linked into a probed program (compiler/injection), next to the
    // runtime. Other handlers run at the same time, and trampolines are called by stubs that keep a
    // number of bytes on the stack.
    bool injected = false;
    int64_t stub_bytes = 0;
    // Looks up a name of the runtime kit ("current_task", "task_struct.pid" …): {symbol, value}.
    std::function<std::optional<std::pair<std::string, int64_t>>(std::string_view)> offset;
};

// Code generation treats scripts with many handlers and handlers with much code or stack in ways of
// their own. For tests: which of these it uses for every script and handler.
enum class HandlerForms : uint8_t {
    Chosen,   // by number and size
    Called,   // as with many handlers: the code is made once, and trampolines call it
    Context,  // as if they were too long to do without a context
    Separate, // as if they used much stack: with a context, and in functions of their own
};

struct CodegenOptions {
    Limits limits;
    // The longest record that a session of the script can keep, and what limits it.
    uint64_t longest_record = uint64_t{1} << 30;
    bool recorder = false; // for a flight recorder
    std::string module_name;
    int optimization = 2; // 0…2; lowered automatically for very many handlers
    bool explain = false; // fill CompiledObject::explanation
    bool dump_ir = false; // fill CompiledObject::ir
    std::string script_name;
    // Instruments the handlers for the kernel's sanitizer.
    bool sanitize = false;
    bool lines = false;        // readers show lines of the source code of programs
    uint32_t event_fields = 0; // DJS_EVENT_* (record.h): what records contain before the arguments
    HandlerForms forms = HandlerForms::Chosen;
    // For tests: inserts an error into the code before it is optimized.
    std::function<void(llvm::Module&)> plant;
};

// A handler that needs neither a context nor a lock has no loop and calls nothing; no form of it
// has more instructions than this. Overload protection ignores such handlers
// (runtime/context/overload.c).
inline constexpr uint64_t max_lean_instructions = 512;

struct CompiledObject {
    std::string object; // ELF relocatable, for compiler/module
    std::string meta;   // JSON for readers; also inside the object (.djstap.meta)
    std::string ir;
    std::vector<std::string> explanation; // with CodegenOptions::explain: lines
    std::string c_source; // the script's embedded C code, which the object calls; empty: none
};

// Returns nothing after reporting at least one error (including features that are not supported
// yet).
std::optional<CompiledObject> generate(const program::Program& program, const ProbePlan& plan,
                                       const CodegenKernel& kernel, const CodegenOptions& options,
                                       Diagnostics& diagnostics);

// Returns symbols of the runtime that the script's tables make it call: the operations of
// mechanisms, the storage of globals, stacks. The object need not refer to them.
std::set<std::string> symbols_for_tables(const program::Program& program, const ProbePlan& plan);

// Returns symbols of the runtime to which the object is likely to refer; nothing if embedded C code
// may refer to any. The object alone tells for certain.
std::optional<std::set<std::string>> symbols_for_calls(program::Program& program);

} // namespace djstap
