// SPDX-License-Identifier: GPL-2.0-or-later
// The typed program: the output of semantics/; probes/, codegen/ and the tests' interpreter read
// it. Every name is resolved, every type is known, every format is checked. Only what depends on a
// kernel (probe points, target variables) remains to be resolved, by probes/.
#pragma once
#include "ast/ast.h"
#include "diagnostics/source.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djstap::program {

// Stack: a call stack as addresses, where they stand for the string that backtrace() yields
// (semantics/stacks.cpp). A key, a local variable, or a value that is printed.
enum class Type : uint8_t { Void, Long, String, Statistic, Stack };

enum class ExpressionKind : uint8_t {
#define EXPRESSION(Kind) Kind,
#include "semantics/nodes.def"
};
enum class StatementKind : uint8_t {
#define STATEMENT(Kind) Kind,
#include "semantics/nodes.def"
};

struct Expression {
    const ExpressionKind kind;
    Type type = Type::Long;
    SourceRange range;
    explicit Expression(ExpressionKind k) : kind(k) {}
    virtual ~Expression() = default;
};
struct Statement {
    const StatementKind kind;
    SourceRange range;
    explicit Statement(StatementKind k) : kind(k) {}
    virtual ~Statement() = default;
};
using ExpressionPtr = std::unique_ptr<Expression>;
using StatementPtr = std::unique_ptr<Statement>;
template <ExpressionKind K> struct ExpressionOf : Expression {
    static constexpr ExpressionKind static_kind = K;
    ExpressionOf() : Expression(K) {}
};
template <StatementKind K> struct StatementOf : Statement {
    static constexpr StatementKind static_kind = K;
    StatementOf() : Statement(K) {}
};
template <class T, class N> T& as(N& node) {
    return static_cast<T&>(node);
}
template <class T, class N> const T& as(const N& node) {
    return static_cast<const T&>(node);
}

// ---- declarations -------------------------------------------------------------------------------

// What the program ever reads of a statistic: only that is computed.
struct StatisticNeeds {
    bool min = false, max = false, sum = false, variance = false; // count is always kept
    int variance_shift = 0;
    enum class Histogram : uint8_t { None, Log, Linear } histogram = Histogram::None;
    int64_t low = 0, high = 0, width = 1; // Linear: buckets low…high in steps of width
    bool deleted = false;                 // something clears the statistic
    // Linear: how many there are, with those for values below and above. Bounds may be further
    // apart than a signed number tells.
    uint32_t linear_buckets() const {
        const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
        return static_cast<uint32_t>(span / static_cast<uint64_t>(width) + 3);
    }
};

// The storage of a global (semantics/storage.cpp chooses it from every use in the program).
enum class Storage : uint8_t {
    // A scalar long or statistic whose every write is a lone ++ -- += -= <<<, and which neither a
    // probe's condition reads nor a handler that adds to it: no lock; reads merge.
    PerCpu,
    Locked,  // one copy; each handler that uses it holds a lock for its whole body
    Constant // a scalar that is never written: its initial value
};

inline constexpr size_t max_keys = 9; // of an array, as in SystemTap

struct Global {
    std::string name;
    SourceRange range;
    std::vector<Type> keys; // empty: a scalar
    Type value = Type::Long;
    int64_t size = 0; // entries; 0: MAXMAPENTRIES
    bool wrap = false;
    int64_t initial_number = 0;
    std::string initial_text;
    StatisticNeeds statistic; // value == Statistic
    Storage storage = Storage::Locked;
    bool is_published = false; // its values are shown regularly, for readers that collect them
    std::string description;   // then: the comment beside its declaration
    // --hosts (placement.cpp): of the controller, hosts add to it; of a host, each snapshot takes
    // its values, and the next one begins from nothing.
    bool is_shared = false, is_taken = false;
    bool adds_up = false; // then: a number that only lone ++ -- += -= and `delete` change
    bool is_array() const { return !keys.empty(); }
};

struct Local {
    std::string name;
    Type type = Type::Long;
    SourceRange range;
};

// What a body needs of its environment, including all its callees; for probes and functions.
struct Effects {
    std::vector<const Global*> reads; // Locked ones, without duplicates, in program order
    std::vector<const Global*> writes;
    bool prints = false;
    bool can_fail = false; // a run-time error is possible
    bool loops = false;    // a loop, recursion, or very many statements: MAXACTION must be counted
    bool walks = false;    // over arrays: foreach, [x, *] in a, delete a[x, *]
    bool strings = false;  // needs string scratch memory
    bool calls_runtime = false;
    bool can_exit = false;
    bool registers = false;          // needs registers that pass no arguments, or changes some
    bool argument_registers = false; // reads some that pass arguments by number, not in @entry
    bool embedded = false;           // runs embedded C

