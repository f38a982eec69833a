// SPDX-License-Identifier: GPL-2.0-or-later
// The LLVM module of one script during its construction: shared tables, globals, runtime functions.
#pragma once
#include "codegen/abi.h"
#include "codegen/codegen.h"
#include "codegen/contexts.h"
#include "codegen/embedded.h"
#include "codegen/images.h"
#include "codegen/regex.h"
#include "include/record.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace djstap::codegen {

// Returns the message for an array without room for a further element.
std::string array_overflow(const program::Global& array);
// The message of a `next` in the last overload.
inline constexpr const char* overloads_exhausted = "all functions exhausted";

// The storage of a global in the module.
struct GlobalStorage {
    enum class Kind : uint8_t {
        Constant,
        Counter,
        PerCpuStatistic,
        Number,
        Text,
        Statistic,
        Map
    } kind = Kind::Number;
    uint32_t index = 0; // of the counter, the per-CPU statistic or the map
    // Number, Text, Statistic: itself; Map, PerCpuStatistic: the pointer to it.
    llvm::GlobalVariable* variable = nullptr;
    llvm::GlobalVariable* shape = nullptr; // statistics: its djs_statistic_shape
    int lock = -1;                         // Locked globals: index of the lock
    bool inline_adds = false;              // PerCpuStatistic: <<< is inlined in the handler
};

// A call of a function.
struct ScratchCall {
    uint32_t scratch_begin; // of the callee's scratch memory in the caller's
    const program::Function* callee;
    bool counted; // towards MAXNESTING; `next` calls an overload without it, as it replaces its
                  // caller
};

// A compiled script function.
struct CompiledFunction {
    llvm::Function* function = nullptr;
    uint32_t own_scratch = 0; // the most bytes that it uses itself
    std::vector<ScratchCall> calls;
    std::string name;   // in the object
    uint64_t frame = 0; // bytes of stack, known after compilation; none if it was inlined
};

// A format for the runtime and the reader.
struct Format {
    std::string text;  // with %-directives
    std::string types; // l, s, n, h: one letter per argument
    std::string shows; // a global that prints itself, or the one of a histogram; else empty
    uint32_t keys = 0; // of `shows`: number of the first arguments that are keys
    bool in_snapshot = false;
    bool operator<(const Format& other) const {
        return std::tie(text, types, shows, keys, in_snapshot) <
               std::tie(other.text, other.types, other.shows, other.keys, other.in_snapshot);
    }
};

struct CompiledHandler {
    llvm::Function* body = nullptr;
    llvm::Function* entry = nullptr;
    llvm::Function *tracepoint = nullptr, *by_regs = nullptr, *by_ftrace = nullptr;
    std::vector<std::pair<int, bool>> locks; // lock, for writing; sorted
    bool checks_state = false;
    std::vector<ScratchCall> calls; // of all forms
};

// The form of a handler for all mechanisms, and the functions that it calls.
struct CompiledBody {
    llvm::Function* function = nullptr;
    std::vector<ScratchCall> calls;
};

// A condition that arms and disarms sites.
struct Condition {
    const program::Probe* probe = nullptr;
    CompiledHandler handler;              // its body stores the condition in ctx->return_value
    llvm::Function* comparison = nullptr; // for handlers that write the condition's globals
};

struct CompiledTrampoline {
    llvm::Function* direct = nullptr;
    llvm::Constant* dispatch = nullptr; // null if it is not needed
    llvm::Constant* aim = nullptr;      // of the dispatch; null: not needed
    std::vector<ScratchCall> calls;     // of all its handlers
    std::vector<std::string> parts;     // functions that it calls for handlers
    bool by_address = false;            // it needs to know which of several functions was hit
};

// The table of handlers, in the object.
constexpr const char* handlers_table = "djs_script_handlers";

class ScriptModule {
  public:
    ScriptModule(llvm::LLVMContext& context, const program::Program& program, const ProbePlan& plan,
                 const CodegenKernel& kernel, const CodegenOptions& options,
                 Diagnostics& diagnostics);

