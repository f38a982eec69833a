// SPDX-License-Identifier: GPL-2.0-or-later
// A script's object in this process's memory, and code of a kernel that calls it. The base of
// per-CPU memory is 0 here, so that its variables are plain memory.
#pragma once
#include "generate.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <llvm/Object/ELFObjectFile.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/ucontext.h>

namespace djstap {

// While it lives, instructions that only the kernel may execute are executed here: `cli` and `sti`
// change only this, `stac` and `clac` nothing.
class PrivilegedInstructions {
  public:
    PrivilegedInstructions() {
        struct sigaction action = {};
        action.sa_sigaction = execute;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, &protection_before_);
        sigaction(SIGILL, &action, &illegal_before_);
        interrupts_are_on = true;
        changes = 0;
    }
    ~PrivilegedInstructions() { give_back(); }
    static inline volatile bool interrupts_are_on = true;
    static inline volatile unsigned changes = 0;

  private:
    static inline struct sigaction protection_before_ = {}, illegal_before_ = {};
    static void give_back() {
        sigaction(SIGSEGV, &protection_before_, nullptr);
        sigaction(SIGILL, &illegal_before_, nullptr);
    }
    static void execute(int, siginfo_t*, void* context) {
        greg_t& next = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
        const auto* const code = reinterpret_cast<const uint8_t*>(next);
        if (code[0] == 0xfa || code[0] == 0xfb) {
            interrupts_are_on = code[0] == 0xfb;
            changes = changes + 1;
            next++;
        } else if (code[0] == 0x0f && code[1] == 0x01 && (code[2] == 0xca || code[2] == 0xcb)) {
            next += 3;
        } else {
            give_back(); // to fail again
        }
    }
};

class KernelCode {
  public:
    // As in the kernel, addresses are numbers of 32 bits.
    KernelCode() {
        void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        if (memory != MAP_FAILED)
            memory_ = next_ = static_cast<char*>(memory);
    }
    ~KernelCode() {
        if (memory_)
            munmap(memory_, bytes);
    }
    KernelCode(const KernelCode&) = delete;
    KernelCode& operator=(const KernelCode&) = delete;
    bool is_there() const { return memory_ != nullptr; }

    // Defines a symbol of the kernel: a variable of so many bytes, which are 0; code; or a function
    // of the test.
    char* variable(const std::string& name, size_t size) { return symbols_[name] = allocate(size); }
    char* code(const std::string& name, const std::string& instructions) {
        char* const here = variable(name, instructions.size());
        std::memcpy(here, instructions.data(), instructions.size());
        return here;
    }
    template <class Function> void function(const std::string& name, Function* function) {
        code(name, call_of(reinterpret_cast<uint64_t>(function)));
    }
    // Where a symbol of the kernel or of the object is.
    char* at(const std::string& name) const {
        const auto found = symbols_.find(name);
        EXPECT_NE(found, symbols_.end()) << name;
        return found == symbols_.end() ? nullptr : found->second;
    }
    bool has(const std::string& name) const { return symbols_.count(name) > 0; }
    template <class Type> Type& as(const std::string& name) const {
        return *reinterpret_cast<Type*>(at(name));
    }

    // Loads an object, whose symbols are defined then.
    void load(const std::string& bytes_of_object) {
        auto file = llvm::object::ObjectFile::createELFObjectFile(
            llvm::MemoryBufferRef(bytes_of_object, "object"));
        ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
        const auto& object = llvm::cast<llvm::object::ELFObjectFileBase>(**file);
        std::map<llvm::object::SectionRef, char*> places;
        for (const llvm::object::ELFSectionRef section : object.sections()) {
            if (!(section.getFlags() & llvm::ELF::SHF_ALLOC))
                continue;
            char* const here = places[section] = allocate(section.getSize());
            if (section.isBSS())
                continue;
            const llvm::StringRef contents = llvm::cantFail(section.getContents());
            std::memcpy(here, contents.data(), contents.size());
        }
        const auto address_of = [&](const llvm::object::SymbolRef& symbol) {
            const auto section = llvm::cantFail(symbol.getSection());
            if (section == object.section_end())
                return known(llvm::cantFail(symbol.getName()).str());
            const auto place = places.find(*section);
            return place == places.end() ? nullptr
                                         : place->second + llvm::cantFail(symbol.getValue());
        };
        for (const llvm::object::SymbolRef& symbol : object.symbols())
            if (const std::string name = llvm::cantFail(symbol.getName()).str(); !name.empty())
                symbols_[name] = address_of(symbol);
        for (const llvm::object::SectionRef& section : object.sections()) {
            const auto target = llvm::cantFail(section.getRelocatedSection());
            if (target == object.section_end() || !places.count(*target))
                continue;
            for (const llvm::object::ELFRelocationRef relocation : section.relocations())
                relocate(places[*target] + relocation.getOffset(), relocation.getType(),
                         reinterpret_cast<uint64_t>(address_of(*relocation.getSymbol())) +
                             static_cast<uint64_t>(llvm::cantFail(relocation.getAddend())));
        }
    }

