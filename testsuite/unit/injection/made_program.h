// SPDX-License-Identifier: GPL-2.0-or-later
// A program that is made up, and a script whose probes are placed in it. What the runtime would do
// with the places is noted instead: no handler runs, so that any x86-64 processor will do.
#pragma once
#include "injection/injection.h"
#include "injection/process_facts.h"
#include "system/file.h"
#include "system/temporary.h"

#include "becomes.h"
#include "unit/regions/program.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace djstap::injection {

// What Injection tells the runtime.
struct ToldRuntime {
    const djs_places* files = nullptr;
    u32 file_count = 0;
    unsigned long* biases = nullptr;
    const djs_returning* functions = nullptr;
    u32 function_count = 0;
    const u32* sites = nullptr;
    int answer_to_returns = 0;
    size_t allocations_left = SIZE_MAX; // then there is no more memory
    char* memory = nullptr;             // of the arena: what is not used of its heap
    djs_loader* loader = nullptr;       // there
};
inline ToldRuntime told;

inline void note_places(const djs_places* files, u32 count, unsigned long* biases) {
    told.files = files;
    told.file_count = count;
    told.biases = biases;
}
inline int note_returns(const djs_returning* functions, u32 count, const u32* sites) {
    told.functions = functions;
    told.function_count = count;
    told.sites = sites;
    return told.answer_to_returns;
}
inline djs_loader* noted_loader() {
    return told.loader;
}
inline void* allocate_zeros(u64 bytes) {
    if (told.allocations_left == 0)
        return nullptr;
    told.allocations_left--;
    return std::exchange(told.memory, told.memory + (bytes + 15) / 16 * 16);
}
inline void keep_nothing(djs_ctx*) {}

// Lengths of instructions are those of the Intel SDM; a jump takes five bytes. The space before the
// loop is for the code of system calls, which is written to the entry.
inline const std::string made_program_text = R"(
    .text
    .globl _start, f, g, h, k, w, spin
    .type _start, @function
_start:
    .cfi_startproc
    .fill 48, 1, 0x90
again:
    movl $1, ready(%rip)
    cmpl $0, order(%rip)
    je 2f
    movl $0, order(%rip)
    mov $57, %eax           # fork
    syscall
    test %eax, %eax
    jnz 1f
    mov $157, %eax          # prctl(PR_SET_PDEATHSIG, SIGKILL)
    mov $1, %edi
    mov $9, %esi
    syscall
    jmp 2f
1:  mov %eax, heir(%rip)
2:  mov $35, %eax           # nanosleep
    lea moment(%rip), %rdi
    xor %esi, %esi
    syscall
    jmp again
    .cfi_endproc
    .size _start, .-_start
    .p2align 4
    .type f, @function
f:  .cfi_startproc
    xor %ecx, %ecx          # 2
    mov $42, %eax           # 5
    mov $43, %edx
spin:
    jmp spin
    .cfi_endproc
    .size f, .-f
    .p2align 4
    .type g, @function
g:  .cfi_startproc
    mov $7, %eax            # 5
    ret
    .cfi_endproc
    .size g, .-g
    .p2align 4
    .type h, @function
h:  .cfi_startproc
    mov $2, %ecx            # 5
    mov $1, %eax            # 5
    ret
    .cfi_endproc
    .size h, .-h
    .p2align 4
    .type k, @function
k:  .cfi_startproc
    mov $3, %ecx
    mov $4, %eax
    ret
    .cfi_endproc
    .size k, .-k
    .p2align 4
    .type w, @function
w:  .cfi_startproc
    xor %eax, %eax          # 2
    mov $34, %al            # 2
    syscall                 # 2: pause
    jmp spin
    .cfi_endproc
    .size w, .-w
    .p2align 4              # a return has room for a jump: what fills the space is never executed
    nop
    .data
order: .long 0
heir: .long 0
ready: .long 0, 0
moment: .quad 0, 1000000
)";

