// SPDX-License-Identifier: GPL-2.0-or-later
// The fixture of tests that compile a program and look at its object.
#pragma once
#include "codegen/codegen.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unistd.h>

namespace djstap {

using namespace program;

// A program with one function probe, built by hand, and a plan that places it at one fentry site.
class Generate : public testing::Test {
  protected:
    Generate() : diagnostics_(sources_) {
        sources_.add("<test>", "probe kernel.function(\"f\") { n++ }\n");
        kernel_.release = "6.1.0";
        kernel_.version = "#1";
        kernel_.image.name = "kernel";
        kernel_.image.segments = {
            {"_printk", "_printk", 0xffffffff81000000, 0xffffffff81000000, 0, UINT64_MAX}};
        options_.module_name = "test";
        point_ = std::make_unique<ast::ProbePoint>();
    }

    Global* global(const std::string& name, Type type, Storage storage,
                   std::vector<Type> keys = {}) {
        auto global = std::make_unique<Global>();
        global->name = name;
        global->value = type;
        global->storage = storage;
        global->keys = std::move(keys);
        program_.globals.push_back(std::move(global));
        return program_.globals.back().get();
    }

    Probe* probe(std::vector<StatementPtr> statements) {
        auto probe = std::make_unique<Probe>();
        probe->index = static_cast<uint32_t>(program_.probes.size());
        probe->points = {point_.get()};
        probe->body = std::make_unique<Block>();
        probe->body->statements = std::move(statements);
        Variant variant;
        variant.probe = probe.get();
        variant.kind = HandlerKind::Entry;
        variant.mechanisms = 1u << static_cast<unsigned>(Mechanism::Djprobe);
        Site site;
        site.variant = static_cast<uint32_t>(plan_.variants.size());
        site.mechanism = Mechanism::Djprobe;
        site.address = 0xffffffff81001000;
        site.trampoline = static_cast<uint32_t>(plan_.trampolines.size());
        plan_.trampolines.push_back({{site.variant}, {site.address + 5}});
        plan_.variants.push_back(std::move(variant));
        plan_.sites.push_back(std::move(site));
        program_.probes.push_back(std::move(probe));
        return program_.probes.back().get();
    }

    static StatementPtr evaluate(ExpressionPtr expression) {
        auto statement = std::make_unique<Evaluate>();
        statement->expression = std::move(expression);
        return statement;
    }
    static ExpressionPtr value_of(const Global* global) {
        auto value = std::make_unique<GlobalValue>();
        value->global = global;
        value->type = global->value;
        return value;
    }
    // Reads the memory at an address in one of the address spaces.
    ExpressionPtr memory_at(Variant& variant, AddressSpace space) {
        auto value = std::make_unique<TargetValue>();
        value->type = Type::Long;
        TargetAccess access;
        access.value.base = Access::Base::Constant;
        access.value.constant = 4096;
        access.value.space = space;
        access.value.steps.push_back({AccessStep::Kind::Load, 0, nullptr, 8});
        variant.accesses[value.get()] = std::move(access);
        return value;
    }
    // Adds `n += …` to a probe: kernel memory. Returns how that is found, without any step.
    Access& add_memory(Probe* p, const Global* n) {
        auto& variant = plan_.variants[0];
        auto sum = std::make_unique<Assignment>();
        sum->op = ast::BinaryOp::Add;
        sum->place = value_of(n);
        sum->value = memory_at(variant, AddressSpace::Kernel);
        sum->value_used = false;
        Access& access = variant.accesses[sum->value.get()].value;
        access.steps.clear();
        p->body->statements.push_back(evaluate(std::move(sum)));
        return access;
    }
    static ExpressionPtr number(int64_t n) {
        auto value = std::make_unique<Number>();
        value->value = n;
        return value;
    }
    static StatementPtr increment(const Global* global) {
        auto node = std::make_unique<Increment>();
        node->place = value_of(global);
        node->value_used = false;
        return evaluate(std::move(node));
    }

    static StatementPtr increment_element(const Global* array, int64_t key) {
        auto place = std::make_unique<GlobalValue>();
        place->global = array;
        place->type = Type::Long;
        place->keys.push_back(number(key));
        auto node = std::make_unique<Increment>();
        node->place = std::move(place);
        node->type = Type::Long;
        node->value_used = false;
        return evaluate(std::move(node));
    }

