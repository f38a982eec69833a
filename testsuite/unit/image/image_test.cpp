// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/kernel.h"

#include "cache/cache.h"
#include "image/elf_file.h"
#include "image/glob.h"
#include "image/module_file.h"
#include "image/symbol_table.h"
#include "made.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <zlib.h>

using namespace djstap;
using namespace djstap::test;

namespace {

// Returns every kernel that is unpacked with its vmlinux.
std::vector<KernelFiles> real_kernels() {
    std::vector<KernelFiles> found;
    for (const std::string& release : installed_releases()) {
        auto files = find_kernel(release);
        if (files && !files->vmlinux.empty())
            found.push_back(*files);
    }
    return found;
}

// Returns some module of the first of these kernels that has fentry sites.
std::string module_with_sites(const std::vector<KernelFiles>& kernels) {
    for (const KernelFiles& files : kernels)
        for (const auto& entry : fs::recursive_directory_iterator(files.modules + "/kernel")) {
            if (entry.path().extension() != ".ko")
                continue;
            std::ifstream file(entry.path(), std::ios::binary);
            std::string bytes((std::istreambuf_iterator<char>(file)), {});
            if (bytes.find("__mcount_loc") != std::string::npos)
                return bytes;
        }
    return {};
}

} // namespace

TEST(Glob, Wildcards) {
    EXPECT_TRUE(glob_match("vfs_*", "vfs_read"));
    EXPECT_TRUE(glob_match("*", ""));
    EXPECT_TRUE(glob_match("*_r?ad", "vfs_read"));
    EXPECT_TRUE(glob_match("a*b*c", "a_b_b_c"));
    EXPECT_FALSE(glob_match("a*b*c", "a_b_b_d"));
    EXPECT_TRUE(glob_match("x[0-9a]", "x7"));
    EXPECT_FALSE(glob_match("x[!0-9]", "x7"));
    EXPECT_TRUE(glob_match("x[]]", "x]"));
    EXPECT_TRUE(glob_match("x[", "x["));
    EXPECT_TRUE(glob_match("a\\*", "a*"));
    EXPECT_FALSE(glob_match("a\\*", "ab"));
    EXPECT_FALSE(glob_match("", "x"));
    EXPECT_EQ(literal_prefix("tcp_*x"), "tcp_");
}

TEST(Glob, Braces) {
    EXPECT_TRUE(glob_match("vfs_{read,write}", "vfs_write"));
    EXPECT_FALSE(glob_match("vfs_{read,write}", "vfs_open"));
    EXPECT_FALSE(glob_match("vfs_{read,write}", "vfs_{read,write}"));
    EXPECT_TRUE(glob_match("{vfs_,{ksys,__x64_sys}_}read", "ksys_read"));
    EXPECT_TRUE(glob_match("{vfs,ksys}_{re*,write}", "ksys_readahead"));
    EXPECT_TRUE(glob_match("a{,b}", "a"));
    EXPECT_TRUE(glob_match("a{b}", "ab"));
    EXPECT_TRUE(glob_match("a{b", "a{b"));
    EXPECT_TRUE(glob_match("a}b", "a}b"));
    EXPECT_TRUE(glob_match("a\\{b,c}", "a{b,c}"));
    EXPECT_TRUE(glob_match("a{b\\,c,d}", "ab,c"));
    EXPECT_TRUE(Glob("{a,b}{1,2}").matches("b1"));
    EXPECT_EQ(glob_alternatives("x{a,b{c,d}}y"), (std::vector<std::string>{"xay", "xbcy", "xbdy"}));
    EXPECT_TRUE(has_wildcard("vfs_{read,write}"));
    EXPECT_EQ(literal_prefix("vfs_{read,write}"), "vfs_");
}

