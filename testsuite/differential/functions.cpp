// SPDX-License-Identifier: GPL-2.0-or-later
// The functions that a script calls: its own, and those of the library.
#include "walk.h"

#include <cctype>
#include <regex.h>

namespace djstap::differential {

namespace {

// Like the kernel: no spaces and no plus before the number, and numbers that are too large wrap.
int64_t kernel_number(const std::string& text, int64_t base) {
    const bool negative = text.starts_with('-');
    size_t at = negative;
    const auto is_digit = [&](size_t i) {
        const auto c = static_cast<unsigned char>(text.c_str()[i]);
        return isxdigit(c) && std::stoll(std::string(1, text[i]), nullptr, 16) < base;
    };
    const bool x_follows = text.size() > at + 2 && text[at] == '0' && (text[at + 1] | ' ') == 'x' &&
                           isxdigit(text[at + 2]);
    if (base == 0)
        base = x_follows ? 16 : at < text.size() && text[at] == '0' ? 8 : 10;
    if (base == 16 && x_follows)
        at += 2;
    uint64_t value = 0;
    for (; at < text.size() && is_digit(at); at++)
        value = value * static_cast<uint64_t>(base) + std::stoull(text.substr(at, 1), nullptr, 16);
    return static_cast<int64_t>(negative ? 0 - value : value);
}

} // namespace

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
    Frame frame{arguments, nothing(function.return_type), charges_of(*function.body)};
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
        if (flow == Flow::On)
            charge(function.body.get(), Moment::After);
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
        return kernel_number(text(0), number(1));
    }
    if (name == "strpos") {
        const size_t at = text(0).find(text(1));
        return at == std::string::npos ? int64_t{-1} : static_cast<int64_t>(at);
    }
    if (name == "tokenize")
        return tokenize(text(0), text(1));
    if (name == "matched")
        return matched(number(0));
    if (name == "ngroups")
        return static_cast<int64_t>(groups().size());
    if (name == "speculation")
        return ++speculations_;
    if (name == "speculate") {
        speculated_[number(0)] += text(1);
        return int64_t{0};
    }
    if (name == "commit" || name == "discard") {
        if (name == "commit")
            outcome_.output += speculated_[number(0)];
        speculated_.erase(number(0));
        return int64_t{0};
    }
    if (name == "substr") {
        if (number(1) < 0 || number(2) <= 0 || number(1) > static_cast<int64_t>(text(0).size()))
            return std::string();
        return text(0).substr(static_cast<size_t>(number(1)), static_cast<size_t>(number(2)));
    }
    if (name == "stringat") {
        const auto size = static_cast<int64_t>(text(0).size());
        if (number(1) < 0 || number(1) >= size)
            throw ScriptError{"Position out of bounds"};
        return int64_t{static_cast<signed char>(text(0)[static_cast<size_t>(number(1))])};
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

// Returns the tokens, separated by bytes of `delimiters`, of the string that was passed last. There
// are no empty tokens.
Value Interpreter::tokenize(const std::string& text, const std::string& delimiters) {
    if (!text.empty())
        words_ = text;
    const size_t begin = words_.find_first_not_of(delimiters);
    if (begin == std::string::npos) {
        words_.clear();
        return std::string();
    }
    const size_t end = words_.find_first_of(delimiters, begin);
    std::string word = words_.substr(begin, end - begin);
    words_ = end == std::string::npos ? std::string() : words_.substr(end + 1);
    return word;
}

// ---- regular expressions: the C library's ----

Value Interpreter::match(const program::RegexMatch& node) {
    const std::string subject = text(*node.operand);
    regex_t regex;
    if (regcomp(&regex, node.pattern.c_str(), REG_EXTENDED) != 0)
        throw Unknown("the pattern " + node.pattern);
    std::vector<regmatch_t> spans(regex.re_nsub + 1);
    const bool found = regexec(&regex, subject.c_str(), spans.size(), spans.data(), 0) == 0;
    regfree(&regex);
    match_ = Match{found, {}};
    for (const regmatch_t& span : spans)
        match_->groups.push_back(found && span.rm_so >= 0
                                     ? subject.substr(static_cast<size_t>(span.rm_so),
                                                      static_cast<size_t>(span.rm_eo - span.rm_so))
                                     : std::string());
    return int64_t{found != node.negated};
}

const std::vector<std::string>& Interpreter::groups() const {
    if (!match_)
        throw ScriptError{"nothing is matched: there was no =~ in this handler yet"};
    if (!match_->found)
        throw ScriptError{"nothing is matched: the last =~ in this handler did not match"};
    return match_->groups;
}

Value Interpreter::matched(int64_t group) const {
    const auto& all = groups();
    if (group < 0 || group >= static_cast<int64_t>(all.size()))
        throw ScriptError{"there is no group " + std::to_string(group) + ": the last =~ has " +
                          std::to_string(all.size() - 1)};
    return all[static_cast<size_t>(group)];
}

} // namespace djstap::differential
