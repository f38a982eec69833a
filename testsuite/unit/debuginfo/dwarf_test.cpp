// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels.h"

#include "image/elf_file.h"

#include "../surroundings.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace djstap;

namespace {

class KernelDwarf : public ::testing::Test {
  protected:
    void SetUp() override {
        if (kernels().empty())
            GTEST_SKIP() << "no kernel with DWARF is unpacked here";
    }
};

} // namespace

TEST_F(KernelDwarf, ParametersOfAFunction) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        const DebugInfo& info = *kernel.info;
        EXPECT_TRUE(info.has_dwarf());
        auto found = find_functions(info, "vfs_read");
        ASSERT_EQ(found.size(), 1u);
        const FunctionInfo& read = found[0];
        EXPECT_EQ(read.file, "fs/read_write.c");
        EXPECT_EQ(read.symbol, "vfs_read");
        EXPECT_EQ(read.entry, kernel.kernel->symbol("vfs_read")->address);
        EXPECT_EQ(read.size, kernel.kernel->symbol("vfs_read")->size);
        EXPECT_TRUE(read.external);
        EXPECT_FALSE(read.varargs || read.noreturn || read.is_syscall);
        EXPECT_EQ(shown_parameters(read.parameters), "file=rdi buf=rsi count=rdx pos=rcx");
        ASSERT_TRUE(read.return_type);
        EXPECT_EQ(info.type_name(*read.return_type), "ssize_t");
        EXPECT_EQ(info.resolve(*read.return_type).size, 8u);
        EXPECT_TRUE(info.resolve(*read.return_type).is_signed);
        EXPECT_EQ(info.type_name(read.parameters[0].type), "struct file *");
        EXPECT_EQ(info.type_name(read.parameters[1].type), "char *");
        EXPECT_EQ(info.type_name(read.parameters[3].type), "loff_t *");
        EXPECT_EQ(find_functions(info, "vfs_read@fs/read_write.c").size(), 1u);
        EXPECT_EQ(find_functions(info, "vfs_read@read_write.c").size(), 1u);
        EXPECT_TRUE(find_functions(info, "vfs_read@fs/open.c").empty());
        EXPECT_TRUE(find_functions(info, "panic")[0].noreturn);
        EXPECT_TRUE(find_functions(info, "_printk")[0].varargs);
        EXPECT_EQ(info.type_name(*find_functions(info, "schedule")[0].return_type), "void");
    }
}

TEST_F(KernelDwarf, SystemCalls) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        const DebugInfo& info = *kernel.info;
        auto found = find_functions(info, "sys_gettimeofday");
        ASSERT_EQ(found.size(), 1u);
        EXPECT_TRUE(found[0].is_syscall);
        EXPECT_EQ(found[0].name, "sys_gettimeofday");
        EXPECT_EQ(found[0].symbol, "__x64_sys_gettimeofday");
        EXPECT_EQ(found[0].file, "kernel/time/time.c");
        EXPECT_EQ(found[0].entry, kernel.kernel->symbol("__x64_sys_gettimeofday")->address);
        EXPECT_EQ(shown_parameters(found[0].parameters), "tv=[rdi+112] tz=[rdi+104]");
        CType pointee = info.resolve(info.resolve(found[0].parameters[0].type).base_type);
        EXPECT_EQ(pointee.name, "__kernel_old_timeval");
        EXPECT_TRUE(info.member(info.resolve(found[0].parameters[0].type).base_type, "tv_usec"));
        auto literal = find_functions(info, "__x64_sys_gettimeofday");
        ASSERT_EQ(literal.size(), 1u);
        EXPECT_FALSE(literal[0].is_syscall);
        EXPECT_EQ(literal[0].parameters.size(), 1u);
        EXPECT_EQ(shown_location(literal[0].parameters[0].location), "rdi");
        auto none = find_functions(info, "sys_getpid");
        ASSERT_EQ(none.size(), 1u);
        EXPECT_TRUE(none[0].is_syscall);
        EXPECT_TRUE(none[0].parameters.empty());
        ASSERT_TRUE(none[0].return_type);
        auto wrapper = find_functions(info, "__x64_sys_getpid");
        ASSERT_EQ(wrapper.size(), 1u);
        EXPECT_EQ(wrapper[0].name, "__x64_sys_getpid");
        EXPECT_EQ(wrapper[0].parameters.size(), 1u);
        EXPECT_EQ(
            shown_parameters(find_functions(info, "sys_mmap")[0].parameters),
            "addr=[rdi+112] len=[rdi+104] prot=[rdi+96] flags=[rdi+56] fd=[rdi+72] off=[rdi+64]");
        auto all = find_functions(info, "sys_*");
        size_t calls = 0, with_parameters = 0;
        for (const FunctionInfo& each : all) {
            calls += each.is_syscall;
            with_parameters += each.is_syscall && !each.parameters.empty();
        }
        EXPECT_GT(calls, 300u);
        EXPECT_GT(with_parameters, 280u);
        EXPECT_EQ(find_functions(info, "sys_gettimeofda[y]").size(), 1u);
        EXPECT_EQ(find_functions(info, "sys_gettimeofday@kernel/time/time.c").size(), 1u);
        EXPECT_TRUE(find_functions(info, "sys_gettimeofday@fs/open.c").empty());
    }
}

