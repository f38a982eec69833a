// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles the body of one probe or script function to LLVM IR.
#pragma once
#include "arch/arch.h"
#include "arch/codegen.h"
#include "codegen/needs.h"
#include "codegen/script_module.h"

#include <array>
#include <functional>
#include <map>

namespace djstap::codegen {

using arch::argument_registers;

// Which of the kernel's registers a handler has.
enum class KernelRegisters {
    Saved, // all, in ctx->regs
    Seen,  // those that a direct call sees (arch::is_seen_by_direct_call), from HitContext::reg
    Gone,  // none: the function that was called directly has returned
};

// How a body accesses the registers at the hit of its probe.
struct HitContext {
    // Returns the value of a register at the probed place. Null function: there are none (begin,
    // timers).
    std::function<llvm::Value*(PtReg)> reg;
    KernelRegisters kernel_registers = KernelRegisters::Saved;
    std::function<llvm::Value*()> return_value;
    // Returns the address of the value that the function is to return. Null function: it cannot be
    // changed.
    std::function<llvm::Value*()> return_value_address;
    // Returns the frame pointer at the function's entry. Null function: it is not known, or the
    // stack pointer (reg) is not that of the entry.
    std::function<llvm::Value*()> frame;
    // Returns the address of a register's saved value, whose changes take effect. Null function:
    // none.
    std::function<llvm::Value*(PtReg)> register_address;
    // The arguments on the stack are copies that a tracepoint or marker made for the handlers.
    bool copied_arguments = false;
    const AccessMap* accesses = nullptr; // of the variant, or of functions
    const DefinedMap* defined = nullptr;
    const std::vector<program::ExpressionPtr>* entry_values = nullptr; // of a return probe
    llvm::Value* saved = nullptr; // the location of those; null: it is in ctx->saved
    // Returns DJS_EVENT_PROBE's value for the site that was hit. Null function: that of ctx->site.
    std::function<llvm::Value*()> site_number;
    // The probed function of all sites; null: it depends on the site.
    const std::string* function = nullptr;
};

// Returns the words (8 bytes) that the entry values before `slot` take in ctx->saved.
uint32_t entry_words(const std::vector<program::ExpressionPtr>& values, size_t slot,
                     uint32_t string_bytes);

// A number (i64) or a string (address of NUL-terminated bytes), as an LLVM value.
using Value = llvm::Value*;

// Extends the low `size` bytes of a number.
Value narrow(const ScriptModule& script, llvm::IRBuilder<>& builder, Value wide, uint8_t size,
             bool is_signed);

// Where a handler that holds locks keeps a run-time error.
struct KeptError {
    llvm::BasicBlock* reported = nullptr; // where the body goes on after an error
    Value message = nullptr;
    Value place = nullptr;
    // of a read that failed, if the body has reads; its message is unread_message
    Value address = nullptr, size = nullptr;
};
inline constexpr const char* unread_message = "cannot read";

class Body {
  public:
    // `function` has its entry block; `builder` is positioned where the body begins. `ctx` is the
    // djs_ctx (null for bodies that need none) and `scratch` its string memory for this body.
    Body(ScriptModule& script, llvm::Function* function, llvm::IRBuilder<>& builder, Value ctx,
         Value scratch, const std::vector<program::Local>& locals, HitContext hit);

    // Emits statements. After that, the builder is in the block that every path out of the body
    // reaches.
    void emit_probe(const program::Probe& probe);
    void emit_function(const program::Function& function, const std::vector<Value>& arguments,
                       Value text_result);
    // Emits a probe's condition as a handler of its own: stores it in ctx->return_value, unchanged
    // after an error.
    void emit_condition(const program::Expression& expression);
    // Evaluates the entry values of a return probe and saves them.
    void emit_entry_values(const program::Probe& probe);

    // Without a context, an error ends the body. With locks, it is kept here until they are
    // released; else it is reported at once.
    void keep_errors(KeptError* error) { kept_error_ = error; }
    // The handler calls functions anyway, and has saved all registers.
    void has_calls(bool calls) { has_calls_ = calls; }

    // Sets the contexts in which the body runs; default: `others`.
    void runs_in(const RunContexts& contexts) { run_contexts_ = contexts; }

    uint32_t scratch_used() const { return scratch_peak_; }
    const std::vector<ScratchCall>& calls() const { return calls_; }
    // Returns its stack allocations.
    const std::vector<llvm::AllocaInst*>& slots() const { return slots_; }

