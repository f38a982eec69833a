// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels.h"
#include "made_btf.h"

#include "debuginfo/btf.h"
#include "debuginfo/syscalls.h"
#include "image/elf_file.h"
#include "system/temporary.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

using namespace djstap;

TEST(Btf, KindsByHand) {
    BtfBuilder b;
    b.type("int", BtfKind::Int, 0, 4); // 1
    b.words({1u << 24 | 32});
    b.type("bits", BtfKind::Struct, 3, 8, true); // 2: kind_flag: sizes in the offsets
    b.words(
        {b.name("low"), 1, 3u << 24 | 0, b.name("high"), 1, 5u << 24 | 3, b.name("whole"), 1, 32});
    b.type("wide", BtfKind::Enum64, 2, 8, true); // 3
    b.words({b.name("LARGE"), 0, 1, b.name("MINUS"), 0xffffffff, 0xffffffff});
    b.type("narrow", BtfKind::Enum, 1, 4); // 4
    b.words({b.name("TOP"), 0xffffffff});
    b.type("user", BtfKind::TypeTag, 0, 1); // 5
    b.type("", BtfKind::Ptr, 0, 5);         // 6
    b.type("", BtfKind::FuncProto, 2, 1);   // 7
    b.words({b.name("at"), 6, 0, 0});
    b.type("call", BtfKind::Func, 0, 7);    // 8
    b.type("note", BtfKind::DeclTag, 0, 8); // 9
    b.words({0});
    b.type("loop", BtfKind::Typedef, 0, 10); // 10: refers to itself
    b.type("", BtfKind::Array, 0, 0);        // 11: int [2][3]
    b.words({12, 1, 2});
    b.type("", BtfKind::Array, 0, 0); // 12
    b.words({1, 1, 3});
    b.type("", BtfKind::Array, 0, 0); // 13: an array of itself
    b.words({13, 1, 2});
    std::string bytes = b.finish();
    auto btf = Btf::parse(bytes);
    ASSERT_TRUE(btf);
    auto members = btf->members(2);
    ASSERT_EQ(members.size(), 3u);
    EXPECT_EQ(members[1].offset, 0u);
    EXPECT_EQ(members[1].bit_offset, 3u);
    EXPECT_EQ(members[1].bit_size, 5u);
    EXPECT_EQ(members[2].offset, 4u);
    EXPECT_EQ(members[2].bit_size, 0u);
    auto wide = btf->enumerators(3);
    ASSERT_EQ(wide.size(), 2u);
    EXPECT_EQ(wide[0].value, int64_t(1) << 32);
    EXPECT_EQ(wide[1].value, -1);
    EXPECT_EQ(btf->enumerators(4)[0].value, 0xffffffffll);
    bool varargs = false;
    auto parameters = btf->function_parameters(btf->function("call"), varargs);
    ASSERT_EQ(parameters.size(), 1u);
    EXPECT_TRUE(varargs);
    auto step = [&](TypeId id) { return btf->step(id); };
    EXPECT_EQ(write_type(6, step), "int *");
    EXPECT_EQ(btf->resolve(btf->resolve(6).base_type).name, "int");
    EXPECT_EQ(btf->resolve(10).kind, CTypeKind::Void);
    EXPECT_EQ(btf->resolve(11).size, 24u);
    EXPECT_EQ(write_type(11, step), "int [2][3]");
    EXPECT_EQ(btf->resolve(13).size, 0u);
    EXPECT_FALSE(write_type(13, step).empty());
    EXPECT_EQ(btf->resolve(4000).kind, CTypeKind::Unknown);
    EXPECT_EQ(write_type(btf->by_declaration("const int __user * *"), step), "int **");
    EXPECT_EQ(write_type(btf->by_declaration("void *"), step), "void *");
    EXPECT_EQ(write_type(btf->by_declaration("int *const"), step), "int *");
    EXPECT_FALSE(btf->by_name("struct none"));
    for (size_t size = 0; size < bytes.size(); size++)
        EXPECT_FALSE(Btf::parse(std::string_view(bytes).substr(0, size))) << size;
    std::string unknown = bytes;
    unknown[24 + 7] = 0x1f; // the first type's kind
    EXPECT_FALSE(Btf::parse(unknown));
}