TEST_F(KernelDwarf, ClonesAndColdParts) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        const DebugInfo& info = *kernel.info;
        auto all = find_functions(info, "*");
        EXPECT_GT(all.size(), 40000u);
        std::set<uint64_t> entries;
        size_t clones = 0, lost = 0;
        const FunctionInfo* clone = nullptr;
        for (const FunctionInfo& each : all) {
            EXPECT_EQ(each.symbol.find(".cold"), std::string::npos) << each.symbol;
            EXPECT_TRUE(entries.insert(each.entry).second) << each.symbol;
            if (each.symbol.find(".isra.") != std::string::npos ||
                each.symbol.find(".constprop.") != std::string::npos) {
                clones++;
                // objcopy renames the symbols of what runs before the kernel is relocated.
                const bool renamed =
                    each.symbol.starts_with("__pi_") && !each.name.starts_with("__pi_");
                EXPECT_EQ(each.symbol.substr(renamed ? 5 : 0, each.name.size() + 1),
                          each.name + ".");
                bool here = false;
                for (const Variable& parameter : each.parameters)
                    here = here || parameter.location.kind == LocationKind::None ||
                           parameter.location.kind == LocationKind::Constant;
                lost += here;
                if (here)
                    clone = &each;
            }
        }
        EXPECT_GT(clones, 500u);
        EXPECT_GT(lost, 20u);
        ASSERT_TRUE(clone);
        for (const Variable& parameter : clone->parameters) {
            if (parameter.location.kind == LocationKind::None) {
                EXPECT_FALSE(parameter.location.why.empty());
            }
        }
        auto by_symbol = find_functions(info, clone->symbol);
        bool literally = false; // names of clones are not unique either
        for (const FunctionInfo& each : by_symbol)
            literally = literally || each.entry == clone->entry;
        EXPECT_TRUE(literally);
        bool by_name = false;
        for (const FunctionInfo& each : find_functions(info, clone->name))
            by_name = by_name || each.entry == clone->entry;
        EXPECT_TRUE(by_name);
    }
}

TEST_F(KernelDwarf, NamesThatDoNotExist) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        const DebugInfo& info = *kernel.info;
        EXPECT_TRUE(find_functions(info, "no_such_function").empty());
        EXPECT_TRUE(find_functions(info, "no_such_*").empty());
        EXPECT_TRUE(find_functions(info, "[").empty());
        EXPECT_TRUE(find_functions(info, "vfs_read@no/such/file.c").empty());
        EXPECT_TRUE(find_functions(info, std::string(100000, '*') + "!").empty());
        auto similar = info.similar_functions("vfs_raed");
        ASSERT_FALSE(similar.empty());
        EXPECT_EQ(similar[0], "vfs_read");
        auto calls = info.similar_functions("sys_getimeofday");
        EXPECT_NE(std::find(calls.begin(), calls.end(), "sys_gettimeofday"), calls.end());
        EXPECT_TRUE(info.only_inlined("get_current"));
        EXPECT_FALSE(info.only_inlined("vfs_read"));
        EXPECT_FALSE(info.only_inlined("no_such_function"));
        EXPECT_TRUE(find_functions(info, "get_current").empty());
    }
}

