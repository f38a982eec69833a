#include "interpreter.h"

#include "values.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <regex>
#include <unordered_map>
#include <utility>

namespace djstap::differential {

using ast::BinaryOp;
using program::as;
using program::ExpressionKind;
using program::StatementKind;
using program::Type;

namespace {

enum class Flow : uint8_t { On, Break, Continue, Next, Return };

Value nothing(Type type) {
    return type == Type::String ? Value(std::string()) : Value(int64_t{0});
}

class Interpreter {
  public:
    Interpreter(const program::Program& program, const Rules& rules)
        : program_(program), rules_(rules) {}
    Outcome run();

  private:
    // What is called has its own variables, and its own value to return.
    struct Frame {
        std::vector<Value> locals;
        Value result;
    };

    void make_globals();
    void run_probes(const char* point);
    void run_timer();
    void run_probe(const program::Probe& probe);

    Flow statement(const program::Statement& node);
    Flow block(const program::Block& node);
    Flow loop(const program::Loop& node);
    Flow foreach_element(const program::Foreach& node);
    Flow foreach_bucket(const program::Foreach& node);
    Flow try_catch(const program::TryCatch& node);
    void erase(const program::Delete& node);

    Value value(const program::Expression& node);
    int64_t number(const program::Expression& node) { return std::get<int64_t>(value(node)); }
    std::string text(const program::Expression& node) { return std::get<std::string>(value(node)); }
    bool holds(const program::Expression& node);
    Value compare(const program::Comparison& node);
    Value assign(const program::Assignment& node);
    Value increment(const program::Increment& node);
    Value aggregate(const program::Aggregation& node);
    Value call(const program::Call& node);
    Value call_function(const program::Function& function, std::vector<Value> arguments);
    Value intrinsic(const program::Call& node, const std::vector<Value>& arguments);
    Value print(const program::Print& node);
    Value statistic(const program::StatisticRead& node);
    Value membership(const program::Membership& node);

    Value cut(Value value) const;
    Storage& storage(const program::Global& global) { return globals_.at(&global); }
    std::vector<std::optional<Value>> keys(const std::vector<program::ExpressionPtr>& nodes);
    static bool fits(const Element& element, const std::vector<std::optional<Value>>& keys);
    Element* find(const program::GlobalValue& place);
    Element& make(const program::GlobalValue& place);
    const Statistic* find_statistic(const program::Expression& place);
    Value read_place(const program::Expression& place);
    // Reads, changes and writes a variable or an element, whose keys are looked at once.
    template <class Change>
    std::pair<Value, Value> change(const program::Expression& place, Change change);

