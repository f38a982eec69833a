// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/foreign_words.h"

namespace djstap {

std::string hint_for_foreign_word(std::string_view word) {
    struct Translation {
        std::string_view foreign, hint;
    };
    static constexpr Translation table[] = {
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
        {"str", "kernel_string(pointer) or user_string(pointer) reads a string"},
        {"kstr", "kernel_string(pointer) reads a string"},
        {"comm", "write: execname()"},
        {"nsecs", "write: gettimeofday_ns()"},
        {"elapsed", "write: gettimeofday_ns(), minus its value at the beginning"},
        {"retval", "write: $return"},
        {"args", "arguments are accessed by name: $name"},
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
    for (const Translation& each : table)
        if (each.foreign == word)
            return std::string(each.hint);
    return {};
}

} // namespace djstap