TEST(Glob, AlternativesAreBounded) {
    std::string many;
    for (int i = 0; i < 8; i++)
        many += "{a,b}";
    EXPECT_FALSE(has_too_many_alternatives(many));
    EXPECT_EQ(glob_alternatives(many).size(), most_alternatives);
    for (int i = 0; i < 40; i++)
        many += "{a,b}";
    EXPECT_TRUE(has_too_many_alternatives(many));
    EXPECT_EQ(glob_alternatives(many).size(), most_alternatives);
    const std::string deep = std::string(100'000, '{') + std::string(100'000, '}');
    EXPECT_TRUE(has_too_many_alternatives(deep));
    EXPECT_EQ(glob_alternatives(deep), std::vector{deep});
}

TEST(Cache, BrokenFilesAreRefused) {
    Folder folder;
    constexpr TableFormat format = {{'t', 'e', 's', 't', '1', '2', '3', '4'}, 3, 2};
    TableWriter writer(format);
    writer.add(std::vector<uint64_t>{1, 2, 3});
    writer.add(std::string("hello\0world\0", 12));
    std::string bytes = writer.finish();
    std::string path = folder.path + "/a/b/table";
    ASSERT_TRUE(write_atomically(path, bytes));
    auto view = TableView::map(path, format);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->section<uint64_t>(0)[2], 3u);
    EXPECT_EQ(pool_string(view->raw(1), 6), "world");
    EXPECT_EQ(pool_string(view->raw(1), 4000), "");
    EXPECT_FALSE(TableView::map(folder.path + "/none", format));
    EXPECT_FALSE(TableView::map(folder.path, format));
    TableFormat newer = format;
    newer.version++;
    EXPECT_FALSE(TableView::map(path, newer));
    for (size_t size = 0; size < bytes.size(); size++)
        EXPECT_FALSE(TableView::hold(bytes.substr(0, size), format)) << size;
    for (size_t at = 0; at < 64; at++) {
        std::string damaged = bytes;
        damaged[at] ^= 0x40;
        EXPECT_FALSE(TableView::hold(damaged, format)) << at;
    }
    size_t files = 0;
    for (auto& entry : fs::directory_iterator(folder.path + "/a/b")) {
        files++;
        EXPECT_EQ(entry.path().filename(), "table");
    }
    EXPECT_EQ(files, 1u);
    std::string blocked = folder.write("file", "x") + "/below/table";
    EXPECT_FALSE(write_atomically(blocked, bytes));
}

TEST(ElfFile, BadFiles) {
    Folder folder;
    EXPECT_FALSE(ElfFile::open(folder.path + "/none"));
    EXPECT_FALSE(ElfFile::open(folder.path));
    EXPECT_FALSE(ElfFile::open(folder.write("empty", "")));
    EXPECT_FALSE(ElfFile::open(folder.write("text", std::string(5000, 'x'))));
    auto own = read_file("/proc/self/exe");
    ASSERT_TRUE(own);
    ASSERT_TRUE(ElfFile::open("/proc/self/exe"));
    for (size_t part : {65, 500, 4096, 20000})
        EXPECT_FALSE(ElfFile::open(folder.write("part", own->substr(0, part)))) << part;
    EXPECT_EQ(
        build_id_in_notes(std::string_view("\4\0\0\0\377\377\377\377\3\0\0\0GNU\0", 16), 0).digits,
        "");
    const std::string notes(
        "\4\0\0\0\2\0\0\0\1\0\0\0Xen\0ab\0\0\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\xc0\xff\xee\0", 40);
    const BuildId id = build_id_in_notes(notes, 0x1000);
    EXPECT_EQ(id.digits, "c0ffee");
    EXPECT_EQ(id.address, 0x1000u + 36);
    EXPECT_EQ(build_id_in_notes(notes.substr(0, 38), 0x1000).digits, "");
}

