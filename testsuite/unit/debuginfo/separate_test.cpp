// SPDX-License-Identifier: GPL-2.0-or-later
// Debug information in files of its own: where it is found, and what is refused.
#include "image/debug_file.h"
#include "image/decompress.h"
#include "image/module_file.h"
#include "kernels.h"
#include "made_kernel.h"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <unistd.h>
#include <zlib.h>

namespace djstap {
namespace {

namespace fs = std::filesystem;

const std::string kernel_text = R"c(struct box { int width; struct box *next; };
int measure(struct box *box, int times)
{
    int sum = box->width;
    sum *= times;
    return sum;
}
)c";

const std::string module_text = R"c(struct own { int first; unsigned low : 3, high : 5; };
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
        for (const char* name : {"DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH", "DEBUGINFOD_TIMEOUT"})
            unsetenv(name);
    }
    ~SeparateDebugInfo() override {
        for (const char* name : {"DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH", "DEBUGINFOD_TIMEOUT"})
            unsetenv(name);
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

    MadeKernel made_;
};

TEST_F(SeparateDebugInfo, KernelByLink) {
    split_kernel("vmlinux.dbg");
    expect_kernel_from("vmlinux.dbg");
    shell("mkdir .debug && mv vmlinux.dbg .debug/");
    expect_kernel_from(".debug/vmlinux.dbg");
    shell("mkdir -p usr/lib/debug && mv .debug/vmlinux.dbg usr/lib/debug/");
    expect_kernel_from("usr/lib/debug/vmlinux.dbg");
}

TEST_F(SeparateDebugInfo, KernelByNameAndBuildId) {
    split_kernel("separate");
    shell("mkdir -p usr/lib/debug/boot && mv separate usr/lib/debug/boot/vmlinux-$R.debug");
    expect_kernel_from("usr/lib/debug/boot/vmlinux-6.1.0-made.debug");
    shell("xz usr/lib/debug/boot/vmlinux-$R.debug");
    expect_kernel_from("usr/lib/debug/boot/vmlinux-6.1.0-made.debug.xz");
    const std::string path = build_id_paths({""}, made_.image->build_id())[0].substr(1);
    shell("mkdir -p $(dirname " + path + ") && xz -dc usr/lib/debug/boot/* > " + path +
          " && rm usr/lib/debug/boot/*");
    expect_kernel_from(path);
}

TEST_F(SeparateDebugInfo, KernelWithoutSymbols) {
    const auto before = made_.image->symbol("measure")->address;
    split_kernel("vmlinux.dbg");
    shell("strip vmlinux && rm -rf cache");
    EXPECT_EQ(open_kernel().kernel->symbol("measure")->address, before);
    expect_kernel_from("vmlinux.dbg");
    shell("rm -rf cache vmlinux.dbg");
    auto kernel = Kernel::open(made_.image->files());
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.failure().message, at("vmlinux") + ": has no symbol table");
}

TEST_F(SeparateDebugInfo, CompressedSections) {
    for (const char* way : {"zlib", "zstd"}) {
        shell("rm -rf cache && cp vmlinux whole && objcopy --compress-debug-sections=" +
              std::string(way) +
              " vmlinux && "
              "readelf -SW vmlinux | grep 'debug_info.* C '");
        expect_kernel_from("vmlinux");
        shell("mv whole vmlinux");
        make_module("m.ko", module_text);
        shell("objcopy --compress-debug-sections=" + std::string(way) +
              " m.ko && readelf -SW m.ko | grep 'debug_info.* C '");
        expect_module_from("m.ko", "m.ko");
        split_module("m.ko", "m.ko.debug", "--compress-debug-sections=" + std::string(way));
        expect_module_from("m.ko.debug", "m.ko");
    }
}

TEST_F(SeparateDebugInfo, DamagedSections) {
    shell("objcopy --compress-debug-sections=zlib vmlinux");
    auto bytes = read_file(at("vmlinux"));
    ASSERT_TRUE(bytes);
    const auto elf = ElfFile::hold(*bytes, "vmlinux");
    ASSERT_TRUE(elf && has_compressed_sections(**elf));
    const ElfSection* section = (*elf)->section(".debug_info");
    auto with = [&](size_t offset, char value) {
        std::string changed = *bytes;
        const auto found = changed.find(section->bytes);
        changed[found + offset] = value;
        auto result = decompress_sections(changed, "vmlinux");
        return result ? "" : result.failure().message;
    };
    const std::string number = std::to_string(section - (*elf)->sections().data());
    const std::string where = "vmlinux: section " + number;
    EXPECT_EQ(with(0, ELFCOMPRESS_ZLIB), "");
    EXPECT_EQ(with(0, 9), where + " is compressed in an unknown way (type 9)");
    EXPECT_EQ(with(offsetof(Elf64_Chdr, ch_size) + 6, 1), where + " is damaged");
    EXPECT_EQ(with(offsetof(Elf64_Chdr, ch_size), static_cast<char>(section->bytes[8] + 1)),
              where + " is damaged");
    EXPECT_EQ(
        with(sizeof(Elf64_Chdr) + 4, static_cast<char>(~section->bytes[sizeof(Elf64_Chdr) + 4])),
        where + " is damaged");
    EXPECT_TRUE(decompress_sections("", "nothing"));
    EXPECT_TRUE(decompress_sections(bytes->substr(0, bytes->size() / 2), "half"));
}

