// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace djstap;

namespace {

class Lines : public ::testing::Test {
  protected:
    void SetUp() override {
        if (kernels().empty())
            GTEST_SKIP() << "no kernel with DWARF is unpacked here";
    }
};

Result<StatementResult> find_lines(const DebugInfo& info, std::string_view text,
                                   bool nearest = false) {
    auto pattern = parse_function_pattern(text);
    if (!pattern)
        return pattern.failure();
    return info.statements(*pattern, nearest);
}

struct ReferenceRow {
    std::string file; // without folders
    uint32_t line;
    bool is_stmt;
};

// Returns the rows of the line tables as objdump decodes them, at addresses that `wanted` accepts.
template <class Wanted>
std::multimap<uint64_t, ReferenceRow>
objdump_rows(const std::string& vmlinux, const std::set<std::string>& files, Wanted wanted) {
    std::multimap<uint64_t, ReferenceRow> rows;
    // Most of the kernel's four million rows are of other files.
    std::string command = "objdump --dwarf=decodedline '" + vmlinux + "' 2>/dev/null | grep -F";
    for (const std::string& file : files)
        command += " -e '" + file + " '";
    FILE* pipe = popen(command.c_str(), "r");
    char line[4096];
    while (pipe && fgets(line, sizeof line, pipe)) {
        const char* hexadecimal = strstr(line, " 0xffffffff8");
        uint64_t at = hexadecimal ? strtoull(hexadecimal, nullptr, 16) : 0;
        if (!at || !wanted(at))
            continue;
        std::istringstream words(line);
        std::string file, number, address, mark;
        words >> file >> number >> address;
        if (number.empty() || !isdigit(number[0]))
            continue;
        bool is_stmt = false;
        while (words >> mark)
            is_stmt = is_stmt || mark == "x";
        rows.insert({at, {file, uint32_t(strtoul(number.c_str(), nullptr, 10)), is_stmt}});
    }
    if (pipe)
        pclose(pipe);
    return rows;
}

} // namespace

TEST_F(Lines, NearestToAnOffset) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        auto found =
            find_lines(*kernel.info, "ktime_get_real_ts64@kernel/time/timekeeping.c+5", true);
        ASSERT_TRUE(found) << found.failure().message;
        ASSERT_EQ(found->addresses.size(), 1u);
        const StatementAddress& at = found->addresses[0];
        auto symbol = kernel.kernel->symbol("ktime_get_real_ts64");
        EXPECT_GT(at.address, symbol->address);
        EXPECT_LT(at.address, symbol->address + symbol->size);
        EXPECT_EQ(at.function, "ktime_get_real_ts64");
        EXPECT_EQ(at.symbol_entry, symbol->address);
        EXPECT_EQ(at.file, "kernel/time/timekeeping.c");
        auto function = find_functions(*kernel.info, "ktime_get_real_ts64")[0];
        EXPECT_NEAR(int(at.line), int(function.line + 5), 3);
    }
}

TEST_F(Lines, AgreeWithObjdump) {
    if (system("command -v objdump > /dev/null") != 0)
        GTEST_SKIP() << "objdump is not installed";
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        std::vector<FunctionInfo> chosen;
        std::map<uint64_t, uint64_t> ranges; // end by begin
        std::set<std::string> files;
        for (const FunctionInfo& function : find_functions(*kernel.info, "vfs_*")) {
            // One range, one instance: the rows between its two ends are then all of its rows.
            if (function.symbol != function.name ||
                kernel.kernel->symbol(function.name + ".cold") ||
                find_functions(*kernel.info, function.name).size() != 1)
                continue;
            chosen.push_back(function);
            ranges[function.entry] = function.entry + function.size;
            files.insert(function.file.substr(function.file.rfind('/') + 1));
        }
        ASSERT_GT(chosen.size(), 24u);
        auto rows = objdump_rows(kernel.kernel->files().vmlinux, files, [&](uint64_t address) {
            auto after = ranges.upper_bound(address);
            return after != ranges.begin() && address < std::prev(after)->second;
        });
        size_t lines_checked = 0;
        for (const FunctionInfo& function : chosen) {
            std::string base = function.file.substr(function.file.rfind('/') + 1);
            // by line: (not is_stmt, address)
            std::map<uint32_t, std::pair<bool, uint64_t>> best;
            for (auto at = rows.lower_bound(function.entry);
                 at != rows.end() && at->first < ranges[function.entry]; ++at) {
                if (at->second.file != base)
                    continue;
                std::pair<bool, uint64_t> candidate(!at->second.is_stmt, at->first);
                auto [known, added] = best.emplace(at->second.line, candidate);
                known->second = std::min(known->second, candidate);
            }
            auto all = find_lines(*kernel.info, function.name + "@" + function.file + ":*");
            ASSERT_TRUE(all) << function.name;
            EXPECT_FALSE(all->addresses.empty()) << function.name;
            for (const StatementAddress& each : all->addresses) {
                // elsewhere, or with only some of the rows
                if (each.inlined)
                    continue;
                auto expected = best.find(each.line);
                ASSERT_NE(expected, best.end()) << function.name << ":" << each.line;
                EXPECT_EQ(each.address, expected->second.second)
                    << function.name << ":" << each.line;
                EXPECT_EQ(each.is_stmt, !expected->second.first)
                    << function.name << ":" << each.line;
                EXPECT_EQ(each.function, function.name);
                EXPECT_EQ(each.file, function.file);
                lines_checked++;
            }
            // Conversely, each line that objdump shows is found by its number.
            for (const auto& [line, row] : best) {
                auto one = find_lines(*kernel.info, function.name + "@" + function.file + ":" +
                                                        std::to_string(line));
                ASSERT_TRUE(one);
                bool same = false;
                for (const StatementAddress& each : one->addresses)
                    same = same || each.address == row.second;
                EXPECT_TRUE(same) << function.name << ":" << line;
            }
        }
        EXPECT_GT(lines_checked, 200u);
    }
}

