// SPDX-License-Identifier: GPL-2.0-or-later
// What is read of a kernel's debug information before there is an index.
#include "debuginfo/first_info.h"
#include "kernels.h"
#include "system/temporary.h"

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

// A cache of its own while it exists.
class EmptyCache {
  public:
    EmptyCache() {
        const char* before = getenv("DJSTAP_CACHE");
        before_ = before ? std::optional<std::string>(before) : std::nullopt;
        auto folder = TemporaryFolder::create(temporary_directory());
        EXPECT_TRUE(folder);
        folder_ = std::move(*folder);
        setenv("DJSTAP_CACHE", folder_.path().c_str(), 1);
    }
    ~EmptyCache() {
        if (before_)
            setenv("DJSTAP_CACHE", before_->c_str(), 1);
        else
            unsetenv("DJSTAP_CACHE");
    }

  private:
    std::optional<std::string> before_;
    TemporaryFolder folder_;
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
        EXPECT_EQ(find_functions(*first, "vfs_read").size(), 1u);
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
    EXPECT_FALSE(NameSearch::open("/no/such/file"));
    EXPECT_FALSE(NameSearch::open("/proc/self/exe"));
}