  private:
    // statements.cpp
    void statement(const program::Statement& statement);
    void branch(const program::Statement& statement);
    void if_statement(const program::If& statement);
    void loop(const program::Loop& loop);
    void foreach (const program::Foreach& loop);
    void bind_element(const program::Foreach& loop, Value element);
    // Emits the loop's frame: `next` returns the value for an iteration, or jumps to its argument,
    // `done`; `bind` sets the loop's variables from the value.
    void iterate(const program::Foreach& loop,
                 const std::function<Value(llvm::BasicBlock* done)>& next,
                 const std::function<void(Value at)>& bind);
    void return_statement(const program::Return& statement);
    void delete_statement(const program::Delete& statement);
    void erase_slice(const program::Delete& statement, Value keys, uint32_t fixed);
    void try_catch(const program::TryCatch& statement);
    void charge_action(SourceRange range, bool now = false);
    void settle_actions(SourceRange range);
    void check_actions(Value charged, SourceRange range);
    bool settles_at_end(const program::Function& function) const;

    // expressions.cpp
    Value number(const program::Expression& expression); // i64
    Value
    text(const program::Expression& expression); // pointer, valid until the end of the statement
    // Like text(), but may return a local variable's own storage: allowed if nothing in `others`
    // assigns to it before it is used.
    Value text_in_place(const program::Expression& expression,
                        const std::vector<program::Expression*>& others);
    void text_into(Value to, const program::Expression& expression);
    Value length_of(Value text);
    void copy_known(Value to, Value from, Value length);
    void set_text(uint32_t local, const program::Assignment& assignment);
    void find_constant_texts(const program::Probe& probe);
    void concatenate(Value out, Value left, Value right, Value to);
    static std::vector<program::Expression*>
    behind(const std::vector<program::ExpressionPtr>& arguments, size_t number);
    Value condition(const program::Expression& expression); // i1
    void effect(const program::Expression& expression);     // value unused
    void check_divisor(ast::BinaryOp op, Value divisor, SourceRange op_range);
    Value arithmetic(ast::BinaryOp op, Value left, Value right);
    Value comparison(const program::Comparison& comparison);
    Value logical(const program::Logical& logical);
    // Calls `use` for the code of each alternative of ?:, and continues behind both.
    using UseValue = std::function<void(const program::Expression&)>;
    void choose(const program::Conditional& conditional, const UseValue& use);
    Value conditional(const program::Conditional& conditional, bool keeps_branch = false);
    bool feeds_its_condition(const program::Assignment& assignment) const;
    // Stores a text in `to` if that is possible, and not null; else elsewhere.
    Value call(const program::Call& call, Value to = nullptr);
    std::vector<Value> values_of(const std::vector<program::ExpressionPtr>& arguments);
    Value clock(const program::Function& function);
    Value call_body(const program::Function& function, std::vector<Value> arguments);
    Value call_intrinsic(const program::Function& function, const std::vector<Value>& arguments,
                         Value out, SourceRange range);
    Value embedded_call(const program::Call& call);
    Value assignment(const program::Assignment& assignment);
    Value increment(const program::Increment& increment);

    // embedded.cpp
    Value call_c_code(const std::string& name, Value out, llvm::Type* result,
                      const std::vector<program::EmbeddedParameter>& parameters, SourceRange range);
    Value embedded_expression(const program::EmbeddedC& node);
    void embedded_statement(const program::EmbeddedStatement& node);
    enum class Caller { Continues, Ended }; // of an overload, by `next`
    Value call_embedded(const program::Function& function, const std::vector<Value>& arguments,
                        Value out, SourceRange range, Caller caller);
    Value after_next(const program::Function& function, const std::vector<Value>& arguments,
                     Value out, Value result, SourceRange range, Caller caller);
    Value call_overload(const program::Function& function, const std::vector<Value>& arguments,
                        Value out, SourceRange range, Caller caller);
    void check_error_at(SourceRange range);
    void check_call(const program::Function& function, SourceRange range);

    // stacks.cpp
    Value stack(const program::Expression& expression);
    void stack_into(Value to, const program::Expression& expression);
    void take_stack(Value to, bool of_program);
    Value assign_stack(const program::Assignment& assignment);
    void stack_text_into(Value out, const program::Expression& stack);
    void print_backtrace(bool of_program, bool lines);

    // histograms.cpp
    void foreach_bucket(const program::Foreach& loop);

    // registers.cpp
    Value register_value(const program::Register& node);

    // regex.cpp
    Value regex_match(const program::RegexMatch& match); // i1
    void forget_match();