TEST(Btf, AgreesWithDwarf) {
    auto without = open_kernels(true);
    if (without.empty())
        GTEST_SKIP() << "no kernel with BTF is unpacked here";
    ASSERT_EQ(without.size(), kernels().size());
    for (size_t k = 0; k < without.size(); k++) {
        SCOPED_TRACE(without[k].release);
        const DebugInfo &btf = *without[k].info, &dwarf = *kernels()[k].info;
        EXPECT_FALSE(btf.has_dwarf());
        std::map<std::string, std::vector<FunctionInfo>> known;
        size_t compared = 0, different = 0;
        std::string differences;
        for (const FunctionInfo& function : find_functions(dwarf, "*")) {
            if (function.symbol == function.name && !function.parameters.empty())
                known[function.name].push_back(function);
        }
        size_t every = known.size() / 2000, at = 0;
        for (const auto& [name, functions] : known) {
            if (++at % every || functions.size() != 1)
                continue;
            auto found = find_functions(btf, name);
            if (found.empty() || found[0].parameters.empty() || found[0].symbol != name)
                continue;
            EXPECT_EQ(found[0].entry, functions[0].entry) << name;
            EXPECT_EQ(found[0].varargs, functions[0].varargs) << name;
            auto described = [](const DebugInfo& info, const FunctionInfo& function) {
                std::string text;
                // of a system call: BTF has the names of its weak alias
                bool wrapper = function.name.starts_with("__");
                for (const Variable& parameter : function.parameters)
                    text += (wrapper ? "" : parameter.name + ": ") +
                            info.type_name(parameter.type) + " in " +
                            shown_location(parameter.location) + ", ";
                return text;
            };
            std::string ours = described(btf, found[0]), theirs = described(dwarf, functions[0]);
            if (ours != theirs)
                differences += name + ": " + ours + "but " + theirs + "\n";
            different += ours != theirs;
            compared++;
        }
        // Two functions of one name, and values that were propagated into a function that kept its
        // name.
        EXPECT_LE(different, compared / 500) << differences;
        EXPECT_GT(compared, 1900u); // of 2,001 and 2,048
        for (const char* name : {"struct task_struct", "struct sk_buff", "struct inode",
                                 "struct __kernel_old_timeval", "struct tcp_sock", "struct page"}) {
            auto a = btf.type_by_name(name), b = dwarf.type_by_name(name);
            ASSERT_TRUE(a && b) << name;
            EXPECT_EQ(btf.resolve(*a).size, dwarf.resolve(*b).size) << name;
            auto x = btf.members(*a), y = dwarf.members(*b);
            ASSERT_EQ(x.size(), y.size()) << name;
            for (size_t i = 0; i < x.size(); i++) {
                EXPECT_EQ(x[i].name, y[i].name) << name;
                EXPECT_EQ(x[i].offset, y[i].offset) << name << " " << x[i].name;
                EXPECT_EQ(x[i].bit_offset, y[i].bit_offset) << name << " " << x[i].name;
                EXPECT_EQ(x[i].bit_size, y[i].bit_size) << name << " " << x[i].name;
            }
        }
        auto x = btf.enumerators(*btf.type_by_name("enum pid_type")),
             y = dwarf.enumerators(*dwarf.type_by_name("enum pid_type"));
        ASSERT_EQ(x.size(), y.size());
        for (size_t i = 0; i < x.size(); i++)
            EXPECT_EQ(x[i].name + std::to_string(x[i].value),
                      y[i].name + std::to_string(y[i].value));
    }
}

// Two formats in tracefs' layout, the second as written by kernels that record strings, too.
constexpr std::string_view two_formats = R"(name: sys_enter_openat
ID: 633
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
	field:int dfd;	offset:16;	size:8;	signed:0;
	field:const char * filename;	offset:24;	size:8;	signed:0;
	field:umode_t mode;	offset:32;	size:8;	signed:0;

print fmt: "dfd: 0x%08lx", ((unsigned long)(REC->dfd))
name: sys_enter_execve
ID: 700
format:
	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
	field:const char *const * argv;	offset:16;	size:8;	signed:0;
	field:__data_loc char[] __filename_val;	offset:24;	size:4;	signed:0;
name: sys_enter_getpid
	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
name: sys_enter_damaged
	field:)";

