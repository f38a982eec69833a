// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/print.h"

namespace djstap::program {

namespace {

class Printer {
  public:
    std::string run(const Program& program) {
        for (const auto& item : program.globals)
            global(*item);
        for (const auto& item : program.functions)
            function(*item);
        for (const auto& item : program.probes)
            probe(*item);
        return std::move(out_);
    }

  private:
    void line(const std::string& text) {
        out_ += std::string(static_cast<size_t>(indent_) * 4, ' ') + text + "\n";
    }
    std::string text(const ExpressionPtr& node) const { return node ? print(*node, *locals_) : ""; }

    void global(const Global& item) {
        std::string types;
        for (const Type key : item.keys)
            types += std::string(types.empty() ? "[" : ", ") + type_text(key);
        if (!types.empty())
            types += "]";
        std::string rest;
        if (item.wrap)
            rest += ", wraps";
        if (item.size)
            rest += ", size " + std::to_string(item.size);
        if (item.value == Type::String && !item.initial_text.empty())
            rest += ", initially " + text_literal(item.initial_text);
        if (item.value == Type::Long && item.initial_number)
            rest += ", initially " + std::to_string(item.initial_number);
        const StatisticNeeds& needs = item.statistic;
        if (item.value == Type::Statistic) {
            rest += ", keeps count";
            rest += needs.min ? " min" : "";
            rest += needs.max ? " max" : "";
            rest += needs.sum ? " sum" : "";
            rest += needs.variance ? " variance/" + std::to_string(needs.variance_shift) : "";
            if (needs.histogram == StatisticNeeds::Histogram::Log)
                rest += " hist_log";
            if (needs.histogram == StatisticNeeds::Histogram::Linear)
                rest += " hist_linear(" + std::to_string(needs.low) + ", " +
                        std::to_string(needs.high) + ", " + std::to_string(needs.width) + ")";
        }
        static constexpr const char* storages[] = {"per CPU", "locked", "constant"};
        line("global " + item.name + types + ": " + type_text(item.value) + ", " +
             storages[static_cast<int>(item.storage)] + rest);
    }

    void locals(const std::vector<Local>& items, size_t from) {
        std::string list;
        for (size_t i = from; i < items.size(); ++i)
            list += (list.empty() ? "" : ", ") + items[i].name + ": " + type_text(items[i].type);
        if (!list.empty())
            line("local " + list);
    }

    void effects(const Effects& item) {
        std::string list;
        auto add = [&](bool is, const char* name) {
            if (is)
                list += (list.empty() ? "" : ", ") + std::string(name);
        };
        for (const Global* read : item.reads)
            list += (list.empty() ? "" : ", ") + ("reads " + read->name);
        for (const Global* write : item.writes)
            list += (list.empty() ? "" : ", ") + ("writes " + write->name);
        add(item.prints, "prints");
        add(item.can_fail, "can fail");
        add(item.loops, "loops");
        add(item.strings, "strings");
        add(item.can_exit, "can exit");
        if (!list.empty())
            line("# " + list);
    }

    void function(const Function& item) {
        locals_ = &item.locals;
        std::string parameters;
        for (size_t i = 0; i < item.parameter_count; ++i)
            parameters +=
                (i ? ", " : "") + item.locals[i].name + ": " + type_text(item.locals[i].type);
        std::string head =
            "function " + item.name + "(" + parameters + "): " + type_text(item.return_type);
        if (item.pure)
            head += ", pure";
        if (item.recursive)
            head += ", recursive";
        if (!item.intrinsic.empty())
            return line(head + ", intrinsic");
        if (!item.body)
            return line(head + " %{" + item.embedded + "%}");
        line(head);
        ++indent_;
        effects(item.effects);
        locals(item.locals, item.parameter_count);
        body(*item.body);
        --indent_;
    }

    void probe(const Probe& item) {
        locals_ = &item.locals;
        std::string points;
        for (const ast::ProbePoint* point : item.points)
            points += (points.empty() ? "" : ", ") + ast::to_string(*point);
        line("probe " + points + (item.is_return ? " (return)" : "") +
             (item.synthetic ? " (synthetic)" : ""));
        ++indent_;
        effects(item.effects);
        if (item.condition)
            line("if " + text(item.condition));
        locals(item.locals, 0);
        for (size_t i = 0; i < item.entry_values.size(); ++i)
            line("entry#" + std::to_string(i) + " = " + text(item.entry_values[i]));
        body(*item.body);
        --indent_;
    }

    void nested(const StatementPtr& node) {
        ++indent_;
        if (node)
            statement(*node);
        --indent_;
    }

    void body(const Block& block) {
        for (const StatementPtr& item : block.statements)
            statement(*item);
    }

    std::string list(const std::vector<ExpressionPtr>& items) const {
        std::string result;
        for (const ExpressionPtr& item : items)
            result += (result.empty() ? "" : ", ") + (item ? text(item) : std::string("*"));
        return result;
    }

    void foreach_loop(const Foreach& loop) {
        std::string head = "foreach (";
        if (loop.value)
            head += locals_->at(*loop.value).name + " = ";
        std::string keys;
        for (const uint32_t key : loop.keys)
            keys += (keys.empty() ? "" : ", ") + locals_->at(key).name;
        head += "[" + keys + "] in " + (loop.array ? loop.array->name : text(loop.histogram));
        if (!loop.slice.empty())
            head += "[" + list(loop.slice) + "]";
        if (loop.sort_key >= 0)
            head += std::string(" sorted by ") +
                    (loop.sort_key == 0 ? "value" : "key " + std::to_string(loop.sort_key)) +
                    (loop.ascending ? ", rising" : ", falling");
        if (loop.limit)
            head += " limit " + text(loop.limit);
        line(head + ")");
        nested(loop.body);
    }

    void statement(const Statement& node) {
        switch (node.kind) {
        case StatementKind::Block:
            return body(as<Block>(node));
        case StatementKind::Evaluate:
            return line(text(as<Evaluate>(node).expression));
        case StatementKind::If:
            line("if " + text(as<If>(node).condition));
            nested(as<If>(node).then_branch);
            if (as<If>(node).else_branch) {
                line("else");
                nested(as<If>(node).else_branch);
            }
            return;
        case StatementKind::Loop:
            line("for (" + text(as<Loop>(node).init) + "; " + text(as<Loop>(node).condition) +
                 "; " + text(as<Loop>(node).step) + ")");
            return nested(as<Loop>(node).body);
        case StatementKind::Foreach:
            return foreach_loop(as<Foreach>(node));
        case StatementKind::Break:
            return line("break");
        case StatementKind::Continue:
            return line("continue");
        case StatementKind::Next:
            return line("next");
        case StatementKind::Return:
            return line("return " + text(as<Return>(node).value));
        case StatementKind::Delete: {
            const auto& deletion = as<Delete>(node);
            return line("delete " + deletion.global->name +
                        (deletion.keys.empty() ? "" : "[" + list(deletion.keys) + "]"));
        }
        case StatementKind::TryCatch: {
            const auto& attempt = as<TryCatch>(node);
            line("try");
            nested(attempt.body);
            line("catch" +
                 (attempt.message ? " (" + locals_->at(*attempt.message).name + ")" : ""));
            return nested(attempt.handler);
        }
        case StatementKind::EmbeddedStatement:
            return line("%{" + as<EmbeddedStatement>(node).code + "%}");
        }
    }

    std::string out_;
    int indent_ = 0;
    const std::vector<Local>* locals_ = nullptr;
};

} // namespace

std::string print(const Program& program) {
    return Printer().run(program);
}

} // namespace djstap::program