// Few bytes may stand for very many: 300 sections that are the same megabyte of zeros.
TEST_F(SeparateDebugInfo, SectionsThatShareBytes) {
    constexpr size_t sections = 300, megabyte = 1 << 20;
    const std::string zeros(megabyte, '\0');
    std::string packed(compressBound(zeros.size()), '\0');
    uLongf packed_size = packed.size();
    ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &packed_size,
                       reinterpret_cast<const Bytef*>(zeros.data()), zeros.size()),
              Z_OK);
    packed.resize(packed_size);
    Elf64_Chdr chunk{};
    chunk.ch_type = ELFCOMPRESS_ZLIB;
    chunk.ch_size = zeros.size();
    packed.insert(0, reinterpret_cast<const char*>(&chunk), sizeof chunk);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = sections;
    header.e_shoff = sizeof header + packed.size();
    Elf64_Shdr section{};
    section.sh_type = SHT_PROGBITS;
    section.sh_flags = SHF_COMPRESSED;
    section.sh_offset = sizeof header;
    section.sh_size = packed.size();
    std::string file(reinterpret_cast<const char*>(&header), sizeof header);
    file += packed;
    for (size_t i = 0; i < sections; i++)
        file.append(reinterpret_cast<const char*>(&section), sizeof section);
    auto result = decompress_sections(std::move(file), "vmlinux");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.failure().message,
              "vmlinux has sections that are too large when they are decompressed");
}

TEST_F(SeparateDebugInfo, ModuleByLink) {
    make_module("lib/modules/6.1.0-made/kernel/fs/m.ko", module_text);
    expect_module_from("lib/modules/6.1.0-made/kernel/fs/m.ko",
                       "lib/modules/6.1.0-made/kernel/fs/m.ko");
    shell("cp lib/modules/$R/kernel/fs/m.ko . ");
    split_module("m.ko", "m.ko.debug");
    expect_module_from("m.ko.debug", "m.ko");
    shell("mkdir .debug && mv m.ko.debug .debug/");
    expect_module_from(".debug/m.ko.debug", "m.ko");
    // Without debug information of its own, a module of the same path has none.
    shell("rm .debug/m.ko.debug");
    EXPECT_EQ(open("m.ko").failure,
              "no debug information was found for module 'm' of kernel 6.1.0-made");
}

TEST_F(SeparateDebugInfo, ModuleByNameInTheRoot) {
    const std::string path = "lib/modules/6.1.0-made/kernel/fs/m.ko";
    make_module(path, module_text);
    shell("mkdir -p usr/lib/debug/lib/modules/$R/kernel/fs && cp " + path + " usr/lib/debug/" +
          path + " && strip -g " + path);
    expect_module_from("usr/lib/debug/" + path, path);
    shell("xz " + path);
    expect_module_from("usr/lib/debug/" + path, path + ".xz");
    shell("xz -d " + path + ".xz; zstd -q --rm " + path);
    expect_module_from("usr/lib/debug/" + path, path + ".zst");
    shell("mv usr/lib/debug/" + path + " usr/lib/debug/" + path + ".debug");
    expect_module_from("usr/lib/debug/" + path + ".debug", path + ".zst");
    for (const auto& [program, suffix] :
         {std::pair("xz", ".xz"), std::pair("gzip", ".gz"), std::pair("zstd -q --rm", ".zst")}) {
        shell(std::string(program) + " -k usr/lib/debug/" + path + ".debug; mv usr/lib/debug/" +
              path + ".debug kept");
        expect_module_from("usr/lib/debug/" + path + ".debug" + suffix, path + ".zst");
        shell("rm usr/lib/debug/" + path + ".debug" + suffix + "; mv kept usr/lib/debug/" + path +
              ".debug");
    }
}