std::string shown_formats(const SyscallFormats& formats, const char* name) {
    auto parameters = formats.parameters(name);
    if (!parameters)
        return "?";
    std::string shown = "(";
    for (const SyscallParameter& each : *parameters)
        shown += "[" + each.type + "|" + each.name + "]";
    return shown + ")";
}

TEST(Btf, TracefsTellsArgumentsOfSystemCalls) {
    const auto made = TemporaryFolder::create(testing::TempDir());
    ASSERT_TRUE(made);
    const std::string folder = made->path(), dump = folder + "/dump",
                      event = folder + "/tracefs/sys_enter_openat";
    std::filesystem::create_directories(event);
    std::ofstream(dump) << two_formats;
    std::ofstream(event + "/format")
        << two_formats.substr(0, two_formats.find("name: sys_enter_e"));
    const std::string openat = "([int |dfd][const char * |filename][umode_t |mode])";
    SyscallFormats file(dump), tracefs(folder + "/tracefs"), nothing(""), missing("/nowhere");
    EXPECT_EQ(shown_formats(file, "openat"), openat);
    EXPECT_EQ(shown_formats(tracefs, "openat"), openat);
    EXPECT_EQ(shown_formats(file, "execve"), "([const char *const * |argv])");
    EXPECT_EQ(shown_formats(file, "getpid"), "()");
    for (const SyscallFormats* formats : {&file, &tracefs, &nothing, &missing})
        EXPECT_EQ(shown_formats(*formats, "damaged"), "?");
    EXPECT_EQ(shown_formats(tracefs, "getpid"), "?");
}

TEST(Btf, SystemCallsAndClones) {
    auto without = open_kernels(true);
    if (without.empty())
        GTEST_SKIP() << "no kernel with BTF is unpacked here";
    for (size_t k = 0; k < without.size(); k++) {
        SCOPED_TRACE(without[k].release);
        const DebugInfo &btf = *without[k].info, &dwarf = *kernels()[k].info;
        auto time = find_functions(btf, "sys_gettimeofday");
        ASSERT_EQ(time.size(), 1u);
        EXPECT_EQ(shown_parameters(time[0].parameters), "tv=[rdi+112] tz=[rdi+104]");
        EXPECT_EQ(btf.type_name(time[0].parameters[0].type), "struct __kernel_old_timeval *");
        EXPECT_TRUE(btf.member(btf.resolve(time[0].parameters[0].type).base_type, "tv_sec"));
        EXPECT_TRUE(find_functions(btf, "sys_getpid")[0].parameters.empty());
        auto a = find_functions(btf, "sys_*"), b = find_functions(dwarf, "sys_*");
        std::map<std::string, std::string> calls;
        for (const FunctionInfo& each : b) {
            if (each.is_syscall)
                calls[each.name] = shown_parameters(each.parameters);
        }
        size_t same = 0, calls_found = 0;
        for (const FunctionInfo& each : a) {
            if (!each.is_syscall)
                continue;
            calls_found++;
            same +=
                calls.contains(each.name) && calls[each.name] == shown_parameters(each.parameters);
        }
        EXPECT_GT(calls_found, 300u);
        EXPECT_GT(same, calls_found * 9 / 10);
        bool clone = false;
        for (const FunctionInfo& each : find_functions(btf, "*.isra.*")) {
            EXPECT_NE(each.name, each.symbol);
            for (const Variable& parameter : each.parameters)
                EXPECT_EQ(parameter.location.kind, LocationKind::None);
            clone = true;
        }
        EXPECT_TRUE(clone);
        EXPECT_TRUE(find_functions(btf, "vfs_read@fs/read_write.c").empty());
        auto lines = btf.statements(*parse_function_pattern("vfs_read@fs/read_write.c+1"), false);
        ASSERT_FALSE(lines);
        EXPECT_NE(lines.failure().hint.find("DWARF"), std::string::npos);
        auto read = find_functions(btf, "vfs_read")[0];
        EXPECT_EQ(shown_parameters(btf.variables_at(read.entry)),
                  "file=rdi buf=rsi count=rdx pos=rcx");
        EXPECT_EQ(shown_parameters(btf.variables_at(read.entry + 40)),
                  "file=? buf=? count=? pos=?");
        EXPECT_EQ(btf.similar_functions("vfs_raed")[0], "vfs_read");
    }
}
