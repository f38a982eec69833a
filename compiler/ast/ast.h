// SPDX-License-Identifier: GPL-2.0-or-later
// The script as written: the output of syntax/ and the input of semantics/. Names are not resolved.
#pragma once
#include "diagnostics/source.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace djstap::ast {

enum class ExpressionKind : uint8_t {
#define EXPRESSION(Kind) Kind,
#include "ast/nodes.def"
};
enum class StatementKind : uint8_t {
#define STATEMENT(Kind) Kind,
#include "ast/nodes.def"
};

struct Expression {
    const ExpressionKind kind;
    SourceRange range;
    explicit Expression(ExpressionKind k, SourceRange r) : kind(k), range(r) {}
    virtual ~Expression() = default;
};
struct Statement {
    const StatementKind kind;
    SourceRange range;
    explicit Statement(StatementKind k, SourceRange r) : kind(k), range(r) {}
    virtual ~Statement() = default;
};
using ExpressionPtr = std::unique_ptr<Expression>;
using StatementPtr = std::unique_ptr<Statement>;

// Each node names its own kind, so that as<T>() needs no run-time type information.
template <ExpressionKind K> struct ExpressionOf : Expression {
    static constexpr ExpressionKind static_kind = K;
    explicit ExpressionOf(SourceRange r) : Expression(K, r) {}
};
template <StatementKind K> struct StatementOf : Statement {
    static constexpr StatementKind static_kind = K;
    explicit StatementOf(SourceRange r) : Statement(K, r) {}
};
// Returns the node as its own struct; the caller has checked `kind`.
template <class T, class N> T& as(N& node) {
    return static_cast<T&>(node);
}
template <class T, class N> const T& as(const N& node) {
    return static_cast<const T&>(node);
}

enum class TypeName : uint8_t { None, Long, String }; // ":long", ":string" as written

// ---- expressions --------------------------------------------------------------------------------

struct NumberLiteral : ExpressionOf<ExpressionKind::NumberLiteral> {
    using ExpressionOf::ExpressionOf;
    int64_t value = 0;
};
struct StringLiteral : ExpressionOf<ExpressionKind::StringLiteral> {
    using ExpressionOf::ExpressionOf;
    std::string value;
};
struct Identifier : ExpressionOf<ExpressionKind::Identifier> {
    using ExpressionOf::ExpressionOf;
    std::string name;
};
struct ArrayIndex : ExpressionOf<ExpressionKind::ArrayIndex> {
    using ExpressionOf::ExpressionOf;
    ExpressionPtr base;                 // Identifier, or StatisticOp for a histogram
    std::vector<ExpressionPtr> indexes; // null stands for *
};

// One step of a target variable: ->name or .name, [literal or expression].
struct Component {
    enum class Kind : uint8_t { Member, Index, PrettyPrint } kind = Kind::Member;
    SourceRange range;
    std::string member;  // Member; for PrettyPrint "$" or "$$"
    ExpressionPtr index; // Index
};
struct TargetSymbol : ExpressionOf<ExpressionKind::TargetSymbol> {
    using ExpressionOf::ExpressionOf;
    // Including its sigil: "$tv", "$$vars", "$return", never "$1" (which the preprocessor
    // replaces); "@var" for @var.
    std::string name;
    std::string variable;    // @var's first argument
    std::string module;      // @var's second
    bool address_of = false; // &$x
    std::vector<Component> components;
};
struct Cast : ExpressionOf<ExpressionKind::Cast> {
    using ExpressionOf::ExpressionOf;
    ExpressionPtr operand;
    std::string type;
    std::string module;
    bool address_of = false;
    std::vector<Component> components;
};
struct Autocast : ExpressionOf<ExpressionKind::Autocast> {
    using ExpressionOf::ExpressionOf;
    ExpressionPtr operand;
    bool address_of = false;
    std::vector<Component> components; // empty only in &(e), with address_of
};
struct Defined : ExpressionOf<ExpressionKind::Defined> {
    using ExpressionOf::ExpressionOf;
    ExpressionPtr operand;
};
struct Entry : ExpressionOf<ExpressionKind::Entry> {
    using ExpressionOf::ExpressionOf;
    ExpressionPtr operand;
};
struct PerfCounter : ExpressionOf<ExpressionKind::PerfCounter> {
    using ExpressionOf::ExpressionOf;
    std::string name;
};
struct Const : ExpressionOf<ExpressionKind::Const> {
    using ExpressionOf::ExpressionOf;
    std::string text;
};
struct Enumerator : ExpressionOf<ExpressionKind::Enumerator> {
    using ExpressionOf::ExpressionOf;
    std::vector<ExpressionPtr> arguments;
};
struct Dereference : ExpressionOf<ExpressionKind::Dereference> {
    using ExpressionOf::ExpressionOf;
    bool user = false;
    int64_t size = 0; // 1, 2, 4 or 8 bytes
    ExpressionPtr address;
};
struct Register : ExpressionOf<ExpressionKind::Register> {
    using ExpressionOf::ExpressionOf;
    bool user = false;
    int64_t number = 0; // DWARF's number
};
struct ProbeWrite : ExpressionOf<ExpressionKind::ProbeWrite> {
    using ExpressionOf::ExpressionOf;
    ExpressionPtr operand;
};