    bool operator==(const Effects&) const = default;
};

struct Block;

// A global that C code uses (/* pragma:read:x */, /* pragma:write:x */).
struct EmbeddedGlobal {
    const Global* global = nullptr;
    bool reads = false, writes = false;
    SourceRange range; // of the code
};

struct Function {
    std::string name;
    SourceRange range;
    Type return_type = Type::Void;
    uint32_t parameter_count = 0;
    std::vector<Local> locals;   // the parameters first
    std::unique_ptr<Block> body; // exactly one of body, intrinsic, embedded is set
    std::string intrinsic;       // implemented by the runtime, as djs_fn_NAME
    bool site = false;           // of an intrinsic: it uses the site of the hit
    bool place = false;          // … it uses the interrupted place itself
    bool arguments = false;      // … it reads argument registers by number
    std::string points_to;       // of an intrinsic that returns an address: "task_struct"
    std::string embedded;        // C text
    SourceRange embedded_range;  // from its %{ on
    std::vector<EmbeddedGlobal> embedded_globals;
    bool unmangled = false;      // the C text may use THIS->x instead of STAP_ARG_x
    bool pure = false;           // /* pure */: may be dropped if its value is unused
    bool recursive = false;      // calls itself, directly or indirectly
    bool counts_nesting = false; // recursive, or calls are deep: MAXNESTING must be counted
    Effects effects;             // of one call
    // For overloads: the next one to try when this one executes `next`.
    Function* next_overload = nullptr;
};

// What a ! says: if one of the points with the numbers from `first` to `last`, exclusive, is found,
// those from `last` to `until` are superfluous: the rest of the probe, or of the alias that
// contains the !.
struct Sufficient {
    uint32_t first = 0, last = 0, until = 0;
};

struct Probe {
    uint32_t index = 0;
    SourceRange range;
    // The points of this probe after alias expansion, in the order of the text.
    std::vector<const ast::ProbePoint*> points;
    // For each point, the aliases that led to it, outermost first, e.g. {"vfs.read"}: for pn().
    std::vector<std::vector<std::string>> alias_names;
    std::vector<uint32_t> point_traits; // of each point: enum PointTrait (points.h)
    bool is_return = false;             // its points are .return (a probe of both kinds is split)
    std::vector<Local> locals;
    std::unique_ptr<Block> body;
    ExpressionPtr condition; // if (…): over globals; may be null
    // The condition depends only on globals: sites are armed while it holds.
    bool arms = false;
    // Probes with such conditions whose globals this one writes. It holds their locks, too.
    std::vector<const Probe*> arms_others;
    // For a return probe, evaluated at function entry; EntryValue refers to them by index.
    std::vector<ExpressionPtr> entry_values;
    bool suppresses_errors = false; // --suppress-handler-errors: also of those
    Effects effects;
    bool synthetic = false; // the compiler added it: it prints globals, or times of probes
    // How many statements a synthetic probe may execute, in place of MAXACTION; 0: that.
    int64_t most_statements = 0;
    // -t, --monitor: receives the cycles that each run of the handler takes; else null
    const Global* timing = nullptr;
    bool has_switch = false; // a reader can switch it off: --monitor
    // The `probe` of the text that it comes from, counted from 0, and each point's number among all
    // the points that this `probe` expands to: a probe that is split (entry and return, several
    // aliases) keeps the order for `!`.
    uint32_t declaration = 0;
    std::vector<uint32_t> point_numbers;
    std::vector<Sufficient> sufficient; // of the whole `probe` of the text
};

// One piece of a checked format string: a literal and the conversion that follows it.
struct FormatPiece {
    std::string literal; // text before the conversion ("%%" is "%" here)
    // d i u x X o p s c m M b, H for a histogram; 0: literal only (the last piece)
    char conversion = 0;
    bool alternate = false, zero = false, left = false, plus = false, space = false;
    int width = -1;     // -1: none, -2: the next argument
    int precision = -1; // the same
    int size = 0;       // %m, %M: bytes
};

