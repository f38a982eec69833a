// SPDX-License-Identifier: GPL-2.0-or-later
// What is read of a kernel's debug information before there is an index.
#include "debuginfo/first_info.h"
#include "kernels.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <ranges>

using namespace djstap;

namespace {

std::string shown(const std::vector<FunctionInfo>& functions) {
    std::string text;
    for (const FunctionInfo& each : functions)
        text += each.name + " " + each.symbol + " " + std::to_string(each.entry) + " " +
                std::to_string(each.size) + " " + each.file + ":" + std::to_string(each.line) +
                (each.external ? " external" : "") + (each.varargs ? " varargs" : "") +
                (each.noreturn ? " noreturn" : "") + (each.is_syscall ? " syscall" : "") + " (" +
                shown_parameters(each.parameters) + ")\n";
    return text;
}

std::string shown(const std::vector<StatementAddress>& places) {
    std::string text;
    for (const StatementAddress& each : places)
        text += std::to_string(each.address) + " " + each.function + " in " + each.symbol + " " +
                each.file + ":" + std::to_string(each.line) + "\n";
    return text;
}

// A type, and what it points to or consists of, to a depth.
std::string shown_type(const DebugInfo& info, TypeId id, int depth) {
    const CType type = info.resolve(id);
    std::string text = info.type_name(id) + " " + std::to_string(int(type.kind)) + " " + type.name +
                       " " + std::to_string(type.size) + (type.is_signed ? " signed" : "") + " " +
                       std::to_string(type.count);
    for (const CEnumerator& each : info.enumerators(id))
        text += " " + each.name + "=" + std::to_string(each.value);
    if (depth == 0)
        return text;
    if (type.base_type)
        text += " (" + shown_type(info, type.base_type, depth - 1) + ")";
    for (const CMember& each : info.members(id))
        text += "\n" + each.name + " " + std::to_string(each.offset) + ":" +
                std::to_string(each.bit_offset) + ":" + std::to_string(each.bit_size) + " " +
                shown_type(info, each.type, depth - 1);
    return text;
}

std::string shown_variables(const DebugInfo& info, const std::vector<Variable>& variables) {
    std::string text;
    for (const Variable& each : variables)
        text += each.name + "=" + shown_location(each.location) +
                (each.is_parameter ? " parameter " : " ") + shown_type(info, each.type, 2) + "\n";
    return text;
}

std::string shown(const Result<StatementResult>& result) {
    if (!result)
        return result.failure().message + "; " + result.failure().hint;
    std::string text = shown(result->addresses);
    for (const StatementAddress& each : result->addresses)
        text += each.is_stmt ? "s" : "-";
    for (const uint32_t line : result->nearest_lines)
        text += " nearest " + std::to_string(line);
    return text;
}

// A cache of its own while it exists.
struct EmptyCache : test::TestFolder {
    const test::Environment is_used{"DJSTAP_CACHE", path};
};

int steps; // that were reported

std::unique_ptr<DebugInfo> open_info(const Kernel& kernel) {
    auto info = DebugInfo::open(kernel, [](const std::string&) { steps++; });
    EXPECT_TRUE(info) << info.failure().message;
    return info ? std::move(*info) : nullptr;
}

} // namespace

// Reading a kernel's debug information takes the sanitizers a quarter of a minute.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr size_t most_names = 2, most_kernels = 1;
#define DJS_FEW
#endif
#endif
#ifndef DJS_FEW
constexpr size_t most_names = 100, most_kernels = 100;
#endif

TEST(FirstInfo, TellsWhatTheIndexTells) {
    if (kernels().empty())
        GTEST_SKIP() << "no kernel with DWARF is unpacked here";
    for (const OpenKernel& kernel : std::views::take(kernels(), most_kernels)) {
        SCOPED_TRACE(kernel.release);
        const DebugInfo& all = *kernel.info;
        ASSERT_TRUE(all.global("init_task"));
        // A usual one; several of one name; inlined, too; only inlined; a system call; a clone's
        // symbol; a declaration only; nothing.
        static constexpr const char* names[] = {"vfs_read",
                                                "fdget_pos",
                                                "do_one_initcall",
                                                "copy_overflow",
                                                "tcp_v4_connect",
                                                "sys_read",
                                                "cpumask_next",
                                                "exit_mm",
                                                "die",
                                                "no_such_function_anywhere"};
        for (const char* name : std::views::take(names, most_names)) {
            SCOPED_TRACE(name);
            EmptyCache cache;
            const auto first = open_info(*kernel.kernel);
            ASSERT_TRUE(first);
            auto pattern = parse_function_pattern(name);
            ASSERT_TRUE(pattern);
            EXPECT_EQ(first->only_inlined(name), all.only_inlined(name));
            EXPECT_EQ(first->inlined_count(*pattern), all.inlined_count(*pattern));
            EXPECT_EQ(shown(first->inlined(*pattern, {})), shown(all.inlined(*pattern, {})));
            EXPECT_EQ(shown(first->functions(*pattern, true)),
                      shown(all.functions(*pattern, true)));
            for (FunctionInfo function : first->functions(*pattern, false)) {
                first->add_details(function);
                FunctionInfo same = function;
                all.add_details(same);
                EXPECT_EQ(shown({function}), shown({same}));
                EXPECT_EQ(shown_variables(*first, function.parameters),
                          shown_variables(all, same.parameters));
                EXPECT_EQ(shown_variables(*first, first->variables_at(function.entry)),
                          shown_variables(all, all.variables_at(function.entry)));
            }
            for (const StatementAddress& place : first->inlined(*pattern, {}))
                EXPECT_EQ(shown_variables(*first, first->variables_of_inlined(place)),
                          shown_variables(all, all.variables_of_inlined(place)));
            // The last ones build the index.
            const size_t most_lines = std::string_view(name) == names[0] ? 4 : 2;
            static constexpr const char* line_patterns[] = {"", "@*+2", "@*+1000", "@*:*"};
            for (const char* lines : std::views::take(line_patterns, most_lines)) {
                const auto statements = parse_function_pattern(std::string(name) + lines);
                ASSERT_TRUE(statements);
                EXPECT_EQ(shown(first->statements(*statements, false)),
                          shown(all.statements(*statements, false)))
                    << lines;
            }
        }
    }
}

