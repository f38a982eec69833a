// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/foreign_words.h"

#include <algorithm>
#include <iterator>

namespace djstap {

namespace {

struct Translation {
    std::string_view foreign, hint;
};

constexpr Translation probes[] = {
    {"BEGIN", "write: probe begin { … }"},
    {"END", "write: probe end { … }"},
    {"kprobe", "write: probe kernel.function(\"NAME\") { … }"},
    {"fentry", "write: probe kernel.function(\"NAME\") { … }"},
    {"kfunc", "write: probe kernel.function(\"NAME\") { … }"},
    {"kretprobe", "write: probe kernel.function(\"NAME\").return { … }"},
    {"fexit", "write: probe kernel.function(\"NAME\").return { … }"},
    {"kretfunc", "write: probe kernel.function(\"NAME\").return { … }"},
    {"tracepoint", "write: probe kernel.trace(\"NAME\") { … }"},
    {"rawtracepoint", "write: probe kernel.trace(\"NAME\") { … }"},
    {"uprobe", "write: probe process(\"PATH\").function(\"NAME\") { … }"},
    {"uretprobe", "write: probe process(\"PATH\").function(\"NAME\").return { … }"},
    {"usdt", "write: probe process(\"PATH\").mark(\"NAME\") { … }"},
    {"interval", "write: probe timer.s(1) { … }"},
    {"profile", "write: probe timer.profile { … }"},
};

constexpr Translation values[] = {
    {"str", "kernel_string(pointer) or user_string(pointer) reads a string"},
    {"kstr", "kernel_string(pointer) reads a string"},
    {"comm", "write: execname()"},
    {"nsecs", "write: gettimeofday_ns()"},
    {"elapsed", "write: gettimeofday_ns(), minus its value at the beginning"},
    {"retval", "it is $return in a probe of a function's .return"},
    {"args", "arguments are accessed by name: $name"},
    {"NULL", "write: 0"},
    {"null", "write: 0"},
    {"nullptr", "write: 0"},
    {"false", "write: 0"},
    {"true", "write: 1"},
    {"func", "write: probefunc()"},
    {"kstack", "write: backtrace(), or print_backtrace()"},
    {"ustack", "write: ubacktrace(), or print_ubacktrace()"},
    {"quit", "write: exit()"},
    {"probe_func", "write: probefunc()"},
    {"curtask", "write: task_current()"},
    {"hist", "collect values with name <<< value and print them with print(@hist_log(name))"},
    {"lhist", "collect values with name <<< value and print them with print(@hist_linear(name, "
              "0, 100, 10))"},
    {"clear", "write: delete name"},
    {"zero", "write: delete name"},
    {"strncmp", "strings are compared with =="},
};

template <class Table> std::string translation(const Table& table, std::string_view word) {
    const auto found = std::find_if(std::begin(table), std::end(table),
                                    [&](const Translation& each) { return each.foreign == word; });
    return found == std::end(table) ? std::string() : std::string(found->hint);
}

// arg0, arg1, …
bool is_argument(std::string_view word) {
    constexpr std::string_view prefix = "arg";
    return word.size() == prefix.size() + 1 && word.starts_with(prefix) && word.back() >= '0' &&
           word.back() <= '9';
}

} // namespace

std::string hint_for_foreign_probe(std::string_view word) {
    return translation(probes, word);
}

std::string hint_for_foreign_value(std::string_view word) {
    if (is_argument(word))
        return "in a probe of a function, $name is the argument of that name, and long_arg(1) the "
               "first one; in a probe of a mark, that is $arg1";
    return translation(values, word);
}

} // namespace djstap
