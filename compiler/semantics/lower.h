// SPDX-License-Identifier: GPL-2.0-or-later
// Lowers bodies of the ast to typed nodes: resolves names and unifies types; finish() settles what
// depends on a type that may become known later (conditions, prints).
#pragma once
#include "semantics/aliases.h"
#include "semantics/names.h"
#include "semantics/semantics.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace djstap::semantics {

struct LocalState {
    TypeVar type = 0;
    SourceRange read_at; // the first read, if it is read at all
    bool written = false;
};

// The origin of a value's C type: a target variable itself, or the variable or function (identified
// by the address of its list of locals, its global, its function) that holds its value.
struct TypeSource {
    std::shared_ptr<program::TypeOrigin> origin;
    const program::TargetValue* of_autocast = nullptr; // the origin is a copy of this Autocast
    const void* owner = nullptr;
    uint32_t index = 0;
    bool known() const { return origin || owner; }
};

// The body of a function or a probe while it is lowered.
struct Body {
    enum class Mode : uint8_t { Normal, Entry, Condition };
    // The file whose names are in scope; it differs between the parts of a probe.
    const ast::File* file = nullptr;
    std::vector<program::Local>* locals = nullptr;
    std::vector<LocalState> states;
    std::unordered_map<std::string, uint32_t> index;
    FunctionState* function = nullptr;
    program::Probe* probe = nullptr;
    Mode mode = Mode::Normal;
    int loops = 0;
    std::vector<std::pair<const GlobalState*, SourceRange>> iterating;
    std::map<std::string, uint32_t> entry_slots; // by their text
    std::vector<TypeVar> entry_types;
    bool own_part = false;            // the probe's own block, not an alias's
    std::set<std::string> own_writes; // the variables that it writes to
    std::vector<std::pair<program::Number*, std::string>> asked_writes; // @probewrite
};

// A lowered expression; `node` is never null: after an error it is a 0 whose type agrees with every
// other type.
struct Value {
    program::ExpressionPtr node;
    TypeVar type = 0;
};

class Lowering {
  public:
    Lowering(Names& names, TypeTable& types, const SemanticsOptions& options,
             Diagnostics& diagnostics)
        : names_(names), types_(types), options_(options), diagnostics_(diagnostics) {}

    void function(FunctionState& function);
    std::unique_ptr<program::Probe> probe(const ProbeGroup& group, SourceRange range);
    // Functions that were called and are not lowered yet.
    std::vector<FunctionState*>& queue() { return queue_; }
    // Settles what waited for types and sets every node's type. Call it once, after all bodies.
    void finish();