    llvm::LLVMContext& context;
    llvm::Module module;
    AbiTypes types;
    const program::Program& program;
    const ProbePlan& plan;
    const CodegenKernel& kernel;
    const CodegenOptions& options;
    Diagnostics& diagnostics;
    // Variants whose handlers use so much stack that they get a context, which checks what is left,
    // and a function of their own that is entered after the check: found by compiling them without.
    std::set<uint32_t> heavy;
    // A script with many handlers, few of them in any trampoline: their code is made once, and
    // trampolines call it. By variant.
    bool makes_code_once = false;
    std::vector<CompiledBody> bodies;
    // Variants that need no context, but are longer than max_lean_instructions: they get one, too.
    std::set<uint32_t> lengthy;

    // Declares a runtime function (abi.cpp has the table) or an intrinsic's djs_fn_NAME.
    llvm::Function* runtime(std::string_view name);
    llvm::Function* intrinsic(const program::Function& function);
    // Sets the attributes that kernel code requires on a generated function; handler code is
    // protected from kprobes.
    void set_attributes(llvm::Function* function) const;
    llvm::Function* create_function(llvm::FunctionType* type, const std::string& name);

    // Returns a constant NUL-terminated string.
    llvm::Constant* text(std::string_view value);
    llvm::GlobalVariable* constant(llvm::Constant* value, const std::string& name);
    llvm::ConstantInt* number(int64_t value) const {
        return llvm::ConstantInt::getSigned(types.i64, value);
    }
    llvm::ConstantInt* u32(uint32_t value) const {
        return llvm::ConstantInt::get(types.i32, value);
    }
    llvm::Constant* null() const { return llvm::ConstantPointerNull::get(types.pointer); }

    const GlobalStorage& storage(const program::Global& global) const {
        return storage_.at(&global);
    }
    // Returns a counter's address in this CPU's memory.
    llvm::Constant* counter_address(uint32_t counter) const;
    llvm::GlobalVariable* statistic_shape(const program::StatisticNeeds& needs);
    llvm::Constant* statistic_shape_value(const program::StatisticNeeds& needs,
                                          bool inline_adds = false) const;

    uint32_t format(const Format& format);
    uint32_t place(const std::string& what, SourceRange range);
    uint32_t place(SourceRange range); // described by its first token
    bool can_abort() const;            // some function of the script is abort()
    // Allocates what a foreach needs in a body that runs in these contexts, one of several that it
    // may be compiled to; returns the variable that holds its address. `fixed`: keys of its slice.
    llvm::GlobalVariable* iterator(const program::Foreach& foreach, uint32_t fixed,
                                   const RunContexts& run_contexts);
    // The contexts of handlers and functions.
    Contexts contexts;

    // The tables of the script's regular expressions.
    const RegexTables& regex() const { return regex_; }
    // The script's embedded C code, as far as it is used.
    EmbeddedCode& embedded() { return embedded_; }

    // All conditions that arm sites, by number; and the number of a probe's condition, or no_index.
    std::vector<Condition> conditions;
    uint32_t condition_number(const program::Probe& probe) const;
    // Returns the variable that holds the value of a condition when its sites were last armed or
    // disarmed by it.
    llvm::Constant* condition_state(uint32_t condition);
    // Returns the variable with which a reader switches the probe off.
    llvm::Constant* switch_of(const program::Probe& probe);

    // Reports what semantics should have rejected: an error in djstap.
    void unexpected(SourceRange range, const std::string& what);

    // Returns an array's capacity in elements.
    uint32_t capacity(const program::Global& array) const {
        return static_cast<uint32_t>(array.size > 0 ? array.size : options.limits.MAXMAPENTRIES);
    }
    int64_t max_nesting() const {
        const int64_t given = options.limits.MAXNESTING;
        return given > 0 ? given : std::max<int64_t>(10, program.nesting);
    }
    // Size of a call stack as addresses: their number, and MAXBACKTRACE of them.
    uint32_t stack_words() const { return static_cast<uint32_t>(1 + options.limits.MAXBACKTRACE); }
    uint32_t stack_bytes() const { return stack_words() * sizeof(uint64_t); }
    uint32_t string_bytes() const { return static_cast<uint32_t>(options.limits.MAXSTRINGLEN); }

    // Emits the tables (tables.cpp): djs_script and everything it points to. Call it last, after
    // all handlers are compiled.
    void emit_tables(const std::vector<CompiledHandler>& handlers,
                     const std::vector<CompiledTrampoline>& trampolines, uint32_t scratch_bytes,
                     const std::string& meta);