TEST(Locate, ReleasesAndPrefixes) {
    Folder folder;
    for (const char* release : {"9.1.0-5-test", "9.1.0-56-test", "9.12.3-test"})
        folder.write(std::string(release) + "/boot/vmlinuz-" + release, "image");
    folder.write("9.1.0-56-test/usr/lib/debug/boot/vmlinux-9.1.0-56-test", "elf");
    folder.write("9.1.0-56-test/lib/modules/9.1.0-56-test/build/.config", "CONFIG_X=y\n");
    Environment kernels("DJSTAP_KERNELS", folder.path);
    auto installed = installed_releases();
    std::vector<std::string> ours(installed.begin(), installed.begin() + 3);
    EXPECT_EQ(ours, (std::vector<std::string>{"9.12.3-test", "9.1.0-56-test", "9.1.0-5-test"}));
    auto release = [](std::string_view wanted) {
        auto files = find_kernel(wanted);
        return files ? files->release : "!" + files.failure().message;
    };
    EXPECT_EQ(release("9.1"), "9.1.0-56-test");
    EXPECT_EQ(release("9"), "9.12.3-test");
    EXPECT_EQ(release("9.12"), "9.12.3-test");
    EXPECT_EQ(release("9.1.0-5"), "9.1.0-5-test");
    for (const char* real_time : {"9.1.0-57-rt-test", "9.1.0-58-rt-test", "9.13.1-rt"})
        folder.write(std::string(real_time) + "/boot/vmlinuz-" + real_time, "image");
    EXPECT_EQ(release("9.1"), "9.1.0-56-test");
    EXPECT_EQ(release("9.1-rt"), "9.1.0-58-rt-test");
    EXPECT_EQ(release("9.1.0-57-rt"), "9.1.0-57-rt-test");
    EXPECT_EQ(release("9.13"), "9.13.1-rt");
    EXPECT_EQ(release("9-rt"), "9.13.1-rt");
    EXPECT_EQ(release("9.12-rt"), "!kernel '9.12-rt' is not installed on this machine");
    auto missing = find_kernel("9.1.0-59-test");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.failure().message, "kernel '9.1.0-59-test' is not installed on this machine");
    EXPECT_NE(missing.failure().hint.find("did you mean '9.1.0-5"), std::string::npos)
        << missing.failure().hint;
    auto files = find_kernel("9.1.0-56-test");
    std::string root = folder.path + "/9.1.0-56-test";
    EXPECT_EQ(files->root, root);
    EXPECT_EQ(files->vmlinux, root + "/usr/lib/debug/boot/vmlinux-9.1.0-56-test");
    EXPECT_EQ(files->vmlinuz, root + "/boot/vmlinuz-9.1.0-56-test");
    EXPECT_EQ(files->build_dir, root + "/lib/modules/9.1.0-56-test/build");
    EXPECT_EQ(files->config, root + "/lib/modules/9.1.0-56-test/build/.config");
    EXPECT_EQ(find_kernel(root)->vmlinux, files->vmlinux);
    EXPECT_FALSE(find_kernel(folder.path + "/nowhere"));
    EXPECT_FALSE(find_kernel(folder.path));
    auto bare = find_kernel("9.12");
    EXPECT_TRUE(bare->vmlinux.empty());
    EXPECT_FALSE(bare->looked_in.empty());
    auto opened = Kernel::open(*bare);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.failure().hint.find("vmlinux-9.12.3-test"), std::string::npos);
}

TEST(Kernel, SymbolsOfADump) {
    Folder folder;
    KernelFiles files;
    files.release = "9.9.9-test";
    files.kallsyms = folder.write("kallsyms", "ffffffff81000000 T _stext\n"
                                              "ffffffff81000000 T first\n"
                                              "ffffffff81000040 t twin\n"
                                              "ffffffff81000080 t twin\n"
                                              "ffffffff810000c0 T __noinstr_text_start\n"
                                              "ffffffff810000c0 t quiet\n"
                                              "ffffffff81000100 T __noinstr_text_end\n"
                                              "ffffffff81000100 t refused\n"
                                              "ffffffff81000140 t refused.cold\n"
                                              "ffffffff81000180 T last\n"
                                              "ffffffff81000200 T _etext\n"
                                              "ffffffff82000000 D data\n"
                                              "ffffffffc0000000 t helper\t[module]\n");
    files.fentry_functions = folder.write("filter", "first\ntwin\nlast\nhelper [module]\n");
    files.kprobe_blacklist =
        folder.write("blacklist", "0xffffffff81000100-0xffffffff81000140\trefused\n");
    auto opened = Kernel::open(files);
    ASSERT_TRUE(opened) << opened.failure().message;
    const Kernel& kernel = **opened;
    EXPECT_TRUE(kernel.has_addresses());
    EXPECT_EQ(kernel.symbol("first")->address, 0xffffffff81000000u);
    EXPECT_EQ(kernel.symbols_named("twin").size(), 2u);
    EXPECT_FALSE(kernel.symbol("helper"));
    EXPECT_EQ(kernel.symbol_at(0xffffffff81000199)->name, "last");
    EXPECT_FALSE(kernel.symbol_at(0xffffffff80000000));
    EXPECT_FALSE(kernel.symbol_at(0xffffffff82000000));
    EXPECT_EQ(kernel.fentry_site(0xffffffff81000180), 0xffffffff81000180u);
    EXPECT_FALSE(kernel.fentry_site(0xffffffff810000c0));
    EXPECT_TRUE(kernel.kprobe_forbidden(0xffffffff810000c4));
    EXPECT_TRUE(kernel.kprobe_forbidden(0xffffffff81000104));
    EXPECT_TRUE(kernel.kprobe_forbidden(0xffffffff81000144)); // its cold part
    EXPECT_FALSE(kernel.kprobe_forbidden(0xffffffff81000184));
    EXPECT_TRUE(kernel.kprobe_forbidden(0xffffffff82000000));
    EXPECT_TRUE(kernel.kprobe_forbidden(0));

    files.kallsyms =
        folder.write("hidden", "0000000000000000 T _stext\n0000000000000000 T first\n");
    auto hidden = Kernel::open(files);
    ASSERT_TRUE(hidden);
    EXPECT_FALSE((*hidden)->has_addresses());
    EXPECT_TRUE((*hidden)->symbol("first"));
    files.kallsyms = folder.write("garbage", std::string("\0\1\2binary\n\n  \nnot a symbol\n", 28));
    EXPECT_FALSE(Kernel::open(files));
}