  private:
    // ---- expressions (lower_expression.cpp)
    Value expression(const ast::Expression& node, bool value_used = true);
    Value literal(const ast::Expression& node);
    Value identifier(const ast::Identifier& node);
    Value array_index(const ast::ArrayIndex& node);
    Value unary(const ast::Unary& node);
    Value binary(const ast::Binary& node);
    Value logical(const ast::Logical& node);
    Value conditional(const ast::Conditional& node);
    Value membership(const ast::Membership& node);
    Value regex(const ast::RegexMatch& node);
    Value call(const ast::Call& node, bool value_used);
    bool asks_what_was_interrupted(const ast::Call& node,
                                   const std::vector<FunctionState*>& found) const;
    void check_guru(const ast::Call& node, const std::vector<FunctionState*>& found);
    void check_system(const ast::Call& node, const FunctionState& found);
    // ---- C code (lower_embedded.cpp)
    Value embedded(const ast::EmbeddedC& node);
    program::StatementPtr embedded(const ast::EmbeddedStatement& node);
    std::vector<program::EmbeddedGlobal> embedded_globals(const std::string& code,
                                                          const ast::File& file, SourceRange range);
    std::vector<program::EmbeddedParameter> embedded_parameters(const std::string& code,
                                                                SourceRange range);
    // ---- places (lower_place.cpp)
    Value assignment(const ast::Assignment& node, bool value_used);
    Value aggregate(const ast::Assignment& node, bool value_used);
    Value increment(const ast::Increment& node, bool value_used);
    // Lowers a place to write to.
    Value place(const ast::Expression& node);
    Value global_place(const ast::Expression& node, GlobalState& global,
                       const std::vector<ast::ExpressionPtr>* keys, bool wildcards);
    std::vector<program::ExpressionPtr> keys(GlobalState& global,
                                             const std::vector<ast::ExpressionPtr>& indexes,
                                             bool wildcards, SourceRange range);
    bool key_count(GlobalState& global, size_t count, SourceRange range);
    void check_not_iterated(const GlobalState& global, SourceRange range);
    uint32_t local(const std::string& name, SourceRange range);
    // ---- statistics (lower_statistic.cpp)
    Value statistic(const ast::StatisticOp& node);
    Value statistic_place(const ast::StatisticOp& node, GlobalState** found);
    Value histogram_text(const ast::StatisticOp& node);
    bool is_one_bucket(const std::vector<ast::ExpressionPtr>& indexes, SourceRange range);
    Value bucket_membership(const ast::Membership& node);
    Value bucket(const ast::StatisticOp& node, program::ExpressionPtr index);
    bool note_histogram(const ast::StatisticOp& node, GlobalState& global);
    GlobalState* global_of(const ast::Expression& node,
                           const std::vector<ast::ExpressionPtr>** indexes);
    // ---- target variables (lower_target.cpp)
    Value target(const ast::TargetSymbol& node, bool writing = false);
    bool is_procfs_text(const std::string& name) const;
    bool is_text(const std::string& name) const;
    bool check_text(const ast::TargetSymbol& node);
    bool check_procfs_text(const ast::TargetSymbol& node, bool writing);
    Value target_at_entry(const ast::TargetSymbol& node);
    Value cast(const ast::Cast& node);
    Value defined(const ast::Defined& node);
    Value entry(const ast::Entry& node);
    Value entry_slot(const std::string& key, SourceRange range, const std::function<Value()>& make);
    Value target_with_index(const ast::TargetSymbol& node);
    bool components(const std::vector<ast::Component>& from, program::TargetValue& to);
    bool components(std::vector<ast::Component>::const_iterator from,
                    std::vector<ast::Component>::const_iterator end, program::TargetValue& to);
    // ---- values that keep their C type, constants (lower_typed.cpp)
    Value autocast(const ast::Autocast& node);
    TypeSource source_of(const program::Expression& node) const;
    void note_source(const void* owner, uint32_t index, const program::Expression& value);
    void note_source(const program::Expression& place, const program::Expression& value);
    void settle_autocasts();
    Value probe_write(const ast::ProbeWrite& node);
    Value enumerator(const ast::Enumerator& node);
    Value constant(const ast::Const& node);
    // ---- printing (format.cpp)
    Value print(const ast::Print& node);
    void formatted(const ast::Print& node, program::Print& print, std::vector<Value>& values);
    void unformatted(const ast::Print& node, program::Print& print, std::vector<Value>& values);
    // ---- statements (lower_statement.cpp)
    program::StatementPtr statement(const ast::Statement& node);
    program::StatementPtr block(const ast::Block& node);
    program::StatementPtr branch(const ast::StatementPtr& node);
    program::StatementPtr foreach (const ast::Foreach& node);
    program::StatementPtr delete_statement(const ast::Delete& node);
    program::StatementPtr try_catch(const ast::TryCatch& node);
    program::StatementPtr return_statement(const ast::Return& node);
    program::StatementPtr loop(const ast::While* while_node, const ast::For* for_node,
                               SourceRange range);
    program::StatementPtr jump(const ast::Statement& node);
    // Returns the local variable that a foreach or a catch assigns to. If `name` is a global,
    // statements appended to `prologue` copy the local to it. `array_kind` is the error for an
    // array.
    uint32_t given_variable(const std::string& name, SourceRange range, DiagnosticKind array_kind,
                            std::vector<program::StatementPtr>& prologue);
    program::StatementPtr with_prologue(std::vector<program::StatementPtr> prologue,
                                        program::StatementPtr body);
    void finish_body(Body& body);
    void suppress_errors(program::Probe& probe);

