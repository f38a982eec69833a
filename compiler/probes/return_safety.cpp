// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/return_safety.h"

#include <algorithm>
#include <fnmatch.h>

namespace djstap {

namespace {

using Verdict = ReturnSafety::Verdict;

constexpr std::string_view never = "it may never return";
constexpr std::string_view stacks = "it switches stacks, or runs where RCU is not watching";
constexpr std::string_view unload = "rmmod would wait for itself";
constexpr std::string_view waits = "it sleeps by design";

std::vector<std::string> pieces(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const size_t end = std::min(text.find(separator), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// "vhost:vhost_worker|vhost_task_fn"
ReturnPattern parse_pattern(const std::string& text, std::string_view reason) {
    ReturnPattern pattern;
    pattern.reason = reason;
    for (const std::string& alternative : pieces(text, '|')) {
        const size_t colon = alternative.find(':');
        const bool in_module = colon != std::string::npos;
        pattern.alternatives.push_back({in_module ? alternative.substr(0, colon) : "",
                                        in_module ? alternative.substr(colon + 1) : alternative});
    }
    return pattern;
}

bool matches(const ReturnPattern& pattern, const std::string& name) {
    return std::any_of(
        pattern.alternatives.begin(), pattern.alternatives.end(),
        [&](const auto& each) { return fnmatch(each.glob.c_str(), name.c_str(), 0) == 0; });
}

// ---- arguments ----------------------------------------------------------------------------------

constexpr uint64_t word = 8, register_words = 6;

struct Words {
    uint64_t count = 0;
    bool known = true;
};

Words words_of(TypeId type, const DebugInfo& info) {
    CType resolved = info.resolve(type);
    switch (resolved.kind) {
    case CTypeKind::Float:
    case CTypeKind::Unknown:
        return {0, false};
    case CTypeKind::Struct:
    case CTypeKind::Union:
        // At most two words, and none of them in a floating-point register: the kernel does not use
        // these.
        return {(resolved.size + word - 1) / word, resolved.size <= 2 * word};
    case CTypeKind::Void:
        return {0, false};
    default:
        return {std::max<uint64_t>((resolved.size + word - 1) / word, 1), true};
    }
}

ReturnSafety unsafe(std::string reason) {
    return {Verdict::Unsafe, std::move(reason)};
}

} // namespace

std::string return_name(std::string_view symbol) {
    for (std::string_view prefix :
         {"__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__x64_compat_sys_", "__se_sys_",
          "__do_sys_", "__se_compat_sys_", "__do_compat_sys_"})
        if (symbol.starts_with(prefix)) {
            symbol.remove_prefix(prefix.size());
            break;
        }
    return std::string(symbol.substr(0, symbol.find('.')));
}

const std::vector<ReturnPattern>& return_patterns() {
    static const std::vector<ReturnPattern> patterns = [] {
        std::vector<ReturnPattern> out;
        auto add = [&](std::string_view reason, std::string_view texts) {
            for (const std::string& text : pieces(texts, ' '))
                out.push_back(parse_pattern(text, reason));
        };
#define DJS_RETURNS(reason, source, patterns) add(reason, patterns);
#include "probes/return_safety.def"
#undef DJS_RETURNS
        return out;
    }();
    return patterns;
}

ReturnSafety judge_return_by_name(std::string_view symbol) {
    const std::string name = return_name(symbol);
    // In the order of the list: the first pattern that matches a function determines the result.
    for (const ReturnPattern& pattern : return_patterns())
        if (matches(pattern, name))
            return {pattern.reason == waits ? Verdict::Waits : Verdict::Unsafe,
                    std::string(pattern.reason)};
    return {Verdict::Safe, "all arguments in registers"};
}

ReturnSafety judge_return(const FunctionInfo& function, const DebugInfo& info) {
    if (function.noreturn)
        return unsafe("it does not return");
    if (function.varargs)
        return unsafe("it has variable arguments");
    // Parts of a function may take its local variables as arguments, or the members of an argument.
    if (function.symbol.find(".part.") != std::string::npos ||
        function.symbol.find(".isra.") != std::string::npos)
        return unsafe("the compiler changed its parameters");
    ReturnSafety by_name = judge_return_by_name(function.symbol);
    if (by_name.verdict == Verdict::Unsafe || function.is_syscall)
        return by_name;
    if (!function.return_type)
        return unsafe("its arguments are unknown");
    uint64_t used = 0;
    CType result = info.resolve(*function.return_type);
    if (result.kind == CTypeKind::Float)
        return unsafe("its result is not in a general-purpose register");
    if ((result.kind == CTypeKind::Struct || result.kind == CTypeKind::Union) &&
        result.size > 2 * word)
        used++;
    for (const Variable& parameter : function.parameters) {
        Words words = words_of(parameter.type, info);
        if (!words.known || used + words.count > register_words)
            return unsafe("not all of its arguments are in registers");
        used += words.count;
    }
    return by_name;
}

} // namespace djstap