  private:
    static constexpr size_t bytes = 1 << 21;

    char* allocate(size_t size) {
        char* const here = next_;
        next_ += (size + 63) / 64 * 64;
        if (next_ > memory_ + bytes)
            std::abort();
        return here;
    }
    // What is not there may be named, but not called.
    char* known(const std::string& name) {
        if (const auto found = symbols_.find(name); found != symbols_.end())
            return found->second;
        char* const text = allocate(name.size() + 1);
        std::memcpy(text, name.c_str(), name.size() + 1);
        void (*const missing)(const char*) = [](const char* which) {
            fprintf(stderr, "the kernel of this test has no %s\n", which);
            std::abort();
        };
        // movabs $text, %rdi
        return code(name, instruction("\x48\xbf", reinterpret_cast<uint64_t>(text)) +
                              call_of(reinterpret_cast<uint64_t>(missing)));
    }
    static std::string instruction(const std::string& operation, uint64_t number) {
        return operation + std::string(reinterpret_cast<const char*>(&number), sizeof number);
    }
    // The kernel's stack is a multiple of 8, that of other code of 16: push %rbp; mov %rsp, %rbp;
    // and $-16, %rsp; movabs $address, %r11; call *%r11; leave; ret
    static std::string call_of(uint64_t address) {
        return instruction("\x55\x48\x89\xe5\x48\x83\xe4\xf0\x49\xbb", address) +
               "\x41\xff\xd3\xc9\xc3";
    }
    // The psABI has the numbers.
    static void relocate(char* where, uint64_t type, uint64_t value) {
        const uint64_t distance = value - reinterpret_cast<uint64_t>(where);
        switch (type) {
        case llvm::ELF::R_X86_64_64:
            std::memcpy(where, &value, 8);
            break;
        case llvm::ELF::R_X86_64_32:
        case llvm::ELF::R_X86_64_32S:
            std::memcpy(where, &value, 4);
            break;
        case llvm::ELF::R_X86_64_PC32:
        case llvm::ELF::R_X86_64_PLT32:
            std::memcpy(where, &distance, 4);
            break;
        default:
            ADD_FAILURE() << "a relocation of type " << type;
        }
    }

    char *memory_ = nullptr, *next_ = nullptr;
    std::map<std::string, char*> symbols_;
};

// Scripts on functions of a made-up kernel, which call their trampolines as ftrace has them do.
class InKernel : public Generate {
  protected:
    // The link-time address of the kernel's code, and of its functions, which are that far apart.
    static constexpr uint64_t linked = 0xffffffff81000000, apart = 64;
    static uint64_t site_of(unsigned function) { return linked + apart * (function + 1); }