struct Program {
    std::vector<std::unique_ptr<Global>> globals;     // used ones only
    std::vector<std::unique_ptr<Function>> functions; // used ones only
    // begin probes run in the order in which probes/ sorts them
    std::vector<std::unique_ptr<Probe>> probes;
    std::vector<const ast::EmbeddedBlock*> embedded; // top-level C
    std::string language_version;                    // of SystemTap, for top-level C: "4.8"
    int64_t nesting = 0; // depth of the deepest call chain; 10 more if functions are recursive
    std::vector<ast::File> files; // owns what the pointers above refer to
    // --hosts: globals that are written and never read, and whose values have no sum; and where
    // each probe runs, in words.
    std::vector<std::string> unread_by_host, placements;
    // those that alias expansion created
    std::vector<std::unique_ptr<ast::ProbePoint>> expanded_points;
};

// ---- expressions --------------------------------------------------------------------------------

struct Number : ExpressionOf<ExpressionKind::Number> {
    int64_t value = 0;
};
struct Text : ExpressionOf<ExpressionKind::Text> { // type String
    std::string value;
};
struct LocalValue : ExpressionOf<ExpressionKind::LocalValue> {
    uint32_t local = 0; // index in the locals of the enclosing function or probe
};
struct GlobalValue : ExpressionOf<ExpressionKind::GlobalValue> {
    const Global* global = nullptr;
    std::vector<ExpressionPtr> keys;
};
struct Membership : ExpressionOf<ExpressionKind::Membership> {
    const Global* array = nullptr;
    std::vector<ExpressionPtr> keys; // null: *
};
struct Unary : ExpressionOf<ExpressionKind::Unary> {
    ast::UnaryOp op{};
    ExpressionPtr operand;
};
struct Arithmetic : ExpressionOf<ExpressionKind::Arithmetic> {
    ast::BinaryOp op{}; // Add … ShiftRightLogical
    SourceRange op_range;
    ExpressionPtr left, right;
};
struct Comparison : ExpressionOf<ExpressionKind::Comparison> {
    ast::BinaryOp op{};        // Equal … GreaterEqual
    ExpressionPtr left, right; // of the same type
};
struct Concatenation : ExpressionOf<ExpressionKind::Concatenation> {
    ExpressionPtr left, right;
};
struct Logical : ExpressionOf<ExpressionKind::Logical> {
    bool conjunction = false;
    ExpressionPtr left, right;
};
struct Conditional : ExpressionOf<ExpressionKind::Conditional> {
    ExpressionPtr condition, then_value, else_value;
};
// `place` is a LocalValue, a GlobalValue, or (with -g) a TargetValue.
struct Assignment : ExpressionOf<ExpressionKind::Assignment> {
    ExpressionPtr place, value;
    std::optional<ast::BinaryOp> op; // compound; Concatenate for .=
    SourceRange op_range;
    bool value_used = true; // false if it is a statement of its own
};
struct Aggregation : ExpressionOf<ExpressionKind::Aggregation> {
    ExpressionPtr place, value; // a GlobalValue of type Statistic
    bool value_used = true;
};
struct Increment : ExpressionOf<ExpressionKind::Increment> {
    ExpressionPtr place;
    bool prefix = false, decrement = false;
    bool value_used = true;
};
struct Call : ExpressionOf<ExpressionKind::Call> {
    const Function* function = nullptr;
    std::vector<ExpressionPtr> arguments;
};
struct Print : ExpressionOf<ExpressionKind::Print> {
    bool to_string = false;          // type String, else Void (as a value: 0)
    std::vector<FormatPiece> format; // also represents print, println, printd …
    // in the order of use, including widths and precisions by *
    std::vector<ExpressionPtr> arguments;
    // What it shows, for readers that do not print text: a global that prints itself ("a"; the
    // first `keys` arguments are its element's keys), or a histogram ("a[k]"). Empty: nothing in
    // particular.
    std::string shows;
    uint32_t keys = 0;
    bool in_snapshot = false; // only for outputs that show the globals regularly
};
struct StatisticRead : ExpressionOf<ExpressionKind::StatisticRead> {
    ast::StatOp op{};
    ExpressionPtr place;  // a GlobalValue of type Statistic
    ExpressionPtr bucket; // HistLog, HistLinear: the index; otherwise null
    int variance_shift = 0;
};
struct HistogramText : ExpressionOf<ExpressionKind::HistogramText> {
    ast::StatOp op{};
    ExpressionPtr place;
};
struct TargetComponent {
    enum class Kind : uint8_t { Member, Index } kind = Kind::Member;
    SourceRange range;
    std::string member;
    ExpressionPtr index;
};
struct TargetValue;
// The origin of a value's C type: a target variable, as typed in a probe (null: in a function).
struct TypeOrigin {
    std::shared_ptr<TargetValue> value;
    const Probe* probe = nullptr;
};
struct TargetValue : ExpressionOf<ExpressionKind::TargetValue> { // Long, or String with `pretty`
    enum class Base : uint8_t {
        Variable,
        Cast,
        GlobalVariable,
        Autocast,
        Enumerator,
        PerfCounter
    } base = Base::Variable;
    // Variable: "$tv", "$return", "$$vars", "$arg1"; GlobalVariable: name or "name@file"; Autocast:
    // the operand's text; Enumerator, PerfCounter: its name.
    std::string name;
    std::string module;                       // GlobalVariable, Cast, Enumerator
    ExpressionPtr operand;                    // Cast, Autocast: the address or value
    std::string cast_type;                    // Cast
    std::shared_ptr<const TypeOrigin> origin; // Autocast; null: its type is unknown
    bool address_of = false;
    int pretty = 0; // 1: $, 2: $$ (also of $$vars$): the type is String
    std::vector<TargetComponent> components;
};
struct Defined : ExpressionOf<ExpressionKind::Defined> {
    ExpressionPtr operand;
};
struct EntryValue : ExpressionOf<ExpressionKind::EntryValue> {
    uint32_t slot = 0; // in Probe::entry_values
};
struct Dereference : ExpressionOf<ExpressionKind::Dereference> {
    bool user = false;
    int64_t size = 0;
    ExpressionPtr address;
};
struct Register : ExpressionOf<ExpressionKind::Register> {
    bool user = false;
    int64_t number = 0;
};
struct RegexMatch : ExpressionOf<ExpressionKind::RegexMatch> {
    bool negated = false;
    ExpressionPtr operand;
    SourceRange pattern_range;
    std::string pattern;
};
// A parameter of the function around C code that the code names: STAP_ARG_name.
struct EmbeddedParameter {
    std::string name;
    ExpressionPtr value;
};
struct EmbeddedC : ExpressionOf<ExpressionKind::EmbeddedC> {
    std::string code;
    std::vector<EmbeddedGlobal> globals;
    std::vector<EmbeddedParameter> parameters;
};
struct StackText : ExpressionOf<ExpressionKind::StackText> { // type String
    ExpressionPtr stack;                                     // type Stack
};