TEST(ModuleFile, RelocationBehindTheFileIsDamage) {
    std::string bytes = module_with_sites(real_kernels());
    if (bytes.empty())
        GTEST_SKIP() << "no kernel with modules is unpacked here";
    EXPECT_TRUE(link_module_image(bytes, "module.ko"));
    Elf64_Ehdr header;
    memcpy(&header, bytes.data(), sizeof header);
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    for (Elf64_Shdr& section : sections)
        if (bytes.data() + sections[header.e_shstrndx].sh_offset + section.sh_name ==
            std::string_view("__mcount_loc"))
            section.sh_offset = bytes.size() - 4; // a site takes eight
    memcpy(bytes.data() + header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr));
    EXPECT_FALSE(link_module_image(bytes, "module.ko"));
}

TEST(Module, IsNotReadIfItIsSmallButFillsTheMemory) {
    const Folder folder;
    const auto packed = [&](const std::string& name, const std::string& bytes) {
        const std::string path = folder.path + "/" + name;
        gzFile file = gzopen(path.c_str(), "wb");
        EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
                  static_cast<int>(bytes.size()));
        EXPECT_EQ(gzclose(file), Z_OK);
        return path;
    };
    const auto module = module_bytes(packed("module.ko.gz", "a module"));
    ASSERT_TRUE(module) << module.failure().message;
    EXPECT_EQ(*module, "a module");
    const std::string large = packed("large.ko.gz", std::string(100 << 20, '\0'));
    const auto refused = module_bytes(large);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().message, large + " is too large when it is decompressed");
    EXPECT_FALSE(module_bytes(folder.path + "/none.ko.gz"));
}

// Each segment is identified by symbols of its own, and what the script may name is in exactly one.
TEST(Module, IsAnImageWithSegmentsForItsCodeAndItsData) {
    const std::vector<KernelFiles> kernels = real_kernels();
    if (kernels.empty())
        GTEST_SKIP() << "no kernel with a vmlinux is unpacked here";
    auto kernel = Kernel::open(kernels.front());
    ASSERT_TRUE(kernel);
    const auto files = module_files((*kernel)->files());
    ASSERT_TRUE(files.contains("dummy"));
    auto module = open_module(**kernel, files.at("dummy"));
    ASSERT_TRUE(module) << module.failure().message;
    const Image& image = **module;
    EXPECT_EQ(image.kind(), ImageKind::Module);
    EXPECT_EQ(image.name(), "dummy");
    EXPECT_EQ(image.title(), "module 'dummy' of kernel " + (*kernel)->release());
    EXPECT_EQ(&image.kernel(), kernel->get());
    EXPECT_EQ(image.file(), files.at("dummy"));
    EXPECT_EQ(image.build_id().size(), 40u);
    EXPECT_NE(image.build_id(), (*kernel)->build_id());
    EXPECT_TRUE(image.knows_fentry_sites());
    const std::vector<Segment> segments = image.segments();
    for (const char* name : {"dummy_setup", "dummy_netdev_ops", "dummy_link_ops"}) {
        const auto symbol = image.symbol(name);
        ASSERT_TRUE(symbol) << name;
        EXPECT_EQ(std::count_if(segments.begin(), segments.end(),
                                [&](const Segment& segment) {
                                    return symbol->address >= segment.begin &&
                                           symbol->address < segment.end;
                                }),
                  1)
            << name;
    }
    for (const Segment& segment : segments) {
        EXPECT_EQ(image.symbols_named(segment.symbol).size(), 1u) << segment.symbol;
        EXPECT_EQ(image.symbol(segment.symbol)->address, segment.address);
        EXPECT_EQ(image.symbol(segment.check_symbol)->address, segment.check_address);
        EXPECT_GE(segment.address, segment.begin);
        EXPECT_LT(segment.check_address, segment.end);
    }
}

