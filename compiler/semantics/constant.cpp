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

// A number of the types int, unsigned int, long and unsigned long; `bits` are extended to 64.
struct CNumber {
    uint64_t bits = 0;
    bool is_long = false, is_unsigned = false;
    int64_t as_signed() const { return static_cast<int64_t>(bits); }
};

CNumber as_type_of(CNumber type, uint64_t bits) {
    if (!type.is_long)
        bits = type.is_unsigned ? static_cast<uint32_t>(bits)
                                : static_cast<uint64_t>(static_cast<int32_t>(bits));
    return {bits, type.is_long, type.is_unsigned};
}

CNumber truth(bool is) {
    return {is ? 1u : 0u, false, false};
}

// The type that operands are converted to (C11, 6.3.1.8).
CNumber common_type(CNumber a, CNumber b) {
    if (a.is_long != b.is_long)
        return {0, true, a.is_long ? a.is_unsigned : b.is_unsigned};
    return {0, a.is_long, a.is_unsigned || b.is_unsigned};
}

class Evaluator {
  public:
    explicit Evaluator(std::string_view text) : text_(text) {}

    std::optional<int64_t> run() {
        const CNumber value = binary(1);
        skip();
        return failed_ || at_ < text_.size() ? std::nullopt : std::optional(value.as_signed());
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
    CNumber fail() {
        failed_ = true;
        return {};
    }

    CNumber binary(int least) {
        CNumber left = unary();
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

    // What an int cannot hold is for the compiler to decide.
    CNumber result(CNumber type, uint64_t bits) {
        const CNumber value = as_type_of(type, bits);
        return type.is_unsigned || value.bits == bits ? value : fail();
    }

    CNumber shift(std::string_view op, CNumber left, CNumber right) {
        if (right.bits >= (left.is_long ? 64 : 32))
            return fail();
        if (op == "<<")
            return result(left, left.bits << right.bits);
        return as_type_of(left, left.is_unsigned
                                    ? left.bits >> right.bits
                                    : static_cast<uint64_t>(left.as_signed() >> right.bits));
    }

    CNumber apply(std::string_view op, CNumber left, CNumber right) {
        if (op == "<<" || op == ">>")
            return shift(op, left, right);
        if (op == "&&")
            return truth(left.bits && right.bits);
        if (op == "||")
            return truth(left.bits || right.bits);
        const CNumber type = common_type(left, right);
        const uint64_t a = as_type_of(type, left.bits).bits, b = as_type_of(type, right.bits).bits;
        const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
        if (op == "+")
            return result(type, a + b);
        if (op == "-")
            return result(type, a - b);
        if (op == "*")
            return result(type, a * b);
        if (op == "/" || op == "%") {
            if (b == 0)
                return fail();
            if (type.is_unsigned)
                return result(type, op == "/" ? a / b : a % b);
            if (y == -1)
                return result(type, op == "/" ? 0 - a : 0);
            return result(type, static_cast<uint64_t>(op == "/" ? x / y : x % y));
        }
        if (op == "&")
            return result(type, a & b);
        if (op == "|")
            return result(type, a | b);
        if (op == "^")
            return result(type, a ^ b);
        if (op == "==")
            return truth(a == b);
        if (op == "!=")
            return truth(a != b);
        const bool less = type.is_unsigned ? a < b : x < y;
        if (op == "<")
            return truth(less);
        if (op == "<=")
            return truth(less || a == b);
        return truth(op == ">" ? !less && a != b : !less);
    }

    CNumber unary() {
        if (++depth_ > max_depth)
            return fail();
        CNumber value;
        if (take("-")) {
            value = unary();
            value = result(value, 0 - value.bits);
        } else if (take("+")) {
            value = unary();
        } else if (take("~")) {
            value = unary();
            value = as_type_of(value, ~value.bits);
        } else if (take("!")) {
            value = truth(!unary().bits);
        } else {
            value = primary();
        }
        depth_--;
        return value;
    }

    CNumber primary() {
        if (take("(")) {
            const CNumber value = binary(1);
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
        const bool is_decimal = digits.front() != '0';
        CNumber number;
        while (!digits.empty() &&
               std::string_view("uUlL").find(digits.back()) != std::string_view::npos) {
            const bool of_sign = digits.back() == 'u' || digits.back() == 'U';
            (of_sign ? number.is_unsigned : number.is_long) = true;
            digits.pop_back();
        }
        size_t used = 0;
        try {
            number.bits = std::stoull(digits, &used, 0);
        } catch (const std::exception&) {
            return fail();
        }
        if (used != digits.size())
            return fail();
        at_ = end;
        // The first type that can hold it (C11, 6.4.4.1); only what is not decimal may be unsigned.
        if (!number.is_long && number.bits > INT32_MAX) {
            number.is_unsigned |= !is_decimal && number.bits <= UINT32_MAX;
            number.is_long = !number.is_unsigned || number.bits > UINT32_MAX;
        }
        number.is_unsigned |= number.bits > INT64_MAX;
        return number;
    }

    CNumber size() {
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
                return {static_cast<uint64_t>(known.bytes), true, true};
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
