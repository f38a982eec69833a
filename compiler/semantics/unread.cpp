// SPDX-License-Identifier: GPL-2.0-or-later
// Globals that are written and never read are printed when the session ends.
#include "semantics/format.h"
#include "semantics/passes.h"
#include "semantics/walk.h"

#include <limits>

namespace djstap::semantics {

using namespace program;

namespace {

class Printer {
  public:
    explicit Printer(Probe& probe) : probe_(probe) {}

    StatementPtr show(const Global& global) {
        if (!global.is_array())
            return line(global, {});
        auto loop = std::make_unique<program::Foreach>();
        loop->range = global.range;
        loop->array = &global;
        loop->sort_key = 0;
        loop->ascending = false;
        for (size_t i = 0; i < global.keys.size(); ++i) {
            loop->keys.push_back(static_cast<uint32_t>(probe_.locals.size()));
            probe_.locals.push_back({"key" + std::to_string(i + 1), global.keys[i], global.range});
        }
        loop->body = line(global, loop->keys);
        return loop;
    }

  private:
    ExpressionPtr value(const Global& global, const std::vector<uint32_t>& keys) {
        auto place = std::make_unique<GlobalValue>();
        place->range = global.range;
        place->global = &global;
        place->type = global.value;
        for (size_t i = 0; i < keys.size(); ++i)
            place->keys.push_back(key(global, keys[i], i));
        return place;
    }
    ExpressionPtr key(const Global& global, uint32_t local, size_t index) {
        auto value = std::make_unique<LocalValue>();
        value->range = global.range;
        value->local = local;
        value->type = global.keys[index];
        return value;
    }
    ExpressionPtr read(const Global& global, const std::vector<uint32_t>& keys, ast::StatOp op) {
        auto node = std::make_unique<StatisticRead>();
        node->range = global.range;
        node->op = op;
        node->place = value(global, keys);
        return node;
    }

    static void convert(program::Print& print, char conversion, ExpressionPtr argument) {
        if (print.format.empty() || print.format.back().conversion)
            print.format.emplace_back();
        print.format.back().conversion = conversion;
        print.arguments.push_back(std::move(argument));
    }

    // name, or name[keys…]
    void head(program::Print& print, const Global& global, const std::vector<uint32_t>& keys) {
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

    static StatementPtr evaluate(std::unique_ptr<program::Print> print) {
        print->type = Type::Void;
        auto statement = std::make_unique<Evaluate>();
        statement->range = print->range;
        statement->expression = std::move(print);
        return statement;
    }

    StatementPtr line(const Global& global, const std::vector<uint32_t>& keys) {
        auto print = std::make_unique<program::Print>();
        print->range = global.range;
        head(*print, global, keys);
        if (global.value == Type::Statistic)
            return statistic_line(global, keys, std::move(print));
        const bool text = global.value == Type::String;
        append_literal(print->format, text ? "=\"" : "=");
        convert(*print, text ? 's' : 'd', value(global, keys));
        append_literal(print->format, text ? "\"\n" : "\n");
        return evaluate(std::move(print));
    }

    // An empty statistic is not shown.
    StatementPtr statistic_line(const Global& global, const std::vector<uint32_t>& keys,
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
        auto branch = std::make_unique<program::If>();
        branch->range = global.range;
        branch->condition = read(global, keys, ast::StatOp::Count);
        branch->then_branch = evaluate(std::move(print));
        return branch;
    }

    Probe& probe_;
};

// Adds the point NAME(N), the last of all such probes.
void add_point(Program& program, Probe& probe, const PointShapes& points, PointTrait trait) {
    auto point = std::make_unique<ast::ProbePoint>();
    point->range = probe.range;
    point->components.emplace_back();
    ast::PointComponent& component = point->components.back();
    component.name = points.numbered(trait);
    component.range = probe.range;
    component.argument = ast::PointComponent::Argument::Number;
    component.number = std::numeric_limits<int32_t>::max();
    probe.point_numbers.push_back(static_cast<uint32_t>(probe.points.size()));
    probe.points.push_back(point.get());
    probe.point_traits.push_back(points.traits(*point));
    probe.alias_names.emplace_back();
    program.expanded_points.push_back(std::move(point));
}

} // namespace

void print_unread(Program& program, const GlobalUses& uses, const PointShapes& points) {
    std::unique_ptr<Probe> probe;
    for (auto& global : program.globals) {
        const auto found = uses.find(global.get());
        if (found == uses.end() || !found->second.written || found->second.read)
            continue;
        if (!probe) {
            probe = std::make_unique<Probe>();
            probe->synthetic = true;
            probe->range = global->range;
            probe->body = std::make_unique<program::Block>();
            probe->body->range = global->range;
        }
        probe->body->statements.push_back(Printer(*probe).show(*global));
    }
    if (!probe)
        return;
    // After every other end probe, and after the script's error probes, which run instead of end
    // probes after an error.
    add_point(program, *probe, points, PointEndsSession);
    if (program::has_probe_of(program, PointEndsFailed))
        add_point(program, *probe, points, PointEndsFailed);
    probe->declaration = program.probes.empty() ? 0 : program.probes.back()->declaration + 1;
    program.probes.push_back(std::move(probe));
}

} // namespace djstap::semantics