// Only of the kernel that runs there is more than files.
TEST(Kernel, ThatRunsHasItsOwnSymbols) {
    utsname machine{};
    ASSERT_EQ(uname(&machine), 0);
    for (const bool runs : {true, false}) {
        Folder root;
        const std::string release = std::string(machine.release) + (runs ? "" : ".other");
        fs::create_directories(root.path + "/lib/modules/" + release);
        const auto files = find_kernel(root.path);
        ASSERT_TRUE(files) << files.failure().message;
        EXPECT_EQ(files->release, release);
        EXPECT_EQ(files->kallsyms.empty(), !runs) << files->kallsyms;
        EXPECT_EQ(files->notes, runs ? "/sys/kernel/notes" : "");
        EXPECT_EQ(files->banner, runs ? "/proc/version" : "");
    }
}

TEST(Kernel, IsAnImageOfOneSegment) {
    const auto kernels = real_kernels();
    if (kernels.empty())
        GTEST_SKIP() << "no kernel with a vmlinux is unpacked here";
    for (const KernelFiles& files : kernels) {
        auto kernel = Kernel::open(files);
        ASSERT_TRUE(kernel);
        const Image& image = **kernel;
        EXPECT_EQ(image.kind(), ImageKind::Kernel);
        EXPECT_EQ(image.name(), "kernel");
        EXPECT_EQ(image.title(), "kernel " + files.release);
        EXPECT_EQ(&image.kernel(), kernel->get());
        EXPECT_EQ(image.file(), files.vmlinux);
        ASSERT_EQ(image.segments().size(), 1u);
        const Segment segment = image.segments().front();
        EXPECT_EQ(segment.symbol, "_printk");
        EXPECT_EQ(segment.address, image.symbol("_printk")->address);
        EXPECT_LE(segment.begin, image.build_id_address());
        EXPECT_GT(segment.end, image.build_id_address());
    }
}

TEST(Kernel, RealKernels) {
    auto kernels = real_kernels();
    if (kernels.empty())
        GTEST_SKIP() << "no kernel with a vmlinux is unpacked here";
    Folder cache;
    Environment environment("DJSTAP_CACHE", cache.path);
    for (const KernelFiles& files : kernels) {
        SCOPED_TRACE(files.release);
        for (int round = 0; round < 2; round++) { // built, then mapped
            auto opened = Kernel::open(files);
            ASSERT_TRUE(opened) << opened.failure().message;
            const Kernel& kernel = **opened;
            EXPECT_EQ(kernel.build_id().size(), 40u);
            EXPECT_TRUE(kernel.version().starts_with("#1 SMP")) << kernel.version();
            EXPECT_EQ(kernel.version().find('\n'), std::string::npos);
            auto read = kernel.symbol("vfs_read");
            ASSERT_TRUE(read);
            EXPECT_TRUE(read->global);
            EXPECT_EQ(kernel.symbol_at(read->address)->name, "vfs_read");
            EXPECT_EQ(kernel.symbol_at(read->address + read->size - 1)->name, "vfs_read");
            auto site = kernel.fentry_site(read->address);
            ASSERT_TRUE(site);
            EXPECT_EQ(*site, read->address + (kernel.has_ibt() ? 4 : 0));
            EXPECT_EQ(kernel.bytes_at(*site, 1), "\xe8"); // the call to __fentry__, as linked
            EXPECT_GT(kernel.fentry_site_count(), 30000u);
            EXPECT_FALSE(kernel.kprobe_forbidden(read->address));
            for (const char* name :
                 {"do_syscall_64", "asm_exc_page_fault", "kprobe_ftrace_handler", "start_kernel"}) {
                auto refused = kernel.symbol(name);
                ASSERT_TRUE(refused) << name;
                EXPECT_TRUE(kernel.kprobe_forbidden(refused->address)) << name;
            }
            EXPECT_FALSE(kernel.symbol("no_such_function_at_all"));
            auto tcp = kernel.symbols_matching("tcp_*");
            EXPECT_GT(tcp.size(), 200u);
            EXPECT_TRUE(std::is_sorted(tcp.begin(), tcp.end(),
                                       [](auto& a, auto& b) { return a.name < b.name; }));
            EXPECT_EQ(kernel.config("SMP"), "y");
            EXPECT_EQ(kernel.config("NO_SUCH_OPTION"), "");
            EXPECT_EQ(kernel.config("CONFIG_LOCALVERSION"), "");
        }
        // A damaged cache is rebuilt.
        auto built = Kernel::open(files);
        ASSERT_TRUE(built);
        std::string path = cache.path + "/kernels/" + (*built)->build_id() + "/symbols";
        fs::resize_file(path, 1000);
        auto again = Kernel::open(files);
        ASSERT_TRUE(again);
        EXPECT_TRUE((*again)->symbol("vfs_read"));
        EXPECT_GT(fs::file_size(path), 1000000u);
    }
}