TEST_F(Lines, WhatIsNotThere) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        const DebugInfo& info = *kernel.info;
        auto blank = find_lines(info, "vfs_read@fs/read_write.c:1");
        ASSERT_TRUE(blank);
        EXPECT_TRUE(blank->addresses.empty());
        ASSERT_FALSE(blank->nearest_lines.empty());
        uint32_t near = blank->nearest_lines[0];
        auto there = find_lines(info, "vfs_read@fs/read_write.c:" + std::to_string(near));
        ASSERT_TRUE(there);
        EXPECT_FALSE(there->addresses.empty());
        EXPECT_EQ(find_lines(info, "vfs_read@fs/read_write.c:1", true)->addresses[0].line, near);
        auto misspelt = find_lines(info, "vfs_raed@fs/read_write.c:1");
        ASSERT_FALSE(misspelt);
        EXPECT_EQ(misspelt.failure().hint, "did you mean 'vfs_read'?");
        auto elsewhere = find_lines(info, "vfs_read@fs/open.c:1");
        ASSERT_FALSE(elsewhere);
        EXPECT_EQ(elsewhere.failure().hint, "it is in fs/read_write.c");
    }
}

TEST_F(Lines, InlinedFunctions) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        auto found = find_lines(*kernel.info, "timekeeping_get_ns@kernel/time/timekeeping.c:*");
        ASSERT_TRUE(found) << found.failure().message;
        ASSERT_FALSE(found->addresses.empty());
        bool inlined = false;
        for (const StatementAddress& each : found->addresses) {
            auto symbol = kernel.kernel->symbol_at(each.address);
            ASSERT_TRUE(symbol);
            EXPECT_EQ(each.symbol, symbol->name);
            inlined = inlined || (each.inlined && each.function != "timekeeping_get_ns");
        }
        EXPECT_TRUE(inlined);
        auto range = find_lines(*kernel.info, "*@fs/read_write.c:400-500");
        ASSERT_TRUE(range);
        EXPECT_GT(range->addresses.size(), 10u);
        for (const StatementAddress& each : range->addresses) {
            EXPECT_GE(each.line, 400u);
            EXPECT_LE(each.line, 500u);
        }
    }
}

TEST_F(Lines, VariablesAtAnAddress) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        const DebugInfo& info = *kernel.info;
        auto read = find_functions(info, "vfs_read")[0];
        auto entry = info.variables_at(read.entry);
        EXPECT_TRUE(shown_parameters(entry).starts_with("file=rdi buf=rsi count=rdx pos=rcx ret="))
            << shown_parameters(entry);
        auto site = kernel.kernel->fentry_site(read.entry);
        ASSERT_TRUE(site);
        EXPECT_TRUE(shown_parameters(info.variables_at(*site))
                        .starts_with("file=rdi buf=rsi count=rdx pos=rcx"));
        size_t with_frame = 0, in_registers = 0, inlined_scopes = 0;
        for (uint64_t address = read.entry; address < read.entry + read.size; address++) {
            std::set<std::string> names;
            for (const Variable& variable : info.variables_at(address)) {
                EXPECT_TRUE(names.insert(variable.name).second);
                in_registers += variable.location.kind == LocationKind::Register;
                EXPECT_EQ(variable.location.kind == LocationKind::None,
                          !variable.location.why.empty());
            }
            EXPECT_TRUE(names.contains("file"));
            inlined_scopes += names.size() > 5;
        }
        EXPECT_GT(in_registers, 100u);
        EXPECT_GT(inlined_scopes, 0u);
        // A local variable in memory: its place is relative to rsp, by the CFI at that address.
        auto sync = find_functions(info, "new_sync_read");
        for (const FunctionInfo& function : sync) {
            for (uint64_t address = function.entry; address < function.entry + function.size;
                 address++) {
                for (const Variable& variable : info.variables_at(address)) {
                    if (variable.name != "kiocb" || variable.location.kind != LocationKind::Memory)
                        continue;
                    with_frame++;
                    EXPECT_TRUE(variable.location.reg == arch::x86_64::pt_reg(arch::x86_64::Rsp) ||
                                variable.location.reg == arch::x86_64::pt_reg(arch::x86_64::Rbp));
                    if (address == function.entry) {
                        EXPECT_LT(variable.location.offset, 0); // below what the caller pushed
                    }
                }
            }
        }
        if (!sync.empty()) {
            EXPECT_GT(with_frame, 0u);
        }
        EXPECT_TRUE(info.variables_at(0).empty());
        EXPECT_TRUE(info.variables_at(kernel.kernel->symbol("init_task")->address).empty());
    }
}
