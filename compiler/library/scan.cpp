// SPDX-License-Identifier: GPL-2.0-or-later
#include "library/scan.h"

#include <algorithm>
#include <cctype>

namespace djstap::library {

namespace {

bool starts_word(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    std::vector<DefinedName> run() {
        int depth = 0;
        bool is_private = false;
        for (std::string_view token = next(); !token.empty(); token = next()) {
            if (token == "{") {
                ++depth;
            } else if (token == "}") {
                depth -= depth > 0;
            } else if (token == "@define") {
                skip_macro();
            } else if (depth == 0) {
                if (token == "private") {
                    is_private = true;
                    // "private name" declares a global.
                    continue;
                }
                if (token == "function")
                    function(is_private);
                else if (token == "global")
                    globals(is_private);
                else if (token == "probe" && probe())
                    ++depth;
                is_private = false;
            }
        }
        return std::move(names_);
    }

  private:
    char at(size_t offset) const {
        return position_ + offset < text_.size() ? text_[position_ + offset] : '\0';
    }

    void skip_to(std::string_view end) {
        const size_t found = text_.find(end, position_);
        position_ = found == std::string_view::npos ? text_.size() : found + end.size();
    }

    // Returns a word (with its @), a string as "", or one of the other signs; empty at the end.
    std::string_view next() {
        while (position_ < text_.size()) {
            const char c = text_[position_];
            if (std::isspace(static_cast<unsigned char>(c))) {
                ++position_;
            } else if (c == '#' || (c == '/' && at(1) == '/')) {
                skip_to("\n");
            } else if (c == '/' && at(1) == '*') {
                position_ += 2;
                skip_to("*/");
            } else if (c == '%' && at(1) == '{') {
                position_ += 2;
                skip_to("%}");
            } else {
                break;
            }
        }
        if (position_ >= text_.size())
            return {};
        const size_t start = position_;
        const char c = text_[position_];
        if (c == '"') {
            for (++position_; position_ < text_.size() && text_[position_] != '"'; ++position_)
                if (text_[position_] == '\\')
                    ++position_;
            position_ = std::min(position_ + 1, text_.size());
            return "\"";
        }
        if (starts_word(c) || (c == '@' && starts_word(at(1)))) {
            for (++position_; position_ < text_.size() && in_word(text_[position_]);)
                ++position_;
        } else if (std::isdigit(static_cast<unsigned char>(c))) {
            while (position_ < text_.size() && in_word(text_[position_]))
                ++position_;
        } else {
            const bool pair =
                (c == '%' && (at(1) == '(' || at(1) == ')' || at(1) == '?' || at(1) == ':')) ||
                (at(1) == '=' && (c == '=' || c == '+' || c == '!' || c == '<' || c == '>'));
            position_ += pair ? 2 : 1;
        }
        return text_.substr(start, position_ - start);
    }
    std::string_view peek() {
        const size_t before = position_;
        const std::string_view token = next();
        position_ = before;
        return token;
    }

    void skip_macro() {
        int depth = 0;
        for (std::string_view token = next(); !token.empty(); token = next()) {
            depth += token == "%(";
            depth -= token == "%)";
            if (depth == 0 && token == "%)")
                return;
        }
    }

    void function(bool is_private) {
        const std::string_view name = next();
        if (!name.empty() && starts_word(name[0]) && !is_private)
            names_.push_back({NameKind::Function, std::string(name)});
        // The parameters extend to the braces of the body.
    }

    void globals(bool is_private) {
        for (;;) {
            const std::string_view name = peek();
            if (name.empty() || !starts_word(name[0]))
                return;
            next();
            if (!is_private)
                names_.push_back({NameKind::Global, std::string(name)});
            if (peek() == "%")
                next();
            if (peek() == "[")
                while (!peek().empty() && next() != "]") {
                }
            if (peek() == "=") {
                next();
                if (peek() == "-")
                    next();
                next();
            }
            if (peek() != ",")
                return;
            next();
        }
    }

    // Reads up to the brace of the body; returns true if that was consumed.
    bool probe() {
        std::vector<std::string> names, pending(1);
        int parentheses = 0, braces = 0;
        for (;;) {
            const std::string_view token = peek();
            // {a,b} inside a point occurs where a component may; the brace of a body follows a
            // complete point.
            const bool keyword = token == "function" || token == "probe" || token == "global";
            const bool complete = pending.back().empty() || pending.back().back() != '.';
            if (token.empty() || (keyword && complete && parentheses == 0 && braces == 0))
                return false;
            next();
            if (token == "{" && parentheses == 0) {
                if (pending.back().empty() || pending.back().back() == '.')
                    ++braces;
                else if (braces == 0)
                    break;
                continue;
            }
            if (token == "}" && braces > 0) {
                if (--braces == 0)
                    pending.back() += token; // the component is complete
                continue;
            }
            parentheses += token == "(";
            parentheses -= token == ")" && parentheses > 0;
            if (parentheses > 0 || braces > 0 || token == ")")
                continue;
            if (token == "=" || token == "+=") {
                names.insert(names.end(), pending.begin(), pending.end());
                pending.assign(1, "");
            } else if (token == ",") {
                pending.emplace_back();
            } else if (token == "?" || token == "!" || token == "\"") {
                continue;
            } else {
                pending.back() += token;
            }
        }
        for (std::string& name : names)
            if (!name.empty())
                names_.push_back({NameKind::Alias, std::move(name)});
        return true;
    }

    std::string_view text_;
    size_t position_ = 0;
    std::vector<DefinedName> names_;
};

} // namespace

std::vector<DefinedName> scan(std::string_view text) {
    return Scanner(text).run();
}

} // namespace djstap::library