    std::unordered_map<const program::Function*, CompiledFunction> functions;
    std::vector<std::pair<Format, uint32_t>> formats() const {
        return {formats_.begin(), formats_.end()};
    }
    const std::vector<std::string>& places() const { return places_; }
    uint32_t lock_count() const { return lock_count_; }
    // Returns the address of a lock, which the script's object contains (DJS_LOCK_BYTES).
    llvm::Constant* lock_address(uint32_t lock);
    // Returns whether some foreach sorts this array: sorting requires exclusive access.
    bool is_sorted(const program::Global& array) const;
    // Returns an address of the kernel as code refers to it: "memset+123". The kernel may have been
    // relocated as a whole.
    std::string kernel_address(uint64_t address) const;
    // Returns a link-time address of ProbePlan::images[image] as it is now; 0 while its module is
    // not loaded. `what` is at this address.
    llvm::Value* image_address(llvm::IRBuilder<>& builder, uint32_t image, uint64_t address,
                               std::string_view what);
    llvm::Constant* elsewhere = nullptr; // the value of djs_script.elsewhere
    // Returns a symbol that inline assembly of this module defines.
    llvm::Constant* code_symbol(const std::string& name);
    // Return elements of the tables that handlers refer to before the tables are emitted.
    llvm::Constant* handler_address(uint32_t variant);
    llvm::Constant* site_address(uint32_t site);

    // Returns whether the records of this script contain a field of events: DJS_EVENT_*.
    bool records(uint32_t field) const { return (options.event_fields & field) != 0; }
    // Returns the size of a record's header and fields.
    uint32_t bytes_before_arguments() const {
        return static_cast<uint32_t>(sizeof(djs_record)) +
               djs_event_field_bytes(options.event_fields);
    }
    // Returns the variant's only site; no_index if it has several.
    uint32_t only_site(uint32_t variant) const { return only_sites_[variant]; }
    // Returns the probed function of all sites of a variant; null if it depends on the site.
    const std::string* only_function(uint32_t variant) const { return only_functions_[variant]; }
    // Returns the value of DJS_EVENT_PROBE for a djs_site's address, which may be null.
    llvm::Value* site_number(llvm::IRBuilder<>& builder, llvm::Value* site) const;

    // Returns the number of the segment of ProbePlan::images[image] that contains an address;
    // `what` is at this address. Reports an error if none does.
    uint32_t segment_of(uint32_t image, uint64_t address, std::string_view what);

  private:
    void place_globals();
    llvm::Constant* handler_entry(const CompiledHandler& handler, uint32_t kind, uint32_t flags,
                                  const Variant* variant, const std::string& written);
    llvm::Constant* lock_table(const CompiledHandler& handler);
    void fill_handlers(const std::vector<CompiledHandler>& handlers);
    // Returns the texts of the sites.
    llvm::Constant* fill_sites(uint32_t& text_bytes);
    llvm::Constant* image_table(uint32_t& count);
    llvm::Constant* segment_table(uint32_t& count);
    llvm::Constant* array(llvm::Type* type, const std::vector<llvm::Constant*>& elements,
                          const std::string& name);
    llvm::Constant* map_shape(const program::Global& global) const;

    ImageTable images_;
    RegexTables regex_;
    EmbeddedCode embedded_;
    std::map<std::string, llvm::Constant*, std::less<>> texts_;
    std::unordered_map<const program::Global*, GlobalStorage> storage_;
    std::map<Format, uint32_t> formats_;
    std::map<std::string, uint32_t> place_numbers_;
    std::vector<std::string> places_;
    std::vector<const program::Global*> maps_, percpu_statistics_;
    struct Iterator {
        llvm::Constant* order;
        llvm::GlobalVariable* variable;
        uint32_t map;
        uint32_t room, task_room; // 0: it does not sort
        bool in_task;
    };
    std::vector<Iterator> iterators_;
    std::unordered_map<const program::Foreach*, size_t> iterator_numbers_;
    std::map<std::string, llvm::GlobalVariable*> shapes_;
    llvm::GlobalVariable *handlers_ = nullptr, *sites_ = nullptr, *condition_states_ = nullptr,
                         *switches_ = nullptr;
    llvm::GlobalVariable* counters_ = nullptr;
    std::vector<uint32_t> only_sites_; // by variant
    std::vector<const std::string*> only_functions_;
    uint32_t counter_count_ = 0;
    llvm::GlobalVariable* lock_memory();

    uint32_t lock_count_ = 0;
    llvm::GlobalVariable* locks_ = nullptr;
};

} // namespace djstap::codegen