    // A probe that increments an element of an array, under the array's lock.
    Probe* element_probe(const Global* array) {
        std::vector<StatementPtr> body;
        body.push_back(increment_element(array, 7));
        Probe* made = probe(std::move(body));
        made->effects.writes = {array};
        made->effects.can_fail = true;
        return made;
    }

    std::optional<CompiledObject> generate() {
        return djstap::generate(program_, plan_, kernel_, options_, diagnostics_);
    }

    // Returns the instructions of one function of the object, with their operands.
    static std::vector<std::string> listing(const std::string& object,
                                            const std::string& function) {
        char path[] = "/tmp/djstap-test-XXXXXX";
        int file = mkstemp(path);
        EXPECT_EQ(write(file, object.data(), object.size()), static_cast<ssize_t>(object.size()));
        close(file);
        std::string command =
            "objdump -d --no-show-raw-insn --disassemble=" + function + " " + path;
        std::vector<std::string> out;
        FILE* pipe = popen(command.c_str(), "r");
        char line[512];
        while (fgets(line, sizeof line, pipe)) {
            std::string text = line;
            size_t tab = text.find('\t');
            if (tab == std::string::npos)
                continue;
            text = text.substr(tab + 1);
            out.push_back(text.substr(0, text.find('\n')));
        }
        pclose(pipe);
        unlink(path);
        return out;
    }
    // Sets the offsets that records need in a handler without a context, and pid(); `tid`: also
    // that of tid().
    void know_offsets(bool tid, int64_t preempt_count_bytes = 4) {
        kernel_.offset =
            [tid, preempt_count_bytes](
                std::string_view name) -> std::optional<std::pair<std::string, int64_t>> {
            if (name == "preempt_count")
                return std::pair("__preempt_count", 0);
            if (name == "preempt_count_bytes")
                return std::pair("", preempt_count_bytes);
            if (name == "preempt_mask_interrupt")
                return std::pair("", 0xff0100);
            if (name == "current_task")
                return std::pair("current_task", 0);
            if (name == "task_struct.tgid")
                return std::pair("", 100);
            if (name == "task_struct.pid" && tid)
                return std::pair("", 104);
            if (name.starts_with("djs_cpu."))
                return std::pair("", 8);
            return std::nullopt;
        };
    }
    static StatementPtr print_number() {
        auto print = std::make_unique<Print>();
        print->type = Type::Void;
        FormatPiece piece;
        piece.conversion = 'd';
        print->format.push_back(piece);
        print->arguments.push_back(number(7));
        return evaluate(std::move(print));
    }
    // Adds a probe that prints a number.
    Probe* printing_probe(const std::string& point) {
        std::vector<StatementPtr> body;
        body.push_back(print_number());
        Probe* added = probe(std::move(body));
        added->effects.prints = true;
        plan_.sites.back().point = point;
        return added;
    }
    // Returns the number of instructions that refer to `text`.
    static size_t uses(const std::vector<std::string>& code, const std::string& text) {
        return static_cast<size_t>(
            std::count_if(code.begin(), code.end(), [&](const std::string& instruction) {
                return instruction.find(text) != std::string::npos;
            }));
    }
    // The first two probes share one trampoline.
    void join_trampolines() {
        plan_.trampolines = {{{0, 1}, {plan_.sites[0].address + 5}}};
        plan_.sites[0].trampoline = plan_.sites[1].trampoline = 0;
        plan_.sites[0].next = 1;
    }

    static std::vector<std::string> disassemble(const std::string& object,
                                                const std::string& function) {
        std::vector<std::string> out;
        for (const std::string& instruction : listing(object, function))
            out.push_back(instruction.substr(0, instruction.find(' ')));
        return out;
    }

    SourceManager sources_;
    Diagnostics diagnostics_;
    Program program_;
    ProbePlan plan_;
    CodegenKernel kernel_;
    CodegenOptions options_;
    std::unique_ptr<ast::ProbePoint> point_;
};

} // namespace djstap
