// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/constant.h"

#include <array>
#include <cctype>
#include <string>

namespace djstap::semantics {

namespace {

struct Operator {
    std::string_view text;
    int precedence;
};
// Longer ones first, so that << is not mistaken for <.
constexpr std::array operators{
    Operator{"<<", 8}, Operator{">>", 8}, Operator{"<=", 7}, Operator{">=", 7}, Operator{"==", 6},
    Operator{"!=", 6}, Operator{"&&", 2}, Operator{"||", 1}, Operator{"*", 10}, Operator{"/", 10},
    Operator{"%", 10}, Operator{"+", 9},  Operator{"-", 9},  Operator{"<", 7},  Operator{">", 7},
    Operator{"&", 5},  Operator{"^", 4},  Operator{"|", 3},
};

struct CSize {
    std::string_view type;
    int64_t bytes;
};
constexpr std::array sizes{
    CSize{"char", 1},          CSize{"unsigned char", 1},  CSize{"signed char", 1},
    CSize{"short", 2},         CSize{"unsigned short", 2}, CSize{"int", 4},
    CSize{"unsigned", 4},      CSize{"unsigned int", 4},   CSize{"long", 8},
    CSize{"unsigned long", 8}, CSize{"long long", 8},      CSize{"unsigned long long", 8},
    CSize{"size_t", 8},        CSize{"void*", 8},          CSize{"void *", 8},
    CSize{"char*", 8},         CSize{"char *", 8},
};

constexpr int max_depth = 100;

class Evaluator {
  public:
    explicit Evaluator(std::string_view text) : text_(text) {}

    std::optional<int64_t> run() {
        const int64_t value = binary(1);
        skip();
        return failed_ || at_ < text_.size() ? std::nullopt : std::optional(value);
    }

  private:
    void skip() {
        while (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_])))
            at_++;
    }
    bool take(std::string_view what) {
        skip();
        if (text_.substr(at_, what.size()) != what)
            return false;
        at_ += what.size();
        return true;
    }
    int64_t fail() {
        failed_ = true;
        return 0;
    }

    int64_t binary(int least) {
        int64_t left = unary();
        while (!failed_) {
            skip();
            const Operator* found = nullptr;
            for (const Operator& candidate : operators)
                if (text_.substr(at_, candidate.text.size()) == candidate.text) {
                    found = &candidate;
                    break;
                }
            if (!found || found->precedence < least)
                break;
            at_ += found->text.size();
            left = apply(found->text, left, binary(found->precedence + 1));
        }
        return left;
    }

    int64_t apply(std::string_view op, int64_t left, int64_t right) {
        const auto a = static_cast<uint64_t>(left), b = static_cast<uint64_t>(right);
        if (op == "+")
            return static_cast<int64_t>(a + b);
        if (op == "-")
            return static_cast<int64_t>(a - b);
        if (op == "*")
            return static_cast<int64_t>(a * b);
        if (op == "/" || op == "%") {
            if (right == 0 || right == -1)
                return right == 0 ? fail() : op == "/" ? static_cast<int64_t>(0 - a) : 0;
            return op == "/" ? left / right : left % right;
        }
        if (op == "<<" || op == ">>") {
            if (b > 63)
                return fail();
            return op == "<<" ? static_cast<int64_t>(a << b) : left >> b;
        }
        if (op == "&")
            return left & right;
        if (op == "|")
            return left | right;
        if (op == "^")
            return left ^ right;
        if (op == "&&")
            return left && right;
        if (op == "||")
            return left || right;
        if (op == "==")
            return left == right;
        if (op == "!=")
            return left != right;
        if (op == "<")
            return left < right;
        if (op == "<=")
            return left <= right;
        return op == ">" ? left > right : left >= right;
    }

    int64_t unary() {
        if (++depth_ > max_depth)
            return fail();
        int64_t value = 0;
        if (take("-"))
            value = static_cast<int64_t>(0 - static_cast<uint64_t>(unary()));
        else if (take("+"))
            value = unary();
        else if (take("~"))
            value = ~unary();
        else if (take("!"))
            value = !unary();
        else
            value = primary();
        depth_--;
        return value;
    }

    int64_t primary() {
        if (take("(")) {
            const int64_t value = binary(1);
            return take(")") ? value : fail();
        }
        if (take("sizeof"))
            return size();
        skip();
        if (at_ >= text_.size() || !isdigit(static_cast<unsigned char>(text_[at_])))
            return fail();
        size_t end = at_;
        while (end < text_.size() && isalnum(static_cast<unsigned char>(text_[end])))
            end++;
        std::string digits(text_.substr(at_, end - at_));
        while (!digits.empty() &&
               std::string_view("uUlL").find(digits.back()) != std::string_view::npos)
            digits.pop_back();
        size_t used = 0;
        uint64_t value = 0;
        try {
            value = std::stoull(digits, &used, 0);
        } catch (const std::exception&) {
            return fail();
        }
        if (used != digits.size())
            return fail();
        at_ = end;
        return static_cast<int64_t>(value);
    }

    int64_t size() {
        if (!take("("))
            return fail();
        const size_t end = text_.find(')', at_);
        if (end == std::string_view::npos)
            return fail();
        std::string_view type = text_.substr(at_, end - at_);
        while (type.starts_with(' '))
            type.remove_prefix(1);
        while (type.ends_with(' '))
            type.remove_suffix(1);
        for (const CSize& known : sizes)
            if (known.type == type) {
                at_ = end + 1;
                return known.bytes;
            }
        return fail();
    }

    std::string_view text_;
    size_t at_ = 0;
    int depth_ = 0;
    bool failed_ = false;
};

} // namespace

std::optional<int64_t> c_constant(std::string_view text) {
    return Evaluator(text).run();
}

} // namespace djstap::semantics