TEST_F(SeparateDebugInfo, ModuleByBuildId) {
    make_module("m.ko", module_text);
    split_module("m.ko", "m.debug");
    const auto elf = ElfFile::open(at("m.ko"));
    const std::string path = build_id_paths({""}, (*elf)->build_id().digits)[0].substr(1);
    shell("mkdir -p $(dirname " + path + ") && mv m.debug " + path);
    expect_module_from(path, "m.ko");
}

TEST_F(SeparateDebugInfo, OfAnotherBuild) {
    make_module("m.ko", module_text + "int more;\n");
    split_module("m.ko", "m.ko.debug");
    const std::string other = (*ElfFile::open(at("m.ko.debug")))->build_id().digits;
    make_module("m.ko", module_text);
    shell("objcopy --strip-debug --add-gnu-debuglink=m.ko.debug m.ko");
    const std::string own = (*ElfFile::open(at("m.ko")))->build_id().digits;
    ASSERT_NE(own, other);
    const std::string reason =
        at("m.ko.debug") +
        " is of another build of module 'm' of kernel 6.1.0-made: its build-id is " + other +
        ", not " + own;
    EXPECT_EQ(open("m.ko").failure,
              "the debug information of module 'm' of kernel 6.1.0-made cannot be used: " + reason);
    // One that fits is found behind it.
    const std::string path = build_id_paths({""}, own)[0].substr(1);
    make_module("whole.ko", module_text);
    shell("mkdir -p $(dirname " + path + ") && mv whole.ko " + path);
    const Opened opened = open("m.ko");
    ASSERT_TRUE(opened.info) << opened.failure;
    EXPECT_EQ(opened->origin(), at(path));
    EXPECT_EQ(opened->refused(), std::vector{reason});
    EXPECT_TRUE(told.empty());
    expect_module(opened);
}

TEST_F(SeparateDebugInfo, WithoutBuildId) {
    make_module("m.ko", module_text, "--build-id=none");
    split_module("m.ko", "m.ko.debug");
    expect_module_from("m.ko.debug", "m.ko");
    shell("rm -rf cache && printf x >> m.ko.debug");
    EXPECT_EQ(open("m.ko").failure,
              "the debug information of module 'm' of kernel 6.1.0-made cannot be used: " +
                  at("m.ko.debug") +
                  " is of another build of module 'm' of kernel 6.1.0-made: its CRC is not that in "
                  ".gnu_debuglink of " +
                  at("m.ko"));
    const std::string by_name = "usr/lib/debug" + at("m.ko");
    shell("mkdir -p $(dirname " + by_name + ") && mv m.ko.debug " + by_name);
    EXPECT_EQ(open("m.ko").failure,
              "no debug information was found for module 'm' of kernel 6.1.0-made");
}

TEST_F(SeparateDebugInfo, OfOtherKinds) {
    make_module("m.ko", module_text);
    shell("cp m.ko whole.ko");
    split_module("m.ko", "m.ko.debug");
    shell("objcopy --strip-debug m.ko.debug");
    const std::string begin =
        "the debug information of module 'm' of kernel 6.1.0-made cannot be used: " +
        at("m.ko.debug");
    EXPECT_EQ(open("m.ko").failure, begin + " has no DWARF");
    shell("printf name > link && objcopy --add-section .gnu_debugaltlink=link whole.ko m.ko.debug");
    EXPECT_EQ(open("m.ko").failure,
              begin + " cannot be read: a part of it is in an alternate file (dwz -m)");
    shell("echo nonsense > m.ko.debug");
    EXPECT_EQ(open("m.ko").failure, begin + ": is not a 64-bit x86-64 ELF file");
    // Split DWARF: the units of .dwo files are not in the module.
    shell("gcc -g -gdwarf-5 -gsplit-dwarf -O2 -c m.c -o m.o -ffreestanding -mcmodel=kernel "
          "-fno-pie && ld -r --build-id -o m.ko m.o");
    EXPECT_EQ(open("m.ko").failure.substr(0, begin.size() - at("m.ko.debug").size()),
              begin.substr(0, begin.size() - at("m.ko.debug").size()));
    EXPECT_TRUE(open("m.ko").failure.ends_with(
        ": 1 of its 1 units have their debug information in .dwo files, which are not read"))
        << open("m.ko").failure;
}