enum class UnaryOp : uint8_t { Plus, Negate, Not, Complement };
enum class BinaryOp : uint8_t {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    ShiftRightLogical,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Concatenate
};
struct Unary : ExpressionOf<ExpressionKind::Unary> {
    using ExpressionOf::ExpressionOf;
    UnaryOp op{};
    ExpressionPtr operand;
};
struct Binary : ExpressionOf<ExpressionKind::Binary> {
    using ExpressionOf::ExpressionOf;
    BinaryOp op{};
    SourceRange op_range;
    ExpressionPtr left, right;
};
struct Logical : ExpressionOf<ExpressionKind::Logical> {
    using ExpressionOf::ExpressionOf;
    bool conjunction = false; // && rather than ||
    ExpressionPtr left, right;
};
struct Conditional : ExpressionOf<ExpressionKind::Conditional> {
    using ExpressionOf::ExpressionOf;
    ExpressionPtr condition, then_value, else_value;
};
struct Assignment : ExpressionOf<ExpressionKind::Assignment> {
    using ExpressionOf::ExpressionOf;
    enum class Kind : uint8_t { Plain, Compound, Aggregate } form = Kind::Plain; // = ; op= ; <<<
    BinaryOp op{};                                                               // Compound
    bool parenthesized = false; // (a = b): it is deliberate in a condition
    SourceRange op_range;
    ExpressionPtr place, value;
};
struct Increment : ExpressionOf<ExpressionKind::Increment> {
    using ExpressionOf::ExpressionOf;
    bool prefix = false;
    bool decrement = false;
    ExpressionPtr operand;
};
struct Call : ExpressionOf<ExpressionKind::Call> {
    using ExpressionOf::ExpressionOf;
    std::string function;
    SourceRange name_range;
    std::vector<ExpressionPtr> arguments;
};
struct Print : ExpressionOf<ExpressionKind::Print> {
    using ExpressionOf::ExpressionOf;
    bool to_string = false;   // the sprint family
    bool newline = false;     // …ln
    bool delimited = false;   // printd…: the first argument is the delimiter
    bool formatted = false;   // printf: `format` is set
    bool single_char = false; // print_char
    SourceRange name_range, format_range;
    std::string format;
    std::vector<ExpressionPtr> arguments;
};
enum class StatOp : uint8_t { Count, Sum, Min, Max, Avg, Variance, HistLog, HistLinear };
struct StatisticOp : ExpressionOf<ExpressionKind::StatisticOp> {
    using ExpressionOf::ExpressionOf;
    StatOp op{};
    ExpressionPtr operand;
    std::vector<int64_t> parameters; // HistLinear: low, high, width; Variance: bit shift
};
struct Membership : ExpressionOf<ExpressionKind::Membership> {
    using ExpressionOf::ExpressionOf;
    std::vector<ExpressionPtr> indexes; // null stands for *
    ExpressionPtr array;                // Identifier, or a histogram
};
struct RegexMatch : ExpressionOf<ExpressionKind::RegexMatch> {
    using ExpressionOf::ExpressionOf;
    bool negated = false;
    ExpressionPtr operand;
    SourceRange pattern_range;
    std::string pattern;
};
struct EmbeddedC : ExpressionOf<ExpressionKind::EmbeddedC> {
    using ExpressionOf::ExpressionOf;
    std::string code; // between %{ and %}
};

// ---- statements ---------------------------------------------------------------------------------

