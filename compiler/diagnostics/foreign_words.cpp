// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/foreign_words.h"

namespace djstap {

std::string hint_for_foreign_word(std::string_view word) {
    struct Translation {
        std::string_view foreign, hint;
    };
    static constexpr Translation table[] = {
        {"BEGIN", "it is written: probe begin { … }"},
        {"END", "it is written: probe end { … }"},
        {"kprobe", "it is written: probe kernel.function(\"NAME\") { … }"},
        {"fentry", "it is written: probe kernel.function(\"NAME\") { … }"},
        {"kfunc", "it is written: probe kernel.function(\"NAME\") { … }"},
        {"kretprobe", "it is written: probe kernel.function(\"NAME\").return { … }"},
        {"fexit", "it is written: probe kernel.function(\"NAME\").return { … }"},
        {"kretfunc", "it is written: probe kernel.function(\"NAME\").return { … }"},
        {"tracepoint", "it is written: probe kernel.trace(\"NAME\") { … }"},
        {"rawtracepoint", "it is written: probe kernel.trace(\"NAME\") { … }"},
        {"uprobe", "it is written: probe process(\"PATH\").function(\"NAME\") { … }"},
        {"uretprobe", "it is written: probe process(\"PATH\").function(\"NAME\").return { … }"},
        {"usdt", "it is written: probe process(\"PATH\").mark(\"NAME\") { … }"},
        {"interval", "it is written: probe timer.s(1) { … }"},
        {"profile", "it is written: probe timer.profile { … }"},
        {"str", "a text is read by kernel_string(pointer), or user_string(pointer)"},
        {"kstr", "a text is read by kernel_string(pointer)"},
        {"comm", "it is written: execname()"},
        {"nsecs", "it is written: gettimeofday_ns()"},
        {"elapsed", "it is written: gettimeofday_ns(), less what it was at the begin"},
        {"retval", "it is written: $return"},
        {"args", "arguments are written by their names: $name"},
        {"kstack", "it is written: backtrace(), or print_backtrace()"},
        {"ustack", "it is written: ubacktrace(), or print_ubacktrace()"},
        {"quit", "it is written: exit()"},
        {"syscall",
         "it is written: probe kernel.function(\"sys_NAME\") { … }, and its arguments $name"},
        {"nd_syscall",
         "it is written: probe kernel.function(\"sys_NAME\") { … }, and its arguments $name"},
        {"vfs", "it is written: probe kernel.function(\"vfs_NAME\") { … }"},
        {"probe_func", "it is written: probefunc()"},
        {"curtask", "it is written: task_current()"},
        {"hist", "values are gathered by name <<< value, and shown by print(@hist_log(name))"},
        {"lhist", "values are gathered by name <<< value, and shown by print(@hist_linear(name, 0, "
                  "100, 10))"},
        {"clear", "it is written: delete name"},
        {"zero", "it is written: delete name"},
        {"strncmp", "texts are compared by =="},
    };
    for (const Translation& each : table)
        if (each.foreign == word)
            return std::string(each.hint);
    return {};
}

} // namespace djstap
