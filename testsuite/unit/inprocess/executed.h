// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a script in this process and returns what it prints: its begin probes, its first probe as
// often as the test requests, its end probes.
#pragma once
#include "harness/user_object.h"
#include "inprocess/session.h"

#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace djstap::test {

// What the script prints, and what is said about it.
struct Executed {
    std::string output, messages;
};

inline unsigned runs_of_first_probe; // of the script that is executed

inline std::string contents_of(int file) {
    std::string text;
    char part[4096];
    for (off_t at = 0;;) {
        const ssize_t bytes = pread(file, part, sizeof part, at);
        if (bytes <= 0)
            return text;
        text.append(part, static_cast<size_t>(bytes));
        at += bytes;
    }
}

// What is called of the runtime: the first probe runs behind the begin probes, and then the script
// ends.
inline djs_user_calls calls_for_test() {
    djs_user_calls calls = djs_user_runtime;
    calls.start = [] {
        const int error = djs_session_start();
        for (unsigned i = 0; !error && i < runs_of_first_probe; i++)
            djs_user_run_handler(0);
        return error;
    };
    calls.exit_requested = [] { return 1; };
    return calls;
}

inline Executed execute(const std::string& text, unsigned runs = 0,
                        const CodegenOptions& codegen = {}, const ChangePlan& change = {}) {
    std::string problem;
    const auto object = user_object(text, codegen, problem, change);
    if (!object) {
        ADD_FAILURE() << problem << text;
        return {};
    }
    const int output = memfd_create("output", 0), messages = memfd_create("messages", 0);
    const int standard_error = dup(STDERR_FILENO);
    dup2(messages, STDERR_FILENO);
    SessionOptions options;
    options.outputs.file = "/proc/self/fd/" + std::to_string(output);
    runs_of_first_probe = runs;
    const auto outcome =
        run_with_runtime(calls_for_test(), object->object, object->meta, 1 << 20, options);
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    EXPECT_EQ(outcome ? "" : outcome.failure().message, "") << text;
    Executed executed{contents_of(output), contents_of(messages)};
    close(output);
    close(messages);
    return executed;
}

// Returns what a script prints that has nothing to complain of.
inline std::string printed_by(const std::string& text, unsigned runs = 0,
                              const CodegenOptions& codegen = {}) {
    const Executed executed = execute(text, runs, codegen);
    EXPECT_EQ(executed.messages, "") << text;
    return executed.output;
}

} // namespace djstap::test