// Its data. It is far from the addresses where a test with sanitizers and their shadow memory leave
// no room for two scripts.
constexpr uint64_t order_at = 0x200000100000, heir_at = order_at + 4;
constexpr uint64_t behind_first = 2; // the second instruction of f
constexpr uint64_t return_of_h = 10;
constexpr uint64_t behind_call = 6; // of w

// A file that is assembled and linked where code may be mapped from.
class MadeFile {
  public:
    MadeFile(const std::string& text, const std::vector<std::string>& options)
        : folder_(std::move(*TemporaryFolder::create(DJSTAP_BINARY_DIR))) {
        const std::string source = folder_.file("made.s");
        EXPECT_TRUE(write_file(source, text));
        std::vector<std::string> link{"ld", "-o", path(), object_path()};
        link.insert(link.end(), options.begin(), options.end());
        test::run_tool({"as", "-o", object_path(), source}) && test::run_tool(link);
        auto file = ElfFile::open(path());
        EXPECT_TRUE(file) << path();
        if (file)
            file_ = std::move(*file);
    }
    std::string path() const { return folder_.file("made"); }
    std::string object_path() const { return folder_.file("made.o"); }
    std::string object() const { return *read_file(object_path()); }
    const ElfFile& elf() const { return *file_; }
    uint64_t address(const std::string& symbol) const {
        for (const Elf64_Sym& each : file_->symbols())
            if (file_->symbol_name(each) == symbol)
                return each.st_value;
        ADD_FAILURE() << symbol;
        return 0;
    }

  private:
    TemporaryFolder folder_;
    std::unique_ptr<ElfFile> file_;
};

// The object of a script that has no code of its own.
inline std::string empty_script_object() {
    return MadeFile(".data\n.globl djs_script\ndjs_script: .quad djs_counters, djs_cpu\n", {"-r"})
        .object();
}

// The tables of a script with probes in one file: of the entries of f (twice) and g, of the returns
// of h (once) and k (twice), which keep nothing of the entry, and of the entry of w.
class MadeScript {
  public:
    MadeScript(const MadeFile& file, const std::string& name) : name_(name) {
        images_[0].name = "/none/such";
        images_[1].name = name_.c_str();
        segments_[0].image = 1;
        segments_[1].image = 0;
        segments_[2].image = 1;
        const auto site = [&](size_t number, const char* symbol, u32 next) {
            sites_[number].address = file.address(symbol);
            sites_[number].next = next;
        };
        site(0, "f", 1);
        site(1, "f", DJS_NO_INDEX);
        site(2, "g", DJS_NO_INDEX);
        site(3, "h", DJS_NO_INDEX);
        site(4, "k", DJS_NO_INDEX);
        site(5, "k", DJS_NO_INDEX);
        site(6, "w", DJS_NO_INDEX);
        for (size_t i = 3; i < 6; i++)
            sites_[i].mechanism = DJS_MECHANISM_RETURN_JUMPS;
        script_.images = images_.data();
        script_.segments = segments_.data();
        script_.segment_count = static_cast<u32>(segments_.size());
        script_.sites = sites_.data();
        script_.site_count = static_cast<u32>(sites_.size());
        script_.handlers = &handler_;
        script_.trampolines = &trampoline_;
    }
    MadeScript(const MadeScript&) = delete;
    MadeScript& operator=(const MadeScript&) = delete;
    // What the stubs of entries call.
    void set_trampoline(uint64_t address) {
        trampoline_.direct = reinterpret_cast<decltype(trampoline_.direct)>(address);
    }
    void keep_of_entries() { handler_.entry = keep_nothing; }
    const struct ::djs_script* operator*() const { return &script_; }

  private:
    std::string name_;
    std::array<djs_image, 2> images_{};
    std::array<djs_segment, 3> segments_{};
    std::array<djs_site, 7> sites_{};
    djs_handler handler_{};
    djs_trampoline trampoline_{};
    struct ::djs_script script_{};
};