TEST(FirstInfo, BuildsTheIndexOnlyWhenItIsNeeded) {
    if (kernels().empty())
        GTEST_SKIP() << "no kernel with DWARF is unpacked here";
    const Kernel& kernel = *kernels().back().kernel;
    EmptyCache cache;
    const std::string index = debuginfo_index_path(kernel.build_id());
    const std::filesystem::path folder = std::filesystem::path(index).parent_path();
    const auto indexes = [&] {
        std::error_code error;
        std::vector<std::string> found;
        for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
             at.increment(error))
            if (const std::string name = at->path().filename();
                name.starts_with("dwarf") && !name.ends_with(".first"))
                found.push_back(name);
        return found.size();
    };
    steps = 0;
    {
        const auto first = open_info(kernel);
        ASSERT_TRUE(first);
        const auto found = find_functions(*first, "vfs_read");
        ASSERT_EQ(found.size(), 1u);
        // Its variables, their types and its statements are where it is.
        ASSERT_FALSE(found[0].parameters.empty());
        const TypeId file = found[0].parameters[0].type;
        EXPECT_EQ(first->type_name(file), "struct file *");
        const CType pointer = first->resolve(file);
        EXPECT_EQ(pointer.kind, CTypeKind::Pointer);
        const auto inode = first->member(pointer.base_type, "f_inode");
        ASSERT_TRUE(inode);
        EXPECT_GT(first->resolve(first->resolve(inode->type).base_type).size, 0u);
        EXPECT_FALSE(first->variables_at(found[0].entry).empty());
        const auto lines = parse_function_pattern("vfs_read@fs/read_write.c+1");
        ASSERT_TRUE(lines);
        EXPECT_TRUE(first->statements(*lines, true));
        EXPECT_EQ(steps, 0);
        EXPECT_EQ(indexes(), 0u);
        // A name with a wildcard, a type, or an address can be anywhere.
        EXPECT_GT(find_functions(*first, "vfs_rea*").size(), 0u);
        EXPECT_GT(steps, 0);
        EXPECT_EQ(indexes(), 1u);
        EXPECT_TRUE(first->type_by_name("struct task_struct"));
    }
    std::filesystem::remove_all(folder);
    // The second script builds it, whatever it needs.
    for (const int expected : {0, 1}) {
        const auto info = open_info(kernel);
        ASSERT_TRUE(info);
        EXPECT_EQ(find_functions(*info, "vfs_read").size(), 1u);
        EXPECT_EQ(indexes(), size_t(expected));
    }
}

TEST(FirstInfo, FindsNamesWhereverTheyStand) {
    EXPECT_FALSE(NameSearch::open("/no/such/file"));
    EXPECT_FALSE(NameSearch::open("/proc/self/exe"));
    if (kernels().empty())
        GTEST_SKIP() << "no kernel with DWARF is unpacked here";
    for (const OpenKernel& kernel : kernels()) {
        const auto search = NameSearch::open(kernel.info->origin());
        if (!search)
            continue; // a file of another kind: only the index tells
        const auto units = search->units_with("vfs_read");
        ASSERT_TRUE(units);
        EXPECT_FALSE(units->empty());
        EXPECT_TRUE(std::is_sorted(units->begin(), units->end()));
        const auto none = search->units_with("no_such_function_anywhere");
        ASSERT_TRUE(none);
        EXPECT_TRUE(none->empty());
        // In almost every unit, and too short for a search.
        EXPECT_FALSE(search->units_with("task_struct"));
        EXPECT_FALSE(search->units_with("die"));
    }
}