    InKernel() {
        kernel_.reference = linked;
        kernel_.mitigations = {false, false, false};
        kernel_.offset =
            [this](std::string_view name) -> std::optional<std::pair<std::string, int64_t>> {
            const auto found = offsets_.find(std::string(name));
            return found == offsets_.end() ? std::nullopt : std::optional(found->second);
        };
        static_assert(CodegenKernel::reference_symbol == std::string_view("memset"));
    }
    void SetUp() override {
        ASSERT_TRUE(code_.is_there());
        code_.variable("memset", 4096);
        code_.variable("djs_gate", 4);
        code_.variable("djs_cpu", 256);
        code_.variable("__preempt_count", 8);
        code_.variable("djs_biases", 64);
        code_.as<uint32_t>("__preempt_count") = 0x80000000; // nothing is due
    }
    // A word of djs_cpu.
    int64_t& of_cpu(const std::string& field) {
        return *reinterpret_cast<int64_t*>(code_.at("djs_cpu") +
                                           offsets_.at("djs_cpu." + field).second);
    }
    // Compiles the script and loads it, and has function N call trampoline N.
    void load() {
        const auto object = generate();
        ASSERT_TRUE(object) << render_all(diagnostics_);
        object_ = object->object; // what is loaded is compared with it
        code_.load(object_);
        for (unsigned i = 0; i < plan_.trampolines.size(); i++)
            for (const uint64_t continued : plan_.trampolines[i].functions)
                patch(continued - 5, "djs_direct_" + std::to_string(i), more_++);
    }
    // A function that calls a trampoline first, and yields the sum of its two arguments and of
    // `more`.
    void patch(uint64_t site, const std::string& trampoline, int8_t more = 0) {
        char* const here = in_memory(site);
        call_from(here, code_.at(trampoline));
        std::memcpy(here + 5, "\x48\x8d\x44\x37", 4); // lea more(%rdi,%rsi), %rax
        here[9] = static_cast<char>(more);
        here[10] = '\xc3';
    }
    // Puts a call of something there.
    static void call_from(char* here, const char* callee) {
        const auto distance = static_cast<int32_t>(callee - (here + 5));
        *here = '\xe8';
        std::memcpy(here + 1, &distance, sizeof distance);
    }
    char* in_memory(uint64_t linked_address) const {
        return code_.at("memset") + (linked_address - linked);
    }
    // Calls a function of the kernel, which yields the sum of its arguments.
    uint64_t call(unsigned function, uint64_t first, uint64_t second) const {
        using Function = uint64_t(uint64_t, uint64_t);
        return reinterpret_cast<Function*>(in_memory(site_of(function)))(first, second);
    }
    // The same with a stack pointer before the call, and a frame pointer.
    uint64_t call_on(char* stack, unsigned function, uint64_t first, uint64_t second) {
        const std::string name = "call_on_stack";
        if (!code_.has(name)) {
            // push %rbp; push %rbx; mov %rsp, %rbx; mov %rdx, %rsp; mov %rcx, %rbp; call *%r8; mov
            // %rbx, %rsp; pop %rbx; pop %rbp; ret
            char* const here =
                code_.code(name, "\x55\x53\x48\x89\xe3\x48\x89\xd4\x48\x89\xcd\x41\xff\xd0"
                                 "\x48\x89\xdc\x5b\x5d\xc3");
            after_call_ = here + 14;
        }
        using Function = uint64_t(uint64_t, uint64_t, char*, uint64_t, char*);
        return reinterpret_cast<Function*>(code_.at(name))(first, second, stack, frame,
                                                           in_memory(site_of(function)));
    }
    // The number N of the per-CPU counters.
    int64_t counter(unsigned number = 0) const {
        return (&code_.as<int64_t>("djs_counters"))[number];
    }
    // Puts the probe that was added last on a function of its own.
    void place_last(HandlerKind kind, unsigned function) {
        Site& site = plan_.sites.back();
        Variant& variant = plan_.variants.back();
        site.address = site_of(function);
        site.mechanism =
            kind == HandlerKind::Return ? Mechanism::ReturnDjprobe : Mechanism::Djprobe;
        variant.kind = kind;
        variant.mechanisms = 1u << static_cast<unsigned>(site.mechanism);
        plan_.trampolines.back().functions = {site.address + 5};
    }
    // Adds a probe with these statements.
    template <class... Statements>
    Probe* probe_of(HandlerKind kind, unsigned function, Statements... statements) {
        std::vector<StatementPtr> body;
        (body.push_back(std::move(statements)), ...);
        Probe* const made = probe(std::move(body));
        place_last(kind, function);
        return made;
    }
    // global += value
    static StatementPtr add(const Global* global, ExpressionPtr value) {
        auto made = std::make_unique<Assignment>();
        made->op = ast::BinaryOp::Add;
        made->place = value_of(global);
        made->value = std::move(value);
        made->value_used = false;
        return evaluate(std::move(made));
    }
    // A value of the last variant that is found in this way.
    ExpressionPtr found_by(Access access) {
        auto value = std::make_unique<TargetValue>();
        value->type = Type::Long;
        TargetAccess target;
        target.value = std::move(access);
        plan_.variants.back().accesses[value.get()] = std::move(target);
        return value;
    }
    // Adds a statement to the last probe: global += that value.
    void add_found(const Global* global, Access access) {
        program_.probes.back()->body->statements.push_back(
            add(global, found_by(std::move(access))));
    }

    std::map<std::string, std::pair<std::string, int64_t>> offsets_{
        {"preempt_count", {"__preempt_count", 0}},
        {"preempt_count_bytes", {"", 4}},
        {"preempt_mask_interrupt", {"", 0xff0100}},
        {"djs_cpu.inside", {"", 8}},
        {"djs_cpu.locked_alone", {"", 16}},
        {"djs_cpu.head", {"", 24}},
        {"djs_cpu.limit", {"", 32}},
        {"djs_cpu.data", {"", 40}},
        {"djs_cpu.mask", {"", 48}}};
    KernelCode code_;
    std::string object_;
    static constexpr uint64_t frame = 0x1234560; // the frame pointer of call_on
    char* after_call_ = nullptr;                 // where it is returned to
    int8_t more_ = 0;
};

} // namespace djstap
