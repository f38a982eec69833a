// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/command_line.h"

#include "diagnostics/suggest.h"
#include "system/number.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <deque>
#include <sstream>
#include <variant>

namespace djstap {

namespace {

constexpr int64_t largest_pid = 4194304;

std::optional<int64_t> number(std::string_view text) {
    int64_t value = 0;
    return parse_number(text, value) ? std::optional(value) : std::nullopt;
}

struct Unit {
    std::string_view name;
    int64_t nanoseconds;
};
constexpr std::array units = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"min", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

// Why a value does not fit, and an example of one that does.
struct Misfit {
    std::string message, hint;
};
using Converted = std::variant<std::string, Misfit>;

// A number without a unit counts in the unit of the script. It may have a fraction: 1.5s.
Converted convert_duration(const ToolOption& option, const std::string& text) {
    const Misfit malformed{"it is not a duration",
                           "a duration is a number with ns, us, ms, s, min or h: 500ms"};
    const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string amount = text.substr(0, end), suffix = text.substr(end);
    const size_t point = std::min(amount.find('.'), amount.size());
    const auto unit = std::ranges::find(units, suffix, &Unit::name);
    const auto whole = number(std::string_view(amount).substr(0, point));
    const std::string digits = point < amount.size() ? amount.substr(point + 1) : "0";
    const auto fraction = number(digits);
    if (!whole || !fraction || (!suffix.empty() && unit == units.end()))
        return malformed;
    const int64_t own = unit_of(option.type);
    const int64_t of_unit = suffix.empty() ? own : unit->nanoseconds;
    int64_t scale = 1, part = 0, nanoseconds = 0;
    for (size_t i = 0; i < digits.size(); i++)
        if (__builtin_mul_overflow(scale, 10, &scale))
            return malformed;
    if (__builtin_mul_overflow(*fraction, of_unit, &part))
        return malformed;
    if (__builtin_mul_overflow(*whole, of_unit, &nanoseconds) ||
        __builtin_add_overflow(nanoseconds, part / scale, &nanoseconds))
        return Misfit{"it is longer than 292 years", ""};
    if (part % scale || nanoseconds % own)
        return Misfit{"it is not a whole number of " + std::string(name_of(option.type)), ""};
    return std::to_string(nanoseconds / own);
}

Converted convert(const ToolOption& option, const std::string& text) {
    switch (option.type) {
    case ToolType::Integer:
        if (const auto value = number(text))
            return std::to_string(*value);
        return Misfit{"it is not a whole number", "such as 10"};
    case ToolType::Text:
        return text;
    case ToolType::Pid:
        if (const auto value = number(text); value && *value > 0 && *value <= largest_pid)
            return text;
        return Misfit{"it is not a process ID", "pgrep NAME prints that of a program"};
    case ToolType::Flag:
        for (const char* yes : {"yes", "true", "on", "1"})
            if (text == yes)
                return "1";
        for (const char* no : {"no", "false", "off", "0"})
            if (text == no)
                return "0";
        return Misfit{"it is neither yes nor no", "--" + option.name + " alone means yes"};
    case ToolType::Output:
        return text.empty() ? Converted(Misfit{"the name of the file is missing",
                                               "--" + option.name + " FILE"})
                            : Converted("1");
    case ToolType::Nanoseconds:
    case ToolType::Microseconds:
    case ToolType::Milliseconds:
    case ToolType::Seconds:
        return convert_duration(option, text);
    }
    return Misfit{"its type is unknown", ""};
}

// Breaks the text into lines that begin with `indent` spaces; the first continues a line that is
// `column` characters long.
std::string wrapped(const std::string& text, size_t indent, size_t column) {
    constexpr size_t width = 100;
    std::string out;
    std::istringstream words(text);
    bool first = true;
    for (std::string word; words >> word; first = false) {
        if (!first && column + 1 + word.size() > width) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!first) {
            out += ' ';
            column++;
        }
        out += word;
        column += word.size();
    }
    return out;
}

// Returns rows of a term and its explanation, below a title; "" without rows.
std::string table(const std::string& title, const std::vector<ToolWord>& rows) {
    if (rows.empty())
        return {};
    size_t widest = 0;
    for (const ToolWord& row : rows)
        widest = std::max(widest, row.name.size());
    std::string out = "\n" + title + ":\n";
    for (const ToolWord& row : rows) {
        const size_t column = widest + 4;
        out += "  " + row.name + std::string(column - 2 - row.name.size(), ' ') +
               wrapped(row.text, column, column) + "\n";
    }
    return out;
}

// Writes "--NAME=" as "--NAME" and "": CLI11 takes the former for a missing value.
void split_empty_values(const ToolHeader& header, std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size() && words[i] != "--"; i++) {
        for (const ToolOption& option : header.options) {
            if (option.type != ToolType::Flag && words[i] == "--" + option.name + "=") {
                words[i].pop_back();
                words.insert(words.begin() + static_cast<std::ptrdiff_t>(++i), "");
                break;
            }
        }
    }
}

} // namespace