struct Block : StatementOf<StatementKind::Block> {
    using StatementOf::StatementOf;
    std::vector<StatementPtr> statements;
};
struct ExpressionStatement : StatementOf<StatementKind::ExpressionStatement> {
    using StatementOf::StatementOf;
    ExpressionPtr expression;
};
struct Null : StatementOf<StatementKind::Null> {
    using StatementOf::StatementOf;
};
struct If : StatementOf<StatementKind::If> {
    using StatementOf::StatementOf;
    ExpressionPtr condition;
    StatementPtr then_branch, else_branch; // else may be null
};
struct While : StatementOf<StatementKind::While> {
    using StatementOf::StatementOf;
    ExpressionPtr condition;
    StatementPtr body;
};
struct For : StatementOf<StatementKind::For> {
    using StatementOf::StatementOf;
    ExpressionPtr init, condition, step; // each may be null
    StatementPtr body;
};
struct Foreach : StatementOf<StatementKind::Foreach> {
    using StatementOf::StatementOf;
    std::vector<std::string> keys;
    std::vector<SourceRange> key_ranges;
    std::string value; // foreach (value = [keys] in array); empty if absent
    SourceRange value_range;
    ExpressionPtr array;              // Identifier, or a histogram StatisticOp
    std::vector<ExpressionPtr> slice; // array[k, *]: null stands for *; empty: the whole array
    int sort_key = -1;                // -1: none, 0: the value, N: the Nth key
    bool ascending = true;
    std::optional<StatOp> sort_stat; // foreach (k in a@sum-)
    SourceRange sort_range;
    ExpressionPtr limit; // may be null
    StatementPtr body;
};
struct Break : StatementOf<StatementKind::Break> {
    using StatementOf::StatementOf;
};
struct Continue : StatementOf<StatementKind::Continue> {
    using StatementOf::StatementOf;
};
struct Next : StatementOf<StatementKind::Next> {
    using StatementOf::StatementOf;
};
struct Return : StatementOf<StatementKind::Return> {
    using StatementOf::StatementOf;
    ExpressionPtr value; // may be null
};
struct Delete : StatementOf<StatementKind::Delete> {
    using StatementOf::StatementOf;
    ExpressionPtr erased; // Identifier or ArrayIndex (with * for slices)
};
struct TryCatch : StatementOf<StatementKind::TryCatch> {
    using StatementOf::StatementOf;
    StatementPtr body, handler;
    std::string variable; // receives the message; empty if absent
    SourceRange variable_range;
};
struct EmbeddedStatement : StatementOf<StatementKind::EmbeddedStatement> {
    using StatementOf::StatementOf;
    std::string code;
};

// ---- declarations -------------------------------------------------------------------------------

// kernel.function("vfs_*").return?  Each component may have one literal argument.
struct PointComponent {
    std::string name; // may hold * and **
    SourceRange range;
    enum class Argument : uint8_t { None, Number, String } argument = Argument::None;
    int64_t number = 0;
    std::string string;
    SourceRange argument_range;
};
struct ProbePoint {
    SourceRange range;
    std::vector<PointComponent> components; // nested {a,b} are expanded to several points
    bool optional = false;                  // ?
    bool sufficient = false;                // !
    ExpressionPtr condition;                // if (…); may be null
    // The point with * in its components' names that this is one meaning of; else null. As in
    // SystemTap, not every meaning has to exist.
    const ProbePoint* one_of = nullptr;
};
// kernel.function("x").call, as a user writes it.
std::string to_string(const ProbePoint& point);

struct Probe {
    SourceRange range; // of "probe" and its points
    std::vector<ProbePoint> points;
    std::unique_ptr<Block> body;
};
struct Alias {
    SourceRange range;
    std::vector<std::vector<PointComponent>> names; // probe NAME = NAME = …
    bool append = false;                            // += : the body is an epilogue
    std::vector<ProbePoint> points;
    std::unique_ptr<Block> body;
    std::unique_ptr<Block> epilogue; // of probe NAME = … { body }, { epilogue }; may be null
};
struct Global {
    SourceRange range; // of the name
    std::string name;
    bool is_private = false;
    std::optional<int64_t> size; // a[N]
    bool wrap = false;           // a% : replace the oldest entry when full
    ExpressionPtr initial;       // literal; may be null
};
struct Parameter {
    std::string name;
    TypeName type = TypeName::None;
    SourceRange range;
};
struct Function {
    SourceRange range; // of the name
    std::string name;
    bool is_private = false;
    TypeName return_type = TypeName::None;
    std::vector<Parameter> parameters;
    std::optional<int64_t> priority;          // overloads: lower is tried first
    std::unique_ptr<Block> body;              // null when embedded
    std::optional<std::string> embedded_code; // between %{ and %}
    SourceRange body_range;
};
struct EmbeddedBlock {
    SourceRange range;
    std::string code;
};

// One parsed file. The order within each list is that of the text.
struct File {
    uint32_t source = 0;
    std::vector<Probe> probes;
    std::vector<Alias> aliases;
    std::vector<Global> globals;
    std::vector<Function> functions;
    std::vector<EmbeddedBlock> embedded;
};

// Returns the script as text that parses to the same tree (-p1 prints it): canonical spacing, one
// statement per line, four spaces per level.
std::string print(const File& file);
std::string print(const Expression& expression);
std::string print(const Statement& statement, int indent = 0);

} // namespace djstap::ast
