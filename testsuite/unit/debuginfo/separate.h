// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel and a module whose debug information is in files of its own.
#pragma once
#include "image/module_file.h"
#include "kernels.h"
#include "made_kernel.h"

#include <filesystem>
#include <string>

namespace djstap {

namespace fs = std::filesystem;

inline const std::string kernel_text = R"c(struct box { int width; struct box *next; };
int measure(struct box *box, int times)
{
    int sum = box->width;
    sum *= times;
    return sum;
}
)c";

inline const std::string module_text = R"c(struct own { int first; unsigned low : 3, high : 5; };
static int total;
static inline __attribute__((always_inline)) int twice(int value) { int result = value * 2; total += result; return result; }
int walk(struct own *own, int count)
{
    int sum = own->first;
    while (count--)
        sum += twice(sum);
    return sum;
}
)c";

// A kernel and a module of a few lines whose files a test moves about.
class SeparateDebugInfo : public testing::Test {
  protected:
    SeparateDebugInfo() : made_({{"kernel/measure.c", kernel_text}}, {"-O1"}) {
        made_.info.reset();
    }

    std::string at(const std::string& path) const { return made_.folder() + "/" + path; }
    // Runs a shell's commands in the kernel's folder, where R is its release.
    void shell(const std::string& commands) const {
        const auto ran =
            run_program({"env", "-C", made_.folder(), "R=6.1.0-made", "sh", "-ec", commands});
        ASSERT_TRUE(ran && ran->status == 0) << commands << "\n"
                                             << (ran ? ran->output : ran.failure().message);
    }
    // Moves the DWARF of vmlinux to a file with this name, which its .gnu_debuglink names.
    void split_kernel(const std::string& name) const {
        shell("objcopy --only-keep-debug vmlinux " + name +
              " && objcopy --strip-debug --add-gnu-debuglink=" + name +
              " vmlinux stripped && mv stripped vmlinux");
    }
    // Compiles and links a module, as Kbuild does, to `path`.
    void make_module(const std::string& path, const std::string& text,
                     const std::string& build_id = "--build-id") const {
        fs::create_directories(fs::path(at(path)).parent_path());
        std::ofstream(at("m.c")) << text;
        shell("gcc -g -gdwarf-5 -O2 -c m.c -o m.o -ffreestanding -mcmodel=kernel -fno-pie "
              "-fcf-protection=none "
              "-fno-asynchronous-unwind-tables && ld -r " +
              build_id + " -o " + path + " m.o");
    }
    void split_module(const std::string& path, const std::string& debug,
                      const std::string& options = "") const {
        shell("objcopy --only-keep-debug " + options + " " + path + " " + debug +
              " && objcopy --strip-debug --add-gnu-debuglink=" + debug + " " + path);
    }

    struct Opened {
        std::unique_ptr<Kernel> kernel;
        std::unique_ptr<Image> module;
        std::unique_ptr<DebugInfo> info;
        std::string failure;
        DebugInfo* operator->() const { return info.get(); }
    };
    static inline std::vector<std::string> told;
    static void tell(const std::string& text) { told.push_back(text); }

    Opened open_kernel() const {
        Opened opened;
        auto kernel = Kernel::open(made_.image->files());
        EXPECT_TRUE(kernel) << kernel.failure().message;
        if (!kernel)
            return opened;
        opened.kernel = std::move(*kernel);
        finish(opened, *opened.kernel);
        return opened;
    }
    Opened open(const std::string& path) const {
        Opened opened;
        auto module = open_module(*made_.image, at(path));
        EXPECT_TRUE(module) << module.failure().message;
        if (!module)
            return opened;
        opened.module = std::move(*module);
        finish(opened, *opened.module);
        return opened;
    }
    static void finish(Opened& opened, const Image& image) {
        told.clear();
        auto info = DebugInfo::open(image, tell);
        if (info)
            opened.info = std::move(*info);
        else
            opened.failure = info.failure().message;
    }

    void expect_kernel_from(const std::string& path) const {
        const Opened opened = open_kernel();
        ASSERT_TRUE(opened.info) << opened.failure;
        EXPECT_EQ(opened->origin(), at(path));
        const auto found = find_functions(*opened.info, "measure");
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].line, 2U);
        EXPECT_EQ(shown_parameters(found[0].parameters), "box=rdi times=rsi");
        EXPECT_EQ(found[0].entry, opened.kernel->symbol("measure")->address);
    }
    // The module's functions, lines, locals and inline instances are known, where its code is.
    void expect_module_from(const std::string& path, const std::string& module) const {
        const Opened opened = open(module);
        ASSERT_TRUE(opened.info) << opened.failure;
        EXPECT_EQ(opened->origin(), at(path));
        expect_module(opened);
    }
    static void expect_module(const Opened& opened) {
        const auto found = find_functions(*opened.info, "walk");
        ASSERT_EQ(found.size(), 1U);
        const auto symbol = opened.module->symbol("walk");
        EXPECT_EQ(found[0].entry, symbol->address);
        EXPECT_EQ(shown_parameters(found[0].parameters), "own=rdi count=rsi");
        const auto lines = opened->statements(*parse_function_pattern("walk@m.c:9"), false);
        ASSERT_TRUE(lines && lines->addresses.size() == 1U);
        const uint64_t address = lines->addresses[0].address;
        EXPECT_TRUE(address >= symbol->address && address < symbol->address + symbol->size);
        std::string names;
        for (const Variable& variable : opened->variables_at(address))
            names += variable.name + " ";
        EXPECT_EQ(names, "own count sum ");
        const auto copies = opened->inlined(*parse_function_pattern("twice"), nullptr);
        ASSERT_EQ(copies.size(), 1U);
        EXPECT_EQ(copies[0].symbol, "walk");
        const auto total = opened->global("total");
        ASSERT_TRUE(total);
        EXPECT_EQ(total->location.constant, opened.module->symbol("total")->address);
        const auto own = opened->type_by_name("struct own");
        ASSERT_TRUE(own);
        EXPECT_EQ(opened->member(*own, "high")->bit_offset, 3U);
    }

    const test::Environment servers_{"DEBUGINFOD_URLS"}, fetched_{"DEBUGINFOD_CACHE_PATH"},
        timeout_{"DEBUGINFOD_TIMEOUT"};
    MadeKernel made_;
};

} // namespace djstap