// Memory with a script for one program.
class MadeArena {
  public:
    static constexpr uint64_t ring_bytes = 8192;
    // Before the program begins, which may inherit it.
    MadeArena() : arena_(Arena::create(ring_bytes)) { EXPECT_TRUE(arena_); }
    Arena& operator*() { return *arena_; }
    Arena* operator->() { return &*arena_; }
    // Returns what places the script in the program, near to `code`.
    std::unique_ptr<Injection> inject(TracedProgram program, Range code, MadeScript& script) {
        const auto map = MemoryMap::of(program.pid());
        EXPECT_TRUE(map);
        const Status placed = arena_->place_near(code, *map);
        EXPECT_TRUE(placed) << (placed ? "" : placed.failure().message);
        auto linked = LinkedRuntime::link(empty_script_object(), *arena_);
        if (!linked) {
            ADD_FAILURE() << linked.failure().message;
            return nullptr;
        }
        told = {};
        told.memory = arena_->heap().as<char>();
        told.loader = static_cast<djs_loader*>(allocate_zeros(sizeof(djs_loader)));
        linked->script = *script;
        linked->set_places = note_places;
        linked->set_returns = note_returns;
        linked->loader = noted_loader;
        linked->allocate = allocate_zeros;
        script.set_trampoline(linked->hit);
        code_ = linked->code();
        return std::make_unique<Injection>(std::move(program), *arena_, std::move(*linked));
    }
    const std::vector<Arena::Part>& code() const { return code_; }

  private:
    Result<Arena> arena_;
    std::vector<Arena::Part> code_;
};

// What a process has mapped, without what it is named.
inline std::vector<std::string> mappings_of_process(pid_t process) {
    std::vector<std::string> all;
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    for (std::string line; std::getline(maps, line);)
        all.push_back(line);
    return all;
}

// Memory of a program; "" if it cannot be read.
inline std::string memory_of(TracedProgram& program, uint64_t address, size_t size) {
    auto bytes = program.read(address, size);
    return bytes ? *bytes : std::string();
}

