// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/shown.h"

#include "semantics/format.h"
#include "semantics/walk.h"

#include <limits>

namespace djstap::semantics {

using namespace program;

StatementPtr GlobalPrinter::show(const Global& global, int64_t limit) {
    if (!global.is_array())
        return line(global, {});
    auto loop = std::make_unique<program::Foreach>();
    loop->sort_key = 0;
    loop->ascending = false;
    if (limit)
        loop->limit = number_of(limit, global.range);
    return each(global, std::move(loop), false);
}

StatementPtr GlobalPrinter::show_whole(const Global& global) {
    if (!global.is_array())
        return take(global, whole(global, {}), {});
    return each(global, std::make_unique<program::Foreach>(), true);
}

// An element is deleted at once. The loop over a large array pauses between elements, and what
// others add meanwhile to one that has been printed belongs to the next snapshot.
StatementPtr GlobalPrinter::take(const Global& global, StatementPtr shown,
                                 const std::vector<uint32_t>& keys) {
    if (!global.is_taken)
        return shown;
    auto take = std::make_unique<program::Delete>();
    take->range = global.range;
    take->global = &global;
    for (size_t i = 0; i < keys.size(); ++i)
        take->keys.push_back(key(global, keys[i], i));
    auto both = std::make_unique<program::Block>();
    both->range = global.range;
    both->statements.push_back(std::move(shown));
    both->statements.push_back(std::move(take));
    return both;
}

StatementPtr GlobalPrinter::each(const Global& global, std::unique_ptr<program::Foreach> loop,
                                 bool whole_line) {
    loop->range = global.range;
    loop->array = &global;
    for (size_t i = 0; i < global.keys.size(); ++i) {
        loop->keys.push_back(static_cast<uint32_t>(probe_.locals.size()));
        probe_.locals.push_back({"key" + std::to_string(i + 1), global.keys[i], global.range});
    }
    loop->body =
        whole_line ? take(global, whole(global, loop->keys), loop->keys) : line(global, loop->keys);
    return loop;
}

StatementPtr GlobalPrinter::whole(const Global& global, const std::vector<uint32_t>& keys) {
    if (global.value != Type::Statistic ||
        global.statistic.histogram == StatisticNeeds::Histogram::None)
        return line(global, keys);
    auto both = std::make_unique<program::Block>();
    both->range = global.range;
    both->statements.push_back(line(global, keys));
    both->statements.push_back(histogram_line(global, keys));
    return both;
}

StatementPtr GlobalPrinter::histogram_line(const Global& global,
                                           const std::vector<uint32_t>& keys) {
    auto print = begin_print(global.range);
    head(*print, global, keys);
    append_literal(print->format, "\n");
    auto histogram = std::make_unique<HistogramText>();
    histogram->range = global.range;
    histogram->type = Type::String;
    histogram->op = global.statistic.histogram == StatisticNeeds::Histogram::Log
                        ? ast::StatOp::HistLog
                        : ast::StatOp::HistLinear;
    histogram->place = value(global, keys);
    convert(*print, 'H', std::move(histogram));
    auto statement = evaluate(std::move(print));
    return keys.empty() ? unless_empty(global, std::move(statement)) : std::move(statement);
}

ExpressionPtr GlobalPrinter::value(const Global& global, const std::vector<uint32_t>& keys) {
    auto place = std::make_unique<GlobalValue>();
    place->range = global.range;
    place->global = &global;
    place->type = global.value;
    for (size_t i = 0; i < keys.size(); ++i)
        place->keys.push_back(key(global, keys[i], i));
    return place;
}

ExpressionPtr GlobalPrinter::key(const Global& global, uint32_t local, size_t index) {
    auto value = std::make_unique<LocalValue>();
    value->range = global.range;
    value->local = local;
    value->type = global.keys[index];
    return value;
}

ExpressionPtr GlobalPrinter::read(const Global& global, const std::vector<uint32_t>& keys,
                                  ast::StatOp op) {
    auto node = std::make_unique<StatisticRead>();
    node->range = global.range;
    node->op = op;
    node->place = value(global, keys);
    return node;
}

std::unique_ptr<program::Print> GlobalPrinter::begin_print(SourceRange range) const {
    auto print = std::make_unique<program::Print>();
    print->in_snapshot = in_snapshot_;
    print->range = range;
    return print;
}

void GlobalPrinter::convert(program::Print& print, char conversion, ExpressionPtr argument) {
    if (print.format.empty() || print.format.back().conversion)
        print.format.emplace_back();
    print.format.back().conversion = conversion;
    print.arguments.push_back(std::move(argument));
}

// name, or name[keys…]
void GlobalPrinter::head(program::Print& print, const Global& global,
                         const std::vector<uint32_t>& keys) {
    append_literal(print.format, global.name);
    print.shows = global.name;
    print.keys = static_cast<uint32_t>(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
        const bool text = global.keys[i] == Type::String;
        append_literal(print.format, std::string(i == 0 ? "[" : ",") + (text ? "\"" : ""));
        convert(print, text ? 's' : 'd', key(global, keys[i], i));
        if (text)
            append_literal(print.format, "\"");
    }
    if (!keys.empty())
        append_literal(print.format, "]");
}

StatementPtr GlobalPrinter::evaluate(std::unique_ptr<program::Print> print) {
    print->type = Type::Void;
    auto statement = std::make_unique<Evaluate>();
    statement->range = print->range;
    statement->expression = std::move(print);
    return statement;
}

StatementPtr GlobalPrinter::line(const Global& global, const std::vector<uint32_t>& keys) {
    auto print = begin_print(global.range);
    head(*print, global, keys);
    if (global.value == Type::Statistic)
        return statistic_line(global, keys, std::move(print));
    const bool text = global.value == Type::String;
    append_literal(print->format, text ? "=\"" : "=");
    convert(*print, text ? 's' : 'd', value(global, keys));
    append_literal(print->format, text ? "\"\n" : "\n");
    return evaluate(std::move(print));
}

StatementPtr GlobalPrinter::statistic_line(const Global& global, const std::vector<uint32_t>& keys,
                                           std::unique_ptr<program::Print> print) {
    static constexpr std::pair<ast::StatOp, const char*> columns[] = {
        {ast::StatOp::Count, " @count="},
        {ast::StatOp::Min, " @min="},
        {ast::StatOp::Max, " @max="},
        {ast::StatOp::Sum, " @sum="},
        {ast::StatOp::Avg, " @avg="}};
    for (const auto& [op, text] : columns) {
        append_literal(print->format, text);
        convert(*print, 'd', read(global, keys, op));
    }
    append_literal(print->format, "\n");
    if (!keys.empty())
        return evaluate(std::move(print));
    return unless_empty(global, evaluate(std::move(print)));
}

StatementPtr GlobalPrinter::unless_empty(const Global& statistic, StatementPtr statement,
                                         StatementPtr otherwise) {
    auto branch = std::make_unique<program::If>();
    branch->range = statistic.range;
    branch->condition = read(statistic, {}, ast::StatOp::Count);
    branch->then_branch = std::move(statement);
    branch->else_branch = std::move(otherwise);
    return branch;
}

ExpressionPtr number_of(int64_t value, SourceRange range) {
    auto node = std::make_unique<Number>();
    node->range = range;
    node->value = value;
    return node;
}

ExpressionPtr text_of(std::string text, SourceRange range) {
    auto node = std::make_unique<Text>();
    node->range = range;
    node->type = Type::String;
    node->value = std::move(text);
    return node;
}

std::unique_ptr<Probe> synthetic_probe(SourceRange range) {
    auto probe = std::make_unique<Probe>();
    probe->synthetic = true;
    probe->range = range;
    probe->body = std::make_unique<program::Block>();
    probe->body->range = range;
    return probe;
}

void add_point(Program& program, Probe& probe, const PointShapes& points, PointTrait trait,
               int64_t number) {
    auto point = std::make_unique<ast::ProbePoint>();
    point->range = probe.range;
    const std::string name = points.numbered(trait);
    for (size_t begin = 0; begin < name.size();) {
        const size_t end = std::min(name.find('.', begin), name.size());
        point->components.emplace_back();
        point->components.back().name = name.substr(begin, end - begin);
        point->components.back().range = probe.range;
        begin = end + 1;
    }
    ast::PointComponent& last = point->components.back();
    last.argument = ast::PointComponent::Argument::Number;
    last.number = number;
    probe.point_numbers.push_back(static_cast<uint32_t>(probe.points.size()));
    probe.points.push_back(point.get());
    probe.point_traits.push_back(points.traits(*point));
    probe.alias_names.emplace_back();
    program.expanded_points.push_back(std::move(point));
}

void add_probe(Program& program, std::unique_ptr<Probe> probe) {
    probe->declaration = program.probes.empty() ? 0 : program.probes.back()->declaration + 1;
    program.probes.push_back(std::move(probe));
}

void add_last_probe(Program& program, std::unique_ptr<Probe> probe, const PointShapes& points) {
    constexpr int64_t last = std::numeric_limits<int32_t>::max();
    add_point(program, *probe, points, PointEndsSession, last);
    if (program::has_probe_of(program, PointEndsFailed))
        add_point(program, *probe, points, PointEndsFailed, last);
    add_probe(program, std::move(probe));
}

} // namespace djstap::semantics