std::optional<ToolRequest> parse_request(const ToolHeader& header, const std::string& name,
                                         std::vector<std::string> words, Diagnostics& diagnostics) {
    ToolRequest request;
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    app.add_flag("-h,--help", request.help);
    app.add_option("arguments", request.arguments);
    std::deque<std::string> values; // options refer to them
    std::vector<std::pair<const ToolOption*, CLI::Option*>> declared;
    for (const ToolOption& option : header.options) {
        std::string& value = values.emplace_back();
        CLI::Option* const made = option.type == ToolType::Flag
                                      ? app.add_flag("--" + option.name)
                                      : app.add_option("--" + option.name, value)->type_size(1);
        made->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        declared.emplace_back(&option, made);
    }
    const size_t before = diagnostics.error_count();
    auto wrong = [&](const std::string& message) -> Diagnostic& {
        return diagnostics.report(DiagnosticKind::BadToolOption, {}, {message});
    };
    const std::string see = "djstap --example " + name + " -- --help lists its options";
    split_empty_values(header, words);
    try {
        std::reverse(words.begin(), words.end()); // the order that CLI11 expects
        app.parse(words);
    } catch (const CLI::ParseError& error) {
        wrong(name + ": " + error.what()).hint(see);
        return std::nullopt;
    }
    if (request.help)
        return request;
    for (const std::string& extra : app.remaining()) {
        if (extra == "--")
            continue;
        const std::string option = extra.substr(0, extra.find('='));
        std::vector<std::string> names = {"--help"};
        for (const ToolOption& each : header.options)
            names.push_back("--" + each.name);
        const std::string hint = did_you_mean(option, names);
        wrong(name + " has no option " + option).hint(hint.empty() ? see : hint);
    }
    if (diagnostics.error_count() != before)
        return std::nullopt; // the words behind such an option may be its values
    for (const auto& [option, given] : declared) {
        if (given->count() == 0)
            continue;
        const std::string text = given->as<std::string>();
        const Converted value = convert(*option, text);
        if (const auto* misfit = std::get_if<Misfit>(&value))
            diagnostics
                .report(DiagnosticKind::BadToolValue, option->range,
                        {option->name, text, misfit->message})
                .hint(misfit->hint);
        else
            request.global_values.emplace_back(option->global(), std::get<std::string>(value));
        if (option->type == ToolType::Output)
            request.outputs.push_back(option->name + ":" + text);
    }
    if (request.arguments.size() < header.arguments.size()) {
        const ToolWord& missing = header.arguments[request.arguments.size()];
        wrong(name + " needs an argument " + missing.name + ": " + missing.text).hint(see);
    } else if (request.arguments.size() > header.arguments.size()) {
        wrong(name + ": '" + request.arguments[header.arguments.size()] +
              "' is more than the arguments that it takes")
            .hint(see);
    }
    return diagnostics.error_count() == before ? std::optional(std::move(request)) : std::nullopt;
}

std::string help_text(const ToolHeader& header, const std::string& call) {
    std::string out = header.summary + "\n\nUsage: " + call + " [OPTIONS of djstap]";
    if (!header.options.empty() || !header.arguments.empty())
        out += " --";
    for (const ToolWord& argument : header.arguments)
        out += " " + argument.name;
    out += header.options.empty() ? "\n" : " [OPTIONS]\n";
    std::istringstream paragraphs(header.description);
    for (std::string paragraph; std::getline(paragraphs, paragraph);)
        out += paragraph.empty() ? "" : "\n" + wrapped(paragraph, 0, 0) + "\n";
    out += table("Arguments", header.arguments);
    std::vector<ToolWord> rows;
    for (const ToolOption& option : header.options) {
        const std::string value(value_of(option.type));
        std::string text = option.text;
        if (option.type == ToolType::Output)
            text += " (output)";
        else if (option.type != ToolType::Flag)
            text += " (" + std::string(name_of(option.type)) + ", default: " + option.initial + ")";
        else if (option.initial == "1")
            text += " (flag, default: yes)";
        else
            text += " (flag)";
        rows.push_back({"--" + option.name + (value.empty() ? "" : " " + value), text});
    }
    out += table("Options", rows);
    out += table("Output", header.columns);
    if (!header.cost.empty())
        out += "\nCost: " + wrapped(header.cost, 0, 6) + "\n";
    if (!header.examples.empty())
        out += "\nExamples:\n";
    for (const std::string& example : header.examples)
        out += "  " + call + (example.empty() ? "" : " ") + example + "\n";
    return out;
}

} // namespace djstap
