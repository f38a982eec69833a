// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/header.h"

#include "diagnostics/suggest.h"
#include "system/file.h"

#include <algorithm>
#include <array>

namespace djstap {

namespace {

struct TypeRow {
    ToolType type;
    std::string_view name, value;
    int64_t unit;
};

constexpr std::array types = {
    TypeRow{ToolType::Integer, "integer", "NUMBER", 0},
    TypeRow{ToolType::Text, "text", "TEXT", 0},
    TypeRow{ToolType::Pid, "pid", "PID", 0},
    TypeRow{ToolType::Flag, "flag", "", 0},
    TypeRow{ToolType::Output, "output", "FILE", 0},
    TypeRow{ToolType::Nanoseconds, "nanoseconds", "DURATION", 1},
    TypeRow{ToolType::Microseconds, "microseconds", "DURATION", 1'000},
    TypeRow{ToolType::Milliseconds, "milliseconds", "DURATION", 1'000'000},
    TypeRow{ToolType::Seconds, "seconds", "DURATION", 1'000'000'000},
};

const TypeRow& row_of(ToolType type) {
    return types[static_cast<size_t>(type)];
}

// A line of the comment without its mark, and where it begins in the source.
struct CommentLine {
    std::string_view text;
    uint32_t begin = 0;
};

std::vector<CommentLine> comment_at_beginning(std::string_view source) {
    std::vector<CommentLine> lines;
    for (size_t begin = 0; begin < source.size();) {
        const size_t end = std::min(source.find('\n', begin), source.size());
        const std::string_view line = source.substr(begin, end - begin);
        const size_t mark = line.starts_with("//") ? 2 : line.starts_with("#") ? 1 : 0;
        if (mark)
            lines.push_back({line.substr(mark), static_cast<uint32_t>(begin + mark)});
        else if (!trimmed(line).empty())
            break;
        begin = end + 1;
    }
    return lines;
}

class HeaderReader {
  public:
    HeaderReader(const SourceManager& sources, uint32_t source, Diagnostics& diagnostics)
        : source_(source), text_(sources.file(source).text), diagnostics_(diagnostics) {}

    std::optional<ToolHeader> read() {
        const size_t before = diagnostics_.error_count();
        for (const CommentLine& line : comment_at_beginning(text_)) {
            const std::string_view words = trimmed(line.text);
            if (words.starts_with('@'))
                tag(words);
            else if (continued_ && !words.empty())
                append(*continued_, words);
            else if (continued_ == &header_.description && !header_.description.empty())
                header_.description += "\n\n"; // a paragraph
        }
        while (header_.description.ends_with('\n'))
            header_.description.pop_back();
        if (header_.subject.empty() && diagnostics_.error_count() == before)
            diagnostics_
                .report(DiagnosticKind::NotATool, {source_, 0, 0, 0},
                        {"the script has no line // @tool SUBJECT: WHAT IT ANSWERS"})
                .hint("without it, a script is run by its file name alone: djstap FILE");
        return diagnostics_.error_count() == before ? std::optional(std::move(header_))
                                                    : std::nullopt;
    }

  private:
    SourceRange range(std::string_view part) const {
        const auto begin = static_cast<uint32_t>(part.data() - text_.data());
        return {source_, begin, begin + static_cast<uint32_t>(part.size()), 0};
    }

    Diagnostic& wrong(std::string_view part, std::string message) {
        return diagnostics_.report(DiagnosticKind::BadToolHeader, range(part),
                                   {std::move(message)});
    }

    static void append(std::string& to, std::string_view words) {
        if (!to.empty() && to.back() != '\n')
            to += ' ';
        to += words;
    }

    void tag(std::string_view line) {
        const size_t end = std::min(line.find_first_of(" \t:"), line.size());
        const std::string_view tag = line.substr(0, end);
        continued_ = nullptr;
        if (tag == "@example") {
            header_.examples.emplace_back(trimmed(line.substr(end)));
            return;
        }
        const size_t colon = line.find(':', end);
        const std::string_view name =
            trimmed(line.substr(end, colon == std::string_view::npos ? colon : colon - end));
        if (std::ranges::find(known, tag) == known.end()) {
            wrong(tag, "there is no '" + std::string(tag) + "' in a script's header")
                .hint(did_you_mean(tag, {known.begin(), known.end()}));
            return;
        }
        if (colon == std::string_view::npos || (name.empty() && tag != "@cost") ||
            trimmed(line.substr(colon + 1)).empty()) {
            wrong(tag, "this line says nothing")
                .hint(tag == "@tool"     ? "// @tool SUBJECT: WHAT IT ANSWERS"
                      : tag == "@option" ? "// @option NAME TYPE: WHAT IT DOES"
                      : tag == "@cost"   ? "// @cost: WHAT A HIT COSTS"
                                         : "// " + std::string(tag) + " NAME: WHAT IT IS");
            return;
        }
        const std::string_view text = trimmed(line.substr(colon + 1));
        if (tag == "@tool") {
            header_.subject = name;
            header_.summary = text;
            continued_ = &header_.description;
        } else if (tag == "@cost") {
            header_.cost = text;
            continued_ = &header_.cost;
        } else if (tag == "@option") {
            option(name, text);
        } else {
            std::vector<ToolWord>& words = tag == "@argument" ? header_.arguments : header_.columns;
            words.push_back({std::string(name), std::string(text)});
            continued_ = &words.back().text;
        }
    }

    void option(std::string_view words, std::string_view text) {
        const size_t end = std::min(words.find_first_of(" \t"), words.size());
        const std::string_view name = words.substr(0, end);
        const std::string_view type = trimmed(words.substr(end));
        const auto row = std::ranges::find(types, type, &TypeRow::name);
        if (row == types.end()) {
            std::vector<std::string> names;
            for (const TypeRow& each : types)
                names.emplace_back(each.name);
            std::string all;
            for (const std::string& each : names)
                all += (all.empty() ? "" : ", ") + each;
            const std::string hint = did_you_mean(type, names);
            wrong(type.empty() ? name : type, type.empty()
                                                  ? "the option has no type"
                                                  : "'" + std::string(type) + "' is not a type")
                .hint(hint.empty() ? "the types are " + all : hint);
            return;
        }
        const bool valid = std::ranges::all_of(
            name, [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '-'; });
        if (!valid || !std::islower(static_cast<unsigned char>(name.front()))) {
            wrong(name, "'" + std::string(name) + "' is not a name of an option")
                .hint("a name consists of small letters, digits and -");
            return;
        }
        const bool taken =
            name == "help" ||
            std::ranges::find(header_.options, name, &ToolOption::name) != header_.options.end();
        if (taken) {
            wrong(name, "there are two options --" + std::string(name))
                .hint(name == "help" ? "every tool has --help" : "");
            return;
        }
        header_.options.push_back(
            {std::string(name), row->type, std::string(text), range(name), {}});
        continued_ = &header_.options.back().text;
    }

    static constexpr std::array<std::string_view, 6> known = {"@tool",   "@option", "@argument",
                                                              "@column", "@cost",   "@example"};

    uint32_t source_;
    std::string_view text_;
    Diagnostics& diagnostics_;
    ToolHeader header_;
    std::string* continued_ = nullptr; // the text that the next line without a tag continues
};

// Returns the number with its unit if it is a duration: "2s".
std::string shown(const ToolOption& option, int64_t number) {
    static constexpr std::array<std::string_view, 4> units = {"ns", "us", "ms", "s"};
    if (!unit_of(option.type) || number == 0)
        return std::to_string(number);
    return std::to_string(number).append(
        units[static_cast<size_t>(option.type) - static_cast<size_t>(ToolType::Nanoseconds)]);
}

} // namespace

std::string_view name_of(ToolType type) {
    return row_of(type).name;
}

std::string_view value_of(ToolType type) {
    return row_of(type).value;
}

int64_t unit_of(ToolType type) {
    return row_of(type).unit;
}

std::string ToolOption::global() const {
    std::string text = name;
    std::ranges::replace(text, '-', '_');
    return text;
}

std::optional<ToolHeader> read_header(const SourceManager& sources, uint32_t source,
                                      Diagnostics& diagnostics) {
    return HeaderReader(sources, source, diagnostics).read();
}

bool take_globals(ToolHeader& header, const ast::File& script, Diagnostics& diagnostics) {
    bool complete = true;
    for (ToolOption& option : header.options) {
        const auto global = std::ranges::find(script.globals, option.global(), &ast::Global::name);
        const ast::Expression* initial =
            global == script.globals.end() ? nullptr : global->initial.get();
        const bool text = option.type == ToolType::Text;
        if (initial && text && initial->kind == ast::ExpressionKind::StringLiteral) {
            option.initial = ast::print(*initial);
        } else if (initial && !text && initial->kind == ast::ExpressionKind::NumberLiteral) {
            option.initial = shown(option, ast::as<ast::NumberLiteral>(*initial).value);
        } else {
            complete = false;
            const std::string wanted = "global " + option.global() + " = " + (text ? "\"\"" : "0");
            diagnostics
                .report(DiagnosticKind::BadToolHeader, option.range,
                        {"the option --" + option.name + " has no global variable '" +
                         option.global() + "' with " + (text ? "a text" : "a number") +
                         " as initial value"})
                .hint("declare it in the script: " + wanted);
        }
    }
    return complete;
}

} // namespace djstap