// Whether the kernel has noted something about the mapping of an address (VmFlags of smaps).
inline bool has_flag(pid_t process, uint64_t address, const std::string& flag) {
    std::ifstream smaps("/proc/" + std::to_string(process) + "/smaps");
    bool here = false;
    for (std::string line; std::getline(smaps, line);) {
        uint64_t begin = 0, end = 0;
        if (sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
            here = address >= begin && address < end;
        if (here && line.starts_with("VmFlags:"))
            return (line + " ").find(" " + flag + " ") != std::string::npos;
    }
    return false;
}

// A program that runs by itself, as that of -x.
class MadeProgram : public testing::Test {
  protected:
    // `options`: the linker's.
    explicit MadeProgram(
        const std::vector<std::string>& options = {"-e", "_start", "-Ttext-segment=0x200000000000",
                                                   "--section-start=.data=0x200000100000"})
        : file_(made_program_text, options) {}
    // What the process does before it executes the program.
    virtual bool prepare_process() { return true; }
    void SetUp() override {
        if (is_confined(getpid()))
            GTEST_SKIP() << "a filter confines this process, and so all that it starts";
        int begun[2];
        ASSERT_EQ(pipe2(begun, O_CLOEXEC), 0);
        const std::string path = file_.path();
        process_ = fork();
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (prepare_process())
                execl(path.c_str(), path.c_str(), nullptr);
            _exit(1);
        }
        ASSERT_GT(process_, 0);
        close(begun[1]);
        char byte = 0;
        ASSERT_EQ(::read(begun[0], &byte, 1), 0); // closed when it executes the program
        close(begun[0]);
        auto program = TracedProgram::of_running(process_);
        ASSERT_TRUE(program) << program.failure().message;
        // A dynamic loader has finished then.
        const uint64_t bias = program->entry() - at("_start");
        ASSERT_TRUE(becomes([&] { return program->read_as<int>(bias + at("ready")) == 1; }));
        const auto map = MemoryMap::of(process_);
        const Mapping* const text = map->at(program->entry());
        ASSERT_NE(text, nullptr);
        before_ = mappings_of_process(process_);
        injection_ = arena_.inject(std::move(*program), text->range, script_);
        ASSERT_NE(injection_, nullptr);
    }
    void TearDown() override {
        injection_.reset();
        for (const pid_t each : {heir_, process_})
            if (each > 0)
                kill(each, SIGKILL);
        if (process_ > 0)
            waitpid(process_, nullptr, 0);
        told = {};
    }
    uint64_t at(const std::string& symbol) const { return file_.address(symbol); }
    TracedProgram& program() { return injection_->program(); }
    Status prepare() {
        const auto map = MemoryMap::of(process_);
        EXPECT_TRUE(map);
        return injection_->prepare(*map);
    }
    void place() {
        const Status prepared = prepare();
        ASSERT_TRUE(prepared) << prepared.failure().message;
        const Status released = injection_->release();
        ASSERT_TRUE(released) << released.failure().message;
    }
    std::string bytes_at(const std::string& symbol, size_t size = 5) {
        return memory_of(program(), at(symbol), size);
    }
    std::string bytes_in_file(const std::string& symbol, size_t size = 5) {
        return std::string(file_.elf().bytes_at(at(symbol), size));
    }
    // Whether there is a jump to a stub.
    bool is_jump(const std::string& symbol, uint64_t offset = 0) {
        const uint64_t from = at(symbol) + offset;
        const std::string bytes = memory_of(program(), from, 5);
        if (bytes.size() != 5 || bytes[0] != '\xe9')
            return false;
        int32_t distance = 0;
        memcpy(&distance, bytes.data() + 1, sizeof distance);
        const uint64_t to = from + 5 + static_cast<uint64_t>(static_cast<int64_t>(distance));
        return to >= told.files[0].begin && to < told.files[0].end;
    }
    bool has_arena(pid_t process) {
        const auto map = MemoryMap::of(process);
        return map && map->at(arena_->whole().begin) != nullptr;
    }
    // Of the stopped program.
    user_regs_struct registers() {
        user_regs_struct all{};
        EXPECT_EQ(ptrace(PTRACE_GETREGS, process_, nullptr, &all), 0);
        return all;
    }
    // Stops the program, and has it go on at an address.
    void stop_at(uint64_t address) {
        ASSERT_TRUE(program().stop());
        user_regs_struct all = registers();
        all.rip = address;
        all.orig_rax = UINT64_MAX; // no system call is repeated
        ASSERT_EQ(ptrace(PTRACE_SETREGS, process_, nullptr, &all), 0);
    }
    // Waits until the program that runs is there, and leaves it stopped.
    bool stops_at(uint64_t address) {
        return becomes([&] {
            if (!program().stop())
                return false;
            if (registers().rip == address)
                return true;
            program().resume();
            return false;
        });
    }
    // Writes words to the stack of the stopped program, where it does not use them.
    void put_on_stack(const std::vector<uint64_t>& words) {
        const uint64_t to = registers().rsp + 64;
        const std::string_view bytes(reinterpret_cast<const char*>(words.data()),
                                     words.size() * sizeof(uint64_t));
        ASSERT_TRUE(program().write(to & ~uint64_t{7}, bytes));
    }
    // What the kernel saves there when a signal interrupts a thread: the stack pointer, the
    // instruction pointer, flags and segments.
    void put_signal_frame(uint64_t stack_pointer, uint64_t instruction_pointer) {
        put_on_stack({stack_pointer, instruction_pointer, 0x202, 0x33});
    }

    MadeFile file_;
    MadeScript script_{file_, file_.path()};
    MadeArena arena_;
    pid_t process_ = -1, heir_ = -1;
    std::vector<std::string> before_; // what the program had mapped
    std::unique_ptr<Injection> injection_;
};

} // namespace djstap::injection