// A server of debug files in the folder `served`; its log has a line for each request. It ends with
// the object, and by itself after a minute.
class Server {
  public:
    Server(const std::string& folder, const std::string& mode) {
        const std::string log = folder + "/requests";
        std::ofstream(folder + "/server.py") << R"py(
import http.server, os, sys, threading, time
folder, mode = sys.argv[1:]
os.chdir(folder)
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        with open("requests", "a") as log:
            print(self.path, file=log)
        if mode == "silent":
            time.sleep(60)
        self.path = "/served" + self.path
        super().do_GET()
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Timer(60, lambda: os._exit(1)).start()
with open("port.new", "w") as file:
    file.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
)py";
        fs::remove(folder + "/port");
        ProcessOptions options;
        options.bound = true;
        auto started = Process::start({"python3", folder + "/server.py", folder, mode}, options);
        EXPECT_TRUE(started) << started.failure().message;
        if (started)
            process_ = std::move(*started);
        for (int tries = 0; tries < 1000 && !fs::exists(folder + "/port"); tries++)
            usleep(10000);
        const auto port = read_file(folder + "/port");
        EXPECT_TRUE(port);
        url_ = "http://127.0.0.1:" + (port ? *port : "1");
    }
    const std::string& url() const { return url_; }

  private:
    Process process_;
    std::string url_;
};

TEST_F(SeparateDebugInfo, FromAServer) {
    make_module("m.ko", module_text);
    split_module("m.ko", "m.debug");
    const std::string id = (*ElfFile::open(at("m.ko")))->build_id().digits;
    shell("mkdir -p served/buildid/" + id + " && mv m.debug served/buildid/" + id + "/debuginfo");
    const Server server(made_.folder(), "quick");
    setenv("DEBUGINFOD_CACHE_PATH", at("fetched").c_str(), 1);
    EXPECT_FALSE(open("m.ko").info); // it is not asked
    EXPECT_FALSE(fs::exists(at("requests")));
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    {
        const Opened opened = open("m.ko");
        ASSERT_TRUE(opened.info) << opened.failure;
        EXPECT_EQ(opened->origin(), at("fetched/" + id + "/debuginfo"));
        expect_module(opened);
    }
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told[0], "asking " + server.url() +
                           " for the debug information of module 'm' of kernel 6.1.0-made");
    EXPECT_EQ(*read_file(at("requests")), "/buildid/" + id + "/debuginfo\n");
    expect_module_from("fetched/" + id + "/debuginfo", "m.ko"); // from libdebuginfod's cache
    EXPECT_EQ(*read_file(at("requests")), "/buildid/" + id + "/debuginfo\n");
    // --info and the like do not ask.
    shell("rm -rf fetched requests");
    auto module = open_module(*made_.image, at("m.ko"));
    EXPECT_FALSE(find_debug_file(**module, DebugServers::Ignore).found);
    EXPECT_FALSE(fs::exists(at("requests")));
}

TEST_F(SeparateDebugInfo, FromAServerThatHasAnotherBuild) {
    make_module("m.ko", module_text + "int more;\n");
    shell("cp m.ko other");
    make_module("m.ko", module_text);
    shell("strip -g m.ko");
    const std::string id = (*ElfFile::open(at("m.ko")))->build_id().digits;
    shell("mkdir -p served/buildid/" + id + " && mv other served/buildid/" + id + "/debuginfo");
    const Server server(made_.folder(), "quick");
    setenv("DEBUGINFOD_CACHE_PATH", at("fetched").c_str(), 1);
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    EXPECT_NE(open("m.ko").failure.find(" is of another build of module 'm'"), std::string::npos);
}

TEST_F(SeparateDebugInfo, FromServersThatFail) {
    make_module("m.ko", module_text);
    shell("strip -g m.ko");
    setenv("DEBUGINFOD_CACHE_PATH", at("fetched").c_str(), 1);
    const std::string none = "no debug information was found for module 'm' of kernel 6.1.0-made";
    {
        const Server server(made_.folder(), "quick"); // it does not have the file
        setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
        EXPECT_EQ(open("m.ko").failure, none);
        EXPECT_TRUE(fs::exists(at("requests")));
        shell("rm -rf fetched requests");
    }
    const std::string begin =
        "the debug information of module 'm' of kernel 6.1.0-made cannot be used: ";
    const std::string end =
        ": no debug information of module 'm' of kernel 6.1.0-made was received: ";
    // Nothing listens on the port of the server that has ended.
    const std::string dead = getenv("DEBUGINFOD_URLS");
    EXPECT_TRUE(open("m.ko").failure.starts_with(begin + dead + end)) << open("m.ko").failure;
    EXPECT_EQ(open("m.ko").failure, none); // it was asked once
    shell("rm -rf fetched");
    const Server server(made_.folder(), "silent");
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    setenv("DEBUGINFOD_TIMEOUT", "2", 1);
    const auto start = std::chrono::steady_clock::now();
    const std::string failure = open("m.ko").failure;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    EXPECT_TRUE(failure.starts_with(begin + server.url() + end)) << failure;
    EXPECT_TRUE(fs::exists(at("requests")));
}

} // namespace
} // namespace djstap
