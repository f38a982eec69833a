// SPDX-License-Identifier: GPL-2.0-or-later
// Compiles scripts of timers, from their text, for a kernel that is made up: all that the compiler
// asks of a kernel is known, or what a test leaves of it.
#pragma once
#include "codegen/codegen.h"
#include "probes/probes.h"
#include "unit/semantics/analysis.h"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

namespace djstap::test {

using KernelOffsets = std::map<std::string, std::pair<std::string, int64_t>>;

inline const KernelOffsets& kernel_offsets() {
    static const KernelOffsets all{{"preempt_count", {"__preempt_count", 0}},
                                   {"preempt_count_bytes", {"", 4}},
                                   {"preempt_mask_interrupt", {"", 0xff0100}},
                                   {"cpu_number", {"cpu_number", 0}},
                                   {"current_task", {"current_task", 0}},
                                   {"task_comm_len", {"", 16}},
                                   {"task_struct.comm", {"", 64}},
                                   {"task_struct.tgid", {"", 100}},
                                   {"task_struct.pid", {"", 104}},
                                   {"task_struct.cred", {"", 112}},
                                   {"task_struct.mm", {"", 120}},
                                   {"task_struct.pagefault_disabled", {"", 128}},
                                   {"task_struct.real_parent", {"", 136}},
                                   {"cred.uid", {"", 4}},
                                   {"cred.gid", {"", 8}},
                                   {"cred.euid", {"", 12}},
                                   {"cred.egid", {"", 16}},
                                   {"djs_cpu.inside", {"", 8}},
                                   {"djs_cpu.locked_alone", {"", 16}},
                                   {"djs_cpu.head", {"", 24}},
                                   {"djs_cpu.limit", {"", 32}},
                                   {"djs_cpu.data", {"", 40}},
                                   {"djs_cpu.mask", {"", 48}}};
    return all;
}

struct KernelScript {
    KernelOffsets offsets = kernel_offsets();
    CodegenOptions options;
    CodegenKernel kernel;
    std::function<void(ProbePlan&)> change; // before code is generated
    std::string version = "5.2";            // of the language
    bool fails = false;                     // it is no failure of the test if it does not compile

    KernelScript() {
        options.module_name = "test";
        kernel.release = "6.1.0";
        kernel.version = "#1";
        kernel.image.name = "kernel";
        kernel.image.segments = {{.symbol = "_printk",
                                  .check_symbol = "_printk",
                                  .address = 0xffffffff81000000,
                                  .check_address = 0xffffffff81000000,
                                  .begin = 0,
                                  .end = UINT64_MAX}};
    }

    std::optional<CompiledObject> compile(const std::string& text) {
        Analysis analysis(text, {.guru = true});
        return compile(analysis);
    }
    std::optional<CompiledObject> compile(Analysis& analysis) {
        if (!analysis.program) {
            ADD_FAILURE() << analysis.errors();
            return std::nullopt;
        }
        analysis.program->language_version = version;
        Images no_kernel("");
        no_kernel.refuse({"no kernel", ""});
        auto plan = resolve_probes(*analysis.program, no_kernel, {}, analysis.diagnostics);
        std::optional<CompiledObject> object;
        if (plan) {
            if (change)
                change(*plan);
            kernel.offset =
                [this](std::string_view name) -> std::optional<std::pair<std::string, int64_t>> {
                const auto found = offsets.find(std::string(name));
                return found == offsets.end() ? std::nullopt : std::optional(found->second);
            };
            object = generate(*analysis.program, *plan, kernel, options, analysis.diagnostics);
        }
        if (!object && !fails)
            ADD_FAILURE() << analysis.errors();
        return object;
    }

    // What each handler of a script needs, by the name that a test has for the words of --explain.
    std::vector<std::string> needs(const std::string& text) {
        Analysis analysis(text, {.guru = true});
        return needs(analysis);
    }
    std::vector<std::string> needs(Analysis& analysis) {
        static const std::map<std::string, std::string> names{
            {"nothing: it updates per-CPU counters, each with one instruction", "nothing"},
            {"preemption disabled while it writes its record", "record"},
            {"only its locks, with interrupts disabled: no context, no guard", "locks"},
            {"only its locks, with interrupts disabled, and a guard: no context", "guarded"},
            {"its CPU's context: a re-entry guard, scratch memory, error state", "context"},
            {"nothing: it runs alone", "alone"}};
        options.explain = true;
        std::vector<std::string> found;
        const auto object = compile(analysis);
        const std::string begin = "    needs ";
        if (object)
            for (const std::string& line : object->explanation)
                if (line.starts_with(begin))
                    found.push_back(names.at(line.substr(begin.size())));
        return found;
    }

    // What a statement needs as the body of a timer's handler. `declared`: globals, functions, and
    // probes behind that.
    std::string need(const std::string& statement, const std::string& declared = "global c") {
        const auto all = needs("probe timer.s(1) { " + statement + " }\n" + declared);
        return all.empty() ? "" : all.front();
    }
};

} // namespace djstap::test