    // globals.cpp
    void add_to_counter(const program::GlobalValue& place, Value delta);
    Value read_global(const program::GlobalValue& value);
    void write_global(const program::GlobalValue& place, Value value);
    // Reads, changes and writes one place, looking up an array's element once. Returns {old, new}.
    std::pair<Value, Value> update_global(const program::GlobalValue& place,
                                          const std::function<Value(Value)>& change);
    Value aggregate(const program::Aggregation& aggregation);
    void add_to_statistic(const program::Global& global, Value value);
    void record(const program::Global& statistic, Value value);
    Value read_statistic(const program::StatisticRead& read);
    // of a djs_statistic; null value if absent
    Value statistic_address(const program::GlobalValue& place);
    Value membership(const program::Membership& membership);
    llvm::ConstantInt* array_place(const program::Global& array, SourceRange range);
    Value keys(const program::Global& array, const std::vector<program::ExpressionPtr>& keys,
               uint32_t* fixed, bool stay = false);

    // padded_keys.cpp
    struct PaddedText {
        Value address = nullptr;
        std::vector<Value> words;
        bool is_literal = false; // it has all its words; else each only if the one before needs it
        bool is_stored = true;   // at its address
    };
    bool is_padded(const program::Expression& node) const;
    PaddedText padded_text(const program::Expression& node);
    void store_words(PaddedText& text);
    bool has_padded_keys(const program::Global& array,
                         const std::vector<program::ExpressionPtr>& keys) const;
    Value find_padded(const program::GlobalValue& place, bool insert, llvm::BasicBlock* absent);
    Value first_in_bucket(const program::Global& array, const std::vector<PaddedText>& keys,
                          Value the_map, llvm::BasicBlock* search);

    // globals.cpp
    Value map(const program::Global& array);
    Value find_element(const program::GlobalValue& place, bool insert);
    static bool has_slots(const program::Global& array);
    Value find_slot(const program::Global& array, Value key, bool insert, llvm::BasicBlock* absent);
    Value element_or(const program::GlobalValue& place, bool insert, llvm::BasicBlock* absent);
    Value make_element(const program::GlobalValue& place);

    // prints.cpp
    Value print(const program::Print& print, Value to = nullptr); // as call()
    bool is_own_name(const program::Expression& node) const;
    Value print_lean(const program::Print& print);
    struct Argument {
        char type;              // l, s, n, k, h; B, L, N, D
        Value value = nullptr;  // number, address of a string, a name, words or a djs_statistic
        Value length = nullptr; // of a string, or of the words of a stack and of symbols
        const GlobalStorage* storage = nullptr;
        uint32_t histogram_bytes = 0;
        uint32_t room = 0; // of a string; 0: as much as one of the script has
    };
    Argument symbols_argument(const program::Expression& node); // stacks.cpp
    Argument memory_argument(const program::FormatPiece& piece, Value address, AddressSpace space,
                             Value precision, SourceRange range);
    AddressSpace space_of(program::Expression& address);
    bool check_record(uint64_t bytes, SourceRange range);
    // The fields of the event, which precede a record's arguments.
    struct EventFields {
        Value pid = nullptr, tid = nullptr, site = nullptr; // i64; null: not recorded
    };
    Value task_number(const std::string& intrinsic);
    EventFields task_fields();
    Value hit_site();
    void store_fields(const EventFields& fields, Value record);
    void read_memory(const program::Print& print, std::vector<Argument>& arguments);
    Value store_arguments(const std::vector<Argument>& arguments, Value at);
    Value store_name(Value name, Value at);
    void text_format(const std::vector<program::FormatPiece>& pieces,
                     const std::vector<Argument>& arguments, Value out, uint32_t room = 0);
    Format make_format(const std::vector<program::FormatPiece>& pieces,
                       const std::vector<Argument>& arguments) const;

    // reads.cpp
    struct NumberRead {
        uint8_t size = 8; // 1, 2, 4 or 8
        bool is_signed = false;
        AddressSpace space = AddressSpace::Kernel;
        Value place = nullptr; // i32: index of djs_script.places
    };
    Value read(Value base, int64_t offset, const NumberRead& what);
    Value read_process(Value address, const NumberRead& what);
    arch::ProcessMemory process_memory(llvm::BasicBlock* elsewhere);
    std::vector<Value> process_words(const program::Call& call);
    void read_words_elsewhere(const program::Call& call, Value address, Value words,
                              uint32_t bytes);
    Value attempted(const program::Call& call, const Attempt& attempt);
    Value parent_process();
    struct Address {
        Value base;
        int64_t offset;
    };
    Value sum_of(Address at);
    Value read_elsewhere(Address at, const NumberRead& what, llvm::BasicBlock* unread);
    void fail_read(Address at, const NumberRead& what);