TEST_F(KernelDwarf, Types) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        const DebugInfo& info = *kernel.info;
        auto timeval = info.type_by_name("struct __kernel_old_timeval");
        ASSERT_TRUE(timeval);
        CType type = info.resolve(*timeval);
        EXPECT_EQ(type.kind, CTypeKind::Struct);
        EXPECT_EQ(type.name, "__kernel_old_timeval");
        EXPECT_EQ(type.size, 16u);
        EXPECT_EQ(info.member(*timeval, "tv_sec")->offset, 0u);
        EXPECT_EQ(info.member(*timeval, "tv_usec")->offset, 8u);
        EXPECT_FALSE(info.member(*timeval, "tv_nsec"));
        EXPECT_FALSE(info.member(*timeval, ""));
        EXPECT_EQ(info.type_name(*timeval), "struct __kernel_old_timeval");

        auto task = info.type_by_name("struct task_struct");
        ASSERT_TRUE(task);
        auto comm = info.member(*task, "comm");
        ASSERT_TRUE(comm);
        CType array = info.resolve(comm->type);
        EXPECT_EQ(array.kind, CTypeKind::Array);
        EXPECT_EQ(array.count, 16u);
        EXPECT_EQ(array.size, 16u);
        EXPECT_EQ(info.resolve(array.base_type).kind, CTypeKind::Char);
        EXPECT_EQ(info.type_name(comm->type), "char [16]");
        auto flag = info.member(*task, "in_execve"); // one of several bit-fields
        ASSERT_TRUE(flag);
        EXPECT_EQ(flag->bit_size, 1u);
        EXPECT_LT(flag->bit_offset, 32u);
        EXPECT_EQ(info.type_by_name("task_struct"), task);

        // Anonymous members: sk_buff's queue links are in a union in a struct.
        auto packet = info.type_by_name("struct sk_buff");
        ASSERT_TRUE(packet);
        EXPECT_EQ(info.member(*packet, "next")->offset, 0u);
        EXPECT_EQ(info.member(*packet, "prev")->offset, 8u);
        EXPECT_EQ(info.member(*packet, "dev")->offset, 16u);
        auto data = info.member(*packet, "data");
        EXPECT_EQ(info.type_name(data->type), "unsigned char *");

        auto state = info.type_by_name("enum pid_type");
        ASSERT_TRUE(state);
        auto values = info.enumerators(*state);
        ASSERT_GE(values.size(), 5u);
        EXPECT_EQ(values[0].name, "PIDTYPE_PID");
        EXPECT_EQ(values[3].name, "PIDTYPE_SID");
        EXPECT_EQ(values[3].value, 3);
        EXPECT_EQ(info.resolve(*info.type_by_name("unsigned long")).size, 8u);
        EXPECT_FALSE(info.resolve(*info.type_by_name("u16")).is_signed);
        EXPECT_EQ(info.resolve(*info.type_by_name("bool")).kind, CTypeKind::Bool);
        EXPECT_FALSE(info.type_by_name("struct no_such_struct"));
        EXPECT_FALSE(info.type_by_name(""));
        EXPECT_EQ(info.resolve(0).kind, CTypeKind::Void);
        EXPECT_EQ(info.type_name(0), "void");
        EXPECT_EQ(info.resolve(0x7fffffffffff).kind, CTypeKind::Unknown);
        EXPECT_TRUE(info.members(0).empty());
        auto operation = info.member(*info.type_by_name("struct file_operations"), "read");
        EXPECT_EQ(info.type_name(operation->type),
                  "ssize_t (*)(struct file *, char *, size_t, loff_t *)");
    }
}

TEST_F(KernelDwarf, Globals) {
    for (const OpenKernel& kernel : kernels()) {
        SCOPED_TRACE(kernel.release);
        auto jiffies = kernel.info->global("init_task");
        ASSERT_TRUE(jiffies);
        EXPECT_EQ(jiffies->location.kind, LocationKind::Address);
        EXPECT_EQ(jiffies->location.constant, kernel.kernel->symbol("init_task")->address);
        EXPECT_EQ(kernel.info->type_name(jiffies->type), "struct task_struct");
        EXPECT_FALSE(kernel.info->global("no_such_variable"));
    }
}

TEST_F(KernelDwarf, BrokenIndexIsBuiltAgain) {
    const OpenKernel& kernel = kernels().back();
    const test::TestFolder folder;
    const test::Environment cache("DJSTAP_CACHE", folder.path);
    std::string path = debuginfo_index_path(kernel.kernel->build_id());
    EXPECT_TRUE(path.starts_with(folder.path));
    static std::vector<std::string> told;
    told.clear();
    auto open = [&] {
        auto info =
            DebugInfo::open(*kernel.kernel, [](const std::string& text) { told.push_back(text); });
        return info && find_functions(**info, "vfs_read").size() == 1;
    };
    // The first question that concerns everything builds it. From then on it is mapped, without a
    // long step.
    {
        auto info = DebugInfo::open(*kernel.kernel);
        ASSERT_TRUE(info);
        EXPECT_TRUE((*info)->global("init_task"));
    }
    ASSERT_TRUE(std::filesystem::exists(path));
    EXPECT_TRUE(open());
    EXPECT_EQ(told, std::vector<std::string>());
    auto whole = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, whole / 2);
    EXPECT_TRUE(open());
    // Before it begins, because it takes long, and afterwards.
    ASSERT_EQ(told.size(), 2U);
    const std::string what = "the debug information of " + kernel.kernel->title();
    EXPECT_EQ(told[0], "indexing " + what + " (once per kernel)");
    EXPECT_TRUE(told[1].starts_with("indexed " + what + " in ")) << told[1];
    // What it has written is intact, however long the cached one was.
    told.clear();
    EXPECT_TRUE(open());
    EXPECT_EQ(told, std::vector<std::string>());
    // A folder that is not writable: it works from memory.
    cache.set(folder.write("file", "x"));
    EXPECT_TRUE(open());
}