    // ---- shared helpers
    template <class T> std::unique_ptr<T> make(SourceRange range) {
        auto node = std::make_unique<T>();
        node->range = range;
        return node;
    }
    Value typed(program::ExpressionPtr node, TypeVar type) {
        typed_.emplace_back(node.get(), type);
        return {std::move(node), type};
    }
    Value known(program::ExpressionPtr node, program::Type type) {
        const SourceRange range = node->range;
        return typed(std::move(node), types_.of(type, range));
    }
    Value broken(SourceRange range);
    // Requires the value to have this type.
    program::ExpressionPtr expect(const ast::Expression& node, program::Type type);
    void require(const Value& value, const ast::Expression& node, program::Type type,
                 const std::string& hint = "");
    void require_parameter(const Value& value, const ast::Expression& node, TypeVar parameter,
                           const ast::Parameter& declaration);
    // Requires two values to have the same type; `name` is that of the first.
    void agree(TypeVar first, TypeVar second, const std::string& name, SourceRange at);
    // Lowers a condition to a number.
    void condition(program::ExpressionPtr& slot, const ast::Expression& node);
    static std::string subject(const ast::Expression& node);
    // ---- hints (lower_hints.cpp)
    bool probes_code() const;
    std::string nearest_variable(const std::string& name);
    const std::vector<std::string>& aliases_of_body() const;
    std::string hint_for_other_end(const std::string& name) const;
    std::string list_of_alias_variables() const;
    std::string hint_for_dot(const ast::Binary& node);
    static std::string hint_for_text(const ast::Expression& node);
    static std::string hint_for_pointer(const ast::Expression& node);

    Names& names_;
    TypeTable& types_;
    const SemanticsOptions& options_;
    Diagnostics& diagnostics_;
    Body* body_ = nullptr;
    std::vector<FunctionState*> queue_;
    std::vector<std::pair<program::Expression*, TypeVar>> typed_;
    std::vector<std::pair<program::Local*, TypeVar>> typed_locals_;
    // Typed, but not part of the program: kept until finish() has processed typed_.
    std::vector<program::ExpressionPtr> discarded_;
    std::vector<std::function<void()>> deferred_;
    // Values whose type must be known in the end: place, subject, hint.
    struct Needed {
        TypeVar type;
        SourceRange at;
        std::string what, hint;
        const FunctionState* function = nullptr; // the function whose value it is
    };
    std::vector<Needed> needed_;
    // Globals that are used as one value, which statistics are not.
    std::vector<std::pair<const GlobalState*, SourceRange>> value_uses_;
    std::map<std::pair<const void*, uint32_t>, TypeSource> sources_;
    std::vector<std::pair<program::TargetValue*, TypeSource>> autocasts_;
    // Further conditions of a probe, which are joined to its first one at the end.
    std::vector<std::pair<program::Probe*, std::unique_ptr<program::Logical>>> extra_conditions_;
    // foreach (value = key in array): has the array's type, or is a number for a statistic.
    struct ForeachValue {
        GlobalState* global;
        TypeVar type;
        std::string name;
        SourceRange at;
    };
    std::vector<ForeachValue> foreach_values_;
    struct NeverWritten {
        std::string name;
        SourceRange at;
        TypeVar type;
        std::string hint;
    };
    std::vector<NeverWritten> never_written_;
};

// "1 argument", "2 arguments", "1 or 2 arguments".
std::string count_text(size_t count, const std::string& noun);
std::string count_text(const std::vector<size_t>& counts, const std::string& noun);

} // namespace djstap::semantics