    const program::Program& program_;
    const Rules& rules_;
    std::unordered_map<const program::Global*, Storage> globals_;
    Frame* frame_ = nullptr;
    int64_t nesting_ = 0;
    bool exit_ = false, failed_ = false;
    uint64_t errors_ = 0;
    Outcome outcome_;
};

Value Interpreter::cut(Value value) const {
    if (auto* text = std::get_if<std::string>(&value))
        if (text->size() >= rules_.string_bytes)
            text->resize(rules_.string_bytes - 1);
    return value;
}

// ---- places ----

std::vector<std::optional<Value>>
Interpreter::keys(const std::vector<program::ExpressionPtr>& nodes) {
    std::vector<std::optional<Value>> result;
    for (const auto& node : nodes)
        result.push_back(node ? std::optional(cut(value(*node))) : std::nullopt);
    return result;
}

bool Interpreter::fits(const Element& element, const std::vector<std::optional<Value>>& keys) {
    for (size_t i = 0; i < keys.size(); i++)
        if (keys[i] && element.keys[i] != *keys[i])
            return false;
    return true;
}

Element* Interpreter::find(const program::GlobalValue& place) {
    const auto wanted = keys(place.keys);
    for (Element& element : storage(*place.global).elements)
        if (fits(element, wanted))
            return &element;
    return nullptr;
}

Element& Interpreter::make(const program::GlobalValue& place) {
    const auto wanted = keys(place.keys);
    const program::Global& global = *place.global;
    auto& elements = storage(global).elements;
    for (Element& element : elements)
        if (fits(element, wanted))
            return element;
    const uint64_t room = global.size > 0 ? static_cast<uint64_t>(global.size) : rules_.map_entries;
    if (elements.size() >= room) {
        if (!global.wrap)
            throw ScriptError{"array overflow, check MAXMAPENTRIES or the array's size"};
        elements.erase(elements.begin());
    }
    Element element;
    for (const auto& key : wanted)
        element.keys.push_back(*key);
    element.value = nothing(global.value);
    elements.push_back(std::move(element));
    return elements.back();
}

Value Interpreter::read_place(const program::Expression& place) {
    if (place.kind == ExpressionKind::LocalValue)
        return frame_->locals[as<program::LocalValue>(place).local];
    const auto& global = as<program::GlobalValue>(place);
    if (!global.global->is_array())
        return storage(*global.global).value;
    const Element* element = find(global);
    return element ? element->value : nothing(global.global->value);
}

template <class Change>
std::pair<Value, Value> Interpreter::change(const program::Expression& place, Change change) {
    Value* at = nullptr;
    if (place.kind == ExpressionKind::LocalValue) {
        at = &frame_->locals[as<program::LocalValue>(place).local];
    } else if (place.kind == ExpressionKind::GlobalValue) {
        const auto& global = as<program::GlobalValue>(place);
        at = global.global->is_array() ? &make(global).value : &storage(*global.global).value;
    } else {
        throw Unknown("an assignment to this");
    }
    Value old = *at;
    *at = cut(change(old));
    return {old, *at};
}

const Statistic* Interpreter::find_statistic(const program::Expression& place) {
    const auto& global = as<program::GlobalValue>(place);
    if (!global.global->is_array())
        return &storage(*global.global).statistic;
    const Element* element = find(global);
    return element ? &element->statistic : nullptr;
}

// ---- expressions ----

bool Interpreter::holds(const program::Expression& node) {
    const Value result = value(node);
    if (const auto* text = std::get_if<std::string>(&result))
        return !text->empty();
    return std::get<int64_t>(result) != 0;
}

Value Interpreter::value(const program::Expression& node) {
    switch (node.kind) {
    case ExpressionKind::Number:
        return as<program::Number>(node).value;
    case ExpressionKind::Text:
        return cut(as<program::Text>(node).value);
    case ExpressionKind::LocalValue:
    case ExpressionKind::GlobalValue:
        return read_place(node);
    case ExpressionKind::Membership:
        return membership(as<program::Membership>(node));
    case ExpressionKind::Unary: {
        const auto& unary = as<program::Unary>(node);
        if (unary.op == ast::UnaryOp::Not)
            return int64_t{!holds(*unary.operand)};
        const int64_t operand = number(*unary.operand);
        return unary.op == ast::UnaryOp::Negate       ? calculate(BinaryOp::Subtract, 0, operand)
               : unary.op == ast::UnaryOp::Complement ? ~operand
                                                      : operand;
    }
    case ExpressionKind::Arithmetic: {
        const auto& binary = as<program::Arithmetic>(node);
        const int64_t left = number(*binary.left);
        return calculate(binary.op, left, number(*binary.right));
    }
    case ExpressionKind::Comparison:
        return compare(as<program::Comparison>(node));
    case ExpressionKind::Concatenation: {
        const auto& concatenation = as<program::Concatenation>(node);
        const std::string left = text(*concatenation.left);
        return cut(left + text(*concatenation.right));
    }
    case ExpressionKind::Logical: {
        const auto& logical = as<program::Logical>(node);
        const bool left = holds(*logical.left);
        if (left != logical.conjunction)
            return int64_t{left};
        return int64_t{holds(*logical.right)};
    }
    case ExpressionKind::Conditional: {
        const auto& conditional = as<program::Conditional>(node);
        return cut(value(holds(*conditional.condition) ? *conditional.then_value
                                                       : *conditional.else_value));
    }
    case ExpressionKind::Assignment:
        return assign(as<program::Assignment>(node));
    case ExpressionKind::Aggregation:
        return aggregate(as<program::Aggregation>(node));
    case ExpressionKind::Increment:
        return increment(as<program::Increment>(node));
    case ExpressionKind::Call:
        return call(as<program::Call>(node));
    case ExpressionKind::Print:
        return print(as<program::Print>(node));
    case ExpressionKind::StatisticRead:
        return statistic(as<program::StatisticRead>(node));
    case ExpressionKind::RegexMatch: {
        const auto& match = as<program::RegexMatch>(node);
        const std::regex pattern(match.pattern, std::regex::extended);
        return int64_t{std::regex_search(text(*match.operand), pattern) != match.negated};
    }
    default:
        throw Unknown("an expression of kind " + std::to_string(static_cast<int>(node.kind)));
    }
}

Value Interpreter::compare(const program::Comparison& node) {
    const Value left = value(*node.left), right = value(*node.right);
    int order = 0;
    if (node.left->type == Type::String) // by bytes
        order =
            std::strcmp(std::get<std::string>(left).c_str(), std::get<std::string>(right).c_str());
    else
        order = left < right ? -1 : left > right;
    switch (node.op) {
    case BinaryOp::Equal:
        return int64_t{order == 0};
    case BinaryOp::NotEqual:
        return int64_t{order != 0};
    case BinaryOp::Less:
        return int64_t{order < 0};
    case BinaryOp::LessEqual:
        return int64_t{order <= 0};
    case BinaryOp::Greater:
        return int64_t{order > 0};
    default:
        return int64_t{order >= 0};
    }
}

Value Interpreter::assign(const program::Assignment& node) {
    const Value right = value(*node.value);
    return change(*node.place,
                  [&](const Value& old) -> Value {
                      if (!node.op)
                          return right;
                      if (node.type == Type::String)
                          return std::get<std::string>(old) + std::get<std::string>(right);
                      return calculate(*node.op, std::get<int64_t>(old), std::get<int64_t>(right));
                  })
        .second;
}

Value Interpreter::increment(const program::Increment& node) {
    auto [old, changed] = change(*node.place, [&](const Value& before) -> Value {
        return calculate(node.decrement ? BinaryOp::Subtract : BinaryOp::Add,
                         std::get<int64_t>(before), 1);
    });
    return node.prefix ? changed : old;
}

Value Interpreter::aggregate(const program::Aggregation& node) {
    const int64_t added = number(*node.value);
    const auto& place = as<program::GlobalValue>(*node.place);
    Statistic& into =
        place.global->is_array() ? make(place).statistic : storage(*place.global).statistic;
    into.add(place.global->statistic, added);
    return int64_t{0};
}

Value Interpreter::membership(const program::Membership& node) {
    const auto wanted = keys(node.keys);
    const auto& elements = storage(*node.array).elements;
    return int64_t{std::any_of(elements.begin(), elements.end(),
                               [&](const Element& element) { return fits(element, wanted); })};
}

Value Interpreter::statistic(const program::StatisticRead& node) {
    const Statistic* found = find_statistic(*node.place);
    if (!node.bucket)
        return (found ? *found : Statistic()).read(node.op);
    if (!found)
        return int64_t{0};
    const int64_t bucket = number(*node.bucket);
    const auto& needs = as<program::GlobalValue>(*node.place).global->statistic;
    if (bucket < 0 || bucket >= bucket_count(needs))
        throw ScriptError{"histogram index out of range"};
    auto hits = found->hits.find(bucket);
    return hits == found->hits.end() ? int64_t{0} : hits->second;
}

Value Interpreter::print(const program::Print& node) {
    std::vector<Value> arguments;
    for (const auto& argument : node.arguments) {
        if (argument->kind == ExpressionKind::HistogramText) {
            const auto& place = *as<program::HistogramText>(*argument).place;
            const Statistic* found = find_statistic(place);
            arguments.emplace_back(histogram_text(as<program::GlobalValue>(place).global->statistic,
                                                  found ? *found : Statistic()));
        } else {
            arguments.push_back(cut(value(*argument)));
        }
    }
    std::string out;
    size_t next = 0;
    for (const program::FormatPiece& piece : node.format) {
        out += piece.literal;
        if (!piece.conversion)
            continue;
        auto field = [&](int given) {
            return given == -2 ? static_cast<int>(std::get<int64_t>(arguments.at(next++))) : given;
        };
        const int width = field(piece.width), precision = field(piece.precision);
        const Value& argument = arguments.at(next++);
        out += piece.conversion == 'H' ? std::get<std::string>(argument)
                                       : convert(piece, width, precision, argument);
    }
    if (node.to_string)
        return cut(out);
    outcome_.output += out;
    return int64_t{0};
}

// ---- functions ----

Value Interpreter::call(const program::Call& node) {
    std::vector<Value> arguments;
    for (const auto& argument : node.arguments)
        arguments.push_back(cut(value(*argument)));
    return node.function->body ? call_function(*node.function, std::move(arguments))
                               : intrinsic(node, arguments);
}

Value Interpreter::call_function(const program::Function& function, std::vector<Value> arguments) {
    const int64_t outside = nesting_;
    if (function.counts_nesting && ++nesting_ > rules_.max_nesting) {
        nesting_ = outside;
        throw ScriptError{"MAXNESTING exceeded"};
    }
    Frame frame{arguments, nothing(function.return_type)};
    for (size_t i = arguments.size(); i < function.locals.size(); i++)
        frame.locals.push_back(nothing(function.locals[i].type));
    Frame* caller = std::exchange(frame_, &frame);
    auto leave = [&] {
        frame_ = caller;
        nesting_ = outside;
    };
    Flow flow = Flow::On;
    try {
        flow = block(*function.body);
    } catch (...) {
        leave();
        throw;
    }
    leave();
    if (flow == Flow::Next) {
        if (!function.next_overload)
            throw Unknown("next in the last overload");
        return call_function(*function.next_overload, std::move(arguments));
    }
    return frame.result;
}

Value Interpreter::intrinsic(const program::Call& node, const std::vector<Value>& arguments) {
    const std::string& name = node.function->intrinsic;
    auto number = [&](size_t i) { return std::get<int64_t>(arguments.at(i)); };
    auto text = [&](size_t i) -> const std::string& {
        return std::get<std::string>(arguments.at(i));
    };
    if (name == "exit") {
        exit_ = true;
        return int64_t{0};
    }
    if (name == "error")
        throw ScriptError{text(0)};
    if (name == "warn") {
        outcome_.messages.push_back("WARNING: " + text(0));
        return int64_t{0};
    }
    if (name == "target")
        return rules_.target;
    if (name == "strlen")
        return static_cast<int64_t>(text(0).size());
    if (name == "isinstr")
        return int64_t{text(0).find(text(1)) != std::string::npos};
    if (name == "strtol") {
        const int64_t base = number(1);
        return base < 0 || base == 1 || base > 36
                   ? int64_t{0}
                   : static_cast<int64_t>(
                         strtoll(text(0).c_str(), nullptr, static_cast<int>(base)));
    }
    if (name == "substr") {
        if (number(1) < 0 || number(2) <= 0 || number(1) > static_cast<int64_t>(text(0).size()))
            return std::string();
        return text(0).substr(static_cast<size_t>(number(1)), static_cast<size_t>(number(2)));
    }
    if (name == "stringat") {
        const auto size = static_cast<int64_t>(text(0).size());
        if (number(1) < 0 || number(1) >= size)
            throw ScriptError{"position " + std::to_string(number(1)) +
                              " is outside of a string of " + std::to_string(size) + " bytes"};
        return int64_t{static_cast<unsigned char>(text(0)[static_cast<size_t>(number(1))])};
    }
    if (name == "str_replace") {
        std::string out;
        for (size_t at = 0; at < text(0).size();) {
            if (!text(1).empty() && text(0).compare(at, text(1).size(), text(1)) == 0) {
                out += text(2);
                at += text(1).size();
            } else {
                out += text(0)[at++];
            }
        }
        return cut(out);
    }
    throw Unknown("the function " + name);
}

// ---- statements ----

Flow Interpreter::block(const program::Block& node) {
    for (const auto& inner : node.statements)
        if (const Flow flow = statement(*inner); flow != Flow::On)
            return flow;
    return Flow::On;
}

Flow Interpreter::statement(const program::Statement& node) {
    switch (node.kind) {
    case StatementKind::Block:
        return block(as<program::Block>(node));
    case StatementKind::Evaluate:
        value(*as<program::Evaluate>(node).expression);
        return Flow::On;
    case StatementKind::If: {
        const auto& branch = as<program::If>(node);
        if (holds(*branch.condition))
            return statement(*branch.then_branch);
        return branch.else_branch ? statement(*branch.else_branch) : Flow::On;
    }
    case StatementKind::Loop:
        return loop(as<program::Loop>(node));
    case StatementKind::Foreach:
        return as<program::Foreach>(node).histogram ? foreach_bucket(as<program::Foreach>(node))
                                                    : foreach_element(as<program::Foreach>(node));
    case StatementKind::Break:
        return Flow::Break;
    case StatementKind::Continue:
        return Flow::Continue;
    case StatementKind::Next:
        return Flow::Next;
    case StatementKind::Return:
        if (const auto& result = as<program::Return>(node).value)
            frame_->result = cut(value(*result));
        return Flow::Return;
    case StatementKind::Delete:
        erase(as<program::Delete>(node));
        return Flow::On;
    case StatementKind::TryCatch:
        return try_catch(as<program::TryCatch>(node));
    default:
        throw Unknown("a statement");
    }
}

Flow Interpreter::loop(const program::Loop& node) {
    if (node.init)
        value(*node.init);
    while (!node.condition || holds(*node.condition)) {
        const Flow flow = statement(*node.body);
        if (flow == Flow::Break)
            break;
        if (flow == Flow::Next || flow == Flow::Return)
            return flow;
        if (node.step)
            value(*node.step);
    }
    return Flow::On;
}

Flow Interpreter::foreach_element(const program::Foreach& node) {
    const auto slice = keys(node.slice);
    std::vector<Element> chosen;
    for (const Element& element : storage(*node.array).elements)
        if (fits(element, slice))
            chosen.push_back(element);
    auto rank = [&](const Element& element) -> Value {
        if (node.sort_key > 0)
            return element.keys[static_cast<size_t>(node.sort_key) - 1];
        return node.array->value == Type::Statistic ? Value(element.statistic.read(node.sort_stat))
                                                    : element.value;
    };
    if (node.sort_key >= 0)
        std::stable_sort(chosen.begin(), chosen.end(), [&](const Element& a, const Element& b) {
            return node.ascending ? rank(a) < rank(b) : rank(b) < rank(a);
        });
    if (node.limit) {
        const int64_t limit = std::max<int64_t>(0, number(*node.limit));
        if (chosen.size() > static_cast<uint64_t>(limit))
            chosen.resize(static_cast<size_t>(limit));
    }
    for (const Element& element : chosen) {
        for (size_t i = 0; i < node.keys.size(); i++)
            frame_->locals[node.keys[i]] = element.keys[i];
        if (node.value)
            frame_->locals[*node.value] = node.array->value == Type::Statistic
                                              ? Value(element.statistic.count)
                                              : element.value;
        const Flow flow = statement(*node.body);
        if (flow == Flow::Break)
            break;
        if (flow == Flow::Next || flow == Flow::Return)
            return flow;
    }
    return Flow::On;
}

Flow Interpreter::foreach_bucket(const program::Foreach& node) {
    const auto& read = as<program::StatisticRead>(*node.histogram);
    const int64_t buckets = bucket_count(as<program::GlobalValue>(*read.place).global->statistic);
    int64_t count = buckets;
    if (node.limit)
        count = std::clamp<int64_t>(number(*node.limit), 0, buckets);
    const Statistic* found = node.value ? find_statistic(*read.place) : nullptr;
    const Statistic statistic = found ? *found : Statistic();
    for (int64_t i = 0; i < count; i++) {
        const int64_t bucket = node.sort_key == 1 && !node.ascending ? buckets - 1 - i : i;
        frame_->locals[node.keys[0]] = bucket;
        if (node.value) {
            auto hits = statistic.hits.find(bucket);
            frame_->locals[*node.value] = hits == statistic.hits.end() ? int64_t{0} : hits->second;
        }
        const Flow flow = statement(*node.body);
        if (flow == Flow::Break)
            break;
        if (flow == Flow::Next || flow == Flow::Return)
            return flow;
    }
    return Flow::On;
}

Flow Interpreter::try_catch(const program::TryCatch& node) {
    Frame* const frame = frame_;
    try {
        return statement(*node.body);
    } catch (const ScriptError& error) {
        frame_ = frame;
        if (node.message)
            frame_->locals[*node.message] = cut(error.message);
    }
    return statement(*node.handler);
}

void Interpreter::erase(const program::Delete& node) {
    const auto wanted = keys(node.keys);
    Storage& all = storage(*node.global);
    if (node.global->is_array()) {
        std::erase_if(all.elements, [&](const Element& element) { return fits(element, wanted); });
        return;
    }
    all.value = nothing(node.global->value);
    all.statistic = Statistic();
}

// ---- a session ----

void Interpreter::make_globals() {
    for (const auto& global : program_.globals) {
        Storage& made = globals_[global.get()];
        made.value = global->value == Type::String ? cut(global->initial_text)
                                                   : Value(global->initial_number);
    }
}

void Interpreter::run_probe(const program::Probe& probe) {
    Frame frame;
    for (const program::Local& local : probe.locals)
        frame.locals.push_back(nothing(local.type));
    frame_ = &frame;
    nesting_ = 0;
    try {
        block(*probe.body);
    } catch (const ScriptError& error) {
        outcome_.messages.push_back("ERROR: " + error.message);
        outcome_.status = 1;
        if (++errors_ > rules_.max_errors)
            exit_ = failed_ = true;
    }
}

void Interpreter::run_probes(const char* point) {
    std::vector<std::pair<int64_t, const program::Probe*>> probes;
    for (const auto& probe : program_.probes)
        for (const ast::ProbePoint* each : probe->points)
            if (each->components[0].name == point)
                probes.emplace_back(each->components[0].number, probe.get());
    std::stable_sort(probes.begin(), probes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [priority, probe] : probes) {
        if (std::string(point) == "begin" && exit_)
            return;
        run_probe(*probe);
    }
}

// Only one: who of several is first is nobody's promise.
void Interpreter::run_timer() {
    const program::Probe* timer = nullptr;
    for (const auto& probe : program_.probes)
        if (probe->points.front()->components[0].name == "timer")
            timer = probe.get();
    constexpr int most = 1000;
    for (int i = 0; i < most && timer && !exit_; i++)
        run_probe(*timer);
    if (!exit_)
        throw Unknown("a script that does not end");
}

Outcome Interpreter::run() {
    try {
        make_globals();
        run_probes("begin");
        run_timer();
        if (!failed_)
            run_probes("end");
        if (failed_)
            run_probes("error");
    } catch (const Unknown& what) {
        outcome_.refused = what.what();
    }
    return outcome_;
}

} // namespace

Outcome interpret(const program::Program& program, const Rules& rules) {
    return Interpreter(program, rules).run();
}

} // namespace djstap::differential