    // target_values.cpp
    Value target_value(const program::TargetValue& value);
    Value place_operand(const program::Expression& node);
    std::pair<Value, Value> change_target(const program::TargetValue& place,
                                          const std::function<Value(Value)>& change);
    Value target_text(const TargetAccess& access, SourceRange range);
    // Parts of it.
    Argument plain_part(const program::FormatPiece& piece, const Access& how, SourceRange range);
    Argument shown_value(const TargetAccess& how, TargetAccess::Shown pieces, size_t part,
                         SourceRange range);
    Argument text_part(const program::FormatPiece& piece, const Access& how, SourceRange range);
    void forget_error();
    Value access(const Access& access, SourceRange range);
    Value per_cpu_address(const Access& how, SourceRange range);
    Value image_address(uint32_t image, uint64_t address, SourceRange range);
    Value computed(const Access& access, SourceRange range);
    Value with_bits(Value word, const AccessStep& bits, Value value);
    void write_target(const program::TargetValue& place, Value value);
    const TargetAccess* find_access(const program::Expression& value);

    // body.cpp
    llvm::BasicBlock* block(const char* name);
    llvm::AllocaInst* entry_alloca(llvm::Type* type, const char* name);
    // Returns memory for the keys of an access, which is filled when all of them are evaluated and
    // read by the next call: all accesses of a body share it.
    llvm::AllocaInst* key_area(size_t count);
    Value scratch(uint32_t bytes); // for the duration of the statement
    Value scratch_text() { return scratch(script_.string_bytes()); }
    Value scratch_stack() { return scratch(script_.stack_bytes()); }
    Value field(size_t offset, const char* name); // address of a field of ctx
    Value load_field(size_t offset, llvm::Type* type, const char* name);
    void fail(const std::string& message, SourceRange range); // ends the block
    void fail_if_empty(Value at, SourceRange range);
    void fail_if(Value condition, const std::string& message, SourceRange range);
    void check_error(); // after a call that may have set ctx->error
    void copy_text(Value to, Value from);
    uint64_t short_literal(Value text) const;
    void copy_bytes(Value to, Value from, uint64_t bytes);
    void branch_unlikely(Value condition, llvm::BasicBlock* unlikely, llvm::BasicBlock* likely);
    bool terminated() const { return builder_.GetInsertBlock()->getTerminator() != nullptr; }
    void begin(llvm::BasicBlock* block);
    void jump(llvm::BasicBlock* next);
    void next_overload(const program::Function& function, const std::vector<Value>& arguments);
    Value entry_slot(uint32_t slot); // address of an entry value
    void make_locals(const std::vector<program::Local>& locals);

    struct LoopExits {
        llvm::BasicBlock* on_break;
        llvm::BasicBlock* on_continue;
    };

    ScriptModule& script_;
    llvm::Function* function_;
    llvm::IRBuilder<>& builder_;
    Value ctx_;
    Value scratch_base_;
    KeptError* kept_error_ = nullptr;
    bool has_calls_ = false;
    llvm::BasicBlock* refused_ = nullptr; // where read_elsewhere found a fault
    llvm::BasicBlock* unread_ = nullptr;  // where a failed read goes on; null: it is an error
    HitContext hit_;
    std::vector<Value> locals_; // alloca i64, or address of a string or a stack
    const std::vector<program::Local>& local_declarations_;
    // For each local variable: the literal that it always is; null: none
    std::vector<const program::Expression*> constant_texts_;
    llvm::BasicBlock* exit_ = nullptr;  // the end of the body
    llvm::BasicBlock* error_ = nullptr; // the destination of a run-time error: a catch, or the end
    llvm::BasicBlock* outermost_error_ = nullptr; // that destination outside of every try
    llvm::BasicBlock* next_ = nullptr;            // next
    std::vector<LoopExits> loops_;
    llvm::AllocaInst* number_result_ = nullptr;
    Value text_result_ = nullptr;
    RunContexts run_contexts_{false, false, true};
    bool counts_actions_ = false;
    int64_t pending_actions_ = 0;
    llvm::AllocaInst* charged_ = nullptr; // of a function that settles its charges at its end
    uint32_t scratch_top_ = 0, scratch_peak_ = 0;
    std::vector<ScratchCall> calls_;
    // The operands of the place that is being changed, evaluated.
    std::map<const program::Expression*, Value>* evaluated_ = nullptr;
    std::vector<llvm::AllocaInst*> slots_;
    std::map<size_t, llvm::AllocaInst*> key_areas_; // by the number of keys
    std::vector<llvm::Function*> comparisons_;

  public:
    // Loops and recursion require MAXACTION to be counted; straight-line code is bounded by its
    // length.
    void count_actions(bool on) { counts_actions_ = on; }
    // Called at the beginning of a probe's handler: sets the limits of its work.
    void begin_run(const program::Effects& effects);
    // Compares, at its end, conditions that the probe may have changed.
    void compare_conditions(const program::Probe& probe);
};

} // namespace djstap::codegen