// ---- statements ---------------------------------------------------------------------------------

struct Block : StatementOf<StatementKind::Block> {
    std::vector<StatementPtr> statements;
};
struct Evaluate : StatementOf<StatementKind::Evaluate> {
    ExpressionPtr expression;
};
struct If : StatementOf<StatementKind::If> {
    ExpressionPtr condition; // Long; semantics compares a string in a condition with ""
    StatementPtr then_branch, else_branch;
};
struct Loop : StatementOf<StatementKind::Loop> {
    ExpressionPtr init, condition, step; // init and step evaluated for effect; each may be null
    StatementPtr body;
};
struct Foreach : StatementOf<StatementKind::Foreach> {
    const Global* array = nullptr; // or buckets of a histogram: `histogram`
    ExpressionPtr histogram; // StatisticRead with a null bucket; keys[0] receives the bucket number
    ast::StatOp histogram_op{};
    std::vector<uint32_t> keys;       // locals
    std::optional<uint32_t> value;    // local; for a statistic: its @count
    std::vector<ExpressionPtr> slice; // empty: the whole array; null: *
    int sort_key = -1;                // -1 none, 0 the value, N the Nth key
    bool ascending = true;
    ast::StatOp sort_stat = ast::StatOp::Count;
    ExpressionPtr limit; // may be null; evaluated once
    StatementPtr body;
};
struct Break : StatementOf<StatementKind::Break> {};
struct Continue : StatementOf<StatementKind::Continue> {};
struct Next : StatementOf<StatementKind::Next> {};
struct Return : StatementOf<StatementKind::Return> {
    ExpressionPtr value; // may be null
};
struct Delete : StatementOf<StatementKind::Delete> {
    const Global* global = nullptr;
    std::vector<ExpressionPtr> keys; // empty: all of it (a scalar is reset); null: *
};
struct TryCatch : StatementOf<StatementKind::TryCatch> {
    StatementPtr body, handler;
    std::optional<uint32_t> message; // local of type String
};
struct EmbeddedStatement : StatementOf<StatementKind::EmbeddedStatement> {
    std::string code;
    std::vector<EmbeddedGlobal> globals;
    std::vector<EmbeddedParameter> parameters;
};

} // namespace djstap::program
