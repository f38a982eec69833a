// SPDX-License-Identifier: GPL-2.0-or-later
// A stub keeps r11, in which it has the thread's base; the flags and what is below the stack
// pointer are nobody's at a function's entry.
#include "arch/injection.h"

#include "arch/instructions.h"
#include "arch/x86_64/opcode.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

namespace djstap::arch {

namespace {

constexpr uint8_t jump_opcode = 0xe9, call_opcode = 0xe8;

// Appends instructions at an address.
class Code {
  public:
    explicit Code(uint64_t at) : at_(at) {}
    void bytes(std::initializer_list<uint8_t> bytes) {
        for (const uint8_t byte : bytes)
            text.push_back(static_cast<char>(byte));
    }
    void number(uint64_t value, size_t size) {
        for (size_t i = 0; i < size; i++)
            text.push_back(static_cast<char>(value >> (8 * i)));
    }
    uint64_t here() const { return at_ + text.size(); }
    // The distance from the end of its four bytes, and of `more` that follow.
    bool distance(uint64_t target, size_t more = 0) {
        const auto distance = static_cast<int64_t>(target - (here() + 4 + more));
        number(static_cast<uint64_t>(distance), 4);
        return distance >= INT32_MIN && distance <= INT32_MAX;
    }

    std::string text;

  private:
    uint64_t at_;
};

bool reaches(uint64_t from, uint64_t to) {
    const auto distance = static_cast<int64_t>(to - from);
    constexpr int64_t margin = 4096;
    return distance >= INT32_MIN + margin && distance <= INT32_MAX - margin;
}

Failure too_far() {
    return {"what it names is too far from the memory that was free", ""};
}

// Pushes an address of 64 bits.
void push_address(Code& code, uint64_t address) {
    code.bytes({0x68}); // push imm32, sign-extended
    code.number(address, 4);
    if (static_cast<int64_t>(address) == static_cast<int32_t>(address))
        return;
    code.bytes({0xc7, 0x44, 0x24, 0x04}); // movl imm32, 4(%rsp)
    code.number(address >> 32, 4);
}

// The offset of the ModRM byte.
size_t operands_at(std::string_view bytes) {
    const x86_64::Opcode opcode = x86_64::Opcode::of(bytes);
    size_t at = opcode.prefixes;
    auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
    if ((byte(at) & 0xf0) == 0x40)
        at++;
    switch (opcode.map) {
    case x86_64::Opcode::Map::One:
        return at + 1;
    case x86_64::Opcode::Map::Two:
        return at + 2;
    case x86_64::Opcode::Map::Longer:
        return at + 3;
    case x86_64::Opcode::Map::Vector:
        return at + (byte(at) == 0xc5 ? 2 : byte(at) == 0xc4 ? 3 : 4) + 1;
    }
    return bytes.size();
}

// Whether it addresses memory relative to itself: mod 0, r/m 5, and four bytes of a distance.
// Behind an operation without a ModRM byte there are fewer bytes, but for the numbers and addresses
// of eight bytes that only moves to and from registers have.
bool is_relative(std::string_view bytes, size_t operands) {
    const x86_64::Opcode opcode = x86_64::Opcode::of(bytes);
    const uint8_t code = opcode.code;
    if (opcode.map == x86_64::Opcode::Map::One &&
        ((code >= 0xa0 && code <= 0xa3) || (code >= 0xb8 && code <= 0xbf)))
        return false;
    return operands + 5 <= bytes.size() && (static_cast<uint8_t>(bytes[operands]) & 0xc7) == 0x05;
}

// A copy whose operand that is relative to the instruction names the same place.
Result<std::string> copied(std::string_view bytes, uint64_t from, uint64_t to) {
    const size_t operands = operands_at(bytes);
    if (!is_relative(bytes, operands))
        return std::string(bytes);
    if (x86_64::Opcode::of(bytes).address_size)
        return Failure{"it has an address of 32 bits", ""};
    int32_t old = 0;
    memcpy(&old, bytes.data() + operands + 1, sizeof old);
    const uint64_t target = from + bytes.size() + static_cast<uint64_t>(static_cast<int64_t>(old));
    Code code(to);
    code.text = bytes.substr(0, operands + 1);
    const size_t more = bytes.size() - operands - 5;
    if (!code.distance(target, more))
        return too_far();
    code.text += bytes.substr(operands + 5);
    return code.text;
}

// A call through a register or memory becomes a jump through it. A push moves the stack pointer,
// from which an operand may count.
Result<std::string> moved_indirect_call(std::string_view bytes, uint64_t from, uint64_t to) {
    const size_t operands = operands_at(bytes);
    const auto mode = static_cast<uint8_t>(bytes[operands]);
    // r/m 4 is the register, or what the SIB byte behind it says of memory. REX.B makes it r12.
    const bool is_register = (mode & 0xc0) == 0xc0;
    const bool is_stack = (mode & 7) == 4 && !x86_64::Opcode::of(bytes).extends &&
                          (is_register || (static_cast<uint8_t>(bytes[operands + 1]) & 7) == 4);
    if (is_stack)
        return Failure{"it calls what is on the stack", ""};
    Code code(to);
    push_address(code, from + bytes.size());
    std::string jump(bytes);
    jump[operands] = static_cast<char>((mode & 0xc7) | (4 << 3)); // /2 becomes /4
    auto moved = copied(jump, from, code.here());
    if (!moved)
        return moved.failure();
    return code.text + *moved;
}

} // namespace

Result<std::string> moved_instruction(std::string_view bytes, const Instruction& decoded,
                                      uint64_t from, uint64_t to) {
    Code code(to);
    bool near = true;
    switch (decoded.flow) {
    case Flow::Branch: {
        const x86_64::Opcode opcode = x86_64::Opcode::of(bytes);
        code.bytes({0x0f, static_cast<uint8_t>(0x80 | (opcode.code & 0x0f))});
        near = code.distance(decoded.target);
        break;
    }
    case Flow::Jump:
        code.bytes({jump_opcode});
        near = code.distance(decoded.target);
        break;
    case Flow::Call:
        push_address(code, from + bytes.size());
        code.bytes({jump_opcode});
        near = code.distance(decoded.target);
        break;
    case Flow::IndirectCall:
        return moved_indirect_call(bytes, from, to);
    default:
        return copied(bytes, from, to);
    }
    if (!near)
        return too_far();
    return code.text;
}

std::string planted_jump(uint64_t from, uint64_t to) {
    Code code(from);
    code.bytes({jump_opcode});
    return code.distance(to) ? code.text : std::string();
}

uint64_t jump_reach() {
    return uint64_t{1} << 31;
}

namespace {

// What is rare precedes the entry. It calls djs_slot_entry, and continues at the call of the
// handlers or behind it.
void finish_claim(Code& code, size_t call_bytes, size_t to_call) {
    // From the end of each jump: over the other one, and the entry's instructions.
    code.bytes({0x75, static_cast<uint8_t>(2 + to_call)});          // jne call
    code.bytes({0xeb, static_cast<uint8_t>(to_call + call_bytes)}); // jmp behind it
}

// Of an argument: push imm32 before the call, pop %r11 behind it.
constexpr size_t argument_bytes = 7;

void push_argument(Code& code, const StubTargets& targets) {
    if (!targets.argument)
        return;
    code.bytes({0x68});
    code.number(*targets.argument, 4);
}

void drop_argument(Code& code, const StubTargets& targets) {
    if (targets.argument)
        code.bytes({0x41, 0x5b});
}

// All of the runtime's memory is near.
Stub near_stub(const StubTargets& targets, uint64_t at) {
    constexpr size_t check_bytes = 17;
    const size_t call_bytes = 5 + (targets.argument ? argument_bytes : 0);
    Code code(at);
    Stub stub;
    code.bytes({call_opcode});
    code.distance(targets.claim);
    finish_claim(code, call_bytes, check_bytes);
    stub.entry_at = code.text.size();
    code.bytes({0x41, 0x53});                   // push %r11
    code.bytes({0xf3, 0x49, 0x0f, 0xae, 0xc3}); // rdfsbase %r11
    code.bytes({0x65, 0x4c, 0x3b, 0x1d});       // cmp %gs:owner(%rip), %r11
    code.distance(targets.owner);
    code.bytes({0x75, static_cast<uint8_t>(-(code.text.size() + 2))}); // jne claim
    push_argument(code, targets);
    code.bytes({call_opcode});
    code.distance(targets.handlers);
    stub.return_at = code.text.size();
    drop_argument(code, targets);
    code.bytes({0x41, 0x5b}); // pop %r11
    stub.code = std::move(code.text);
    return stub;
}

// As near_stub, for a library that is farther away.
Stub far_stub(const StubTargets& targets, uint64_t at) {
    constexpr size_t check_bytes = 25;
    const size_t call_bytes = 13 + (targets.argument ? argument_bytes : 0);
    Code code(at);
    Stub stub;
    auto call = [&](uint64_t address) {
        code.bytes({0x49, 0xbb}); // movabs address, %r11
        code.number(address, 8);
        code.bytes({0x41, 0xff, 0xd3}); // call *%r11
    };
    call(targets.claim);
    finish_claim(code, call_bytes, check_bytes);
    stub.entry_at = code.text.size();
    code.bytes({0x41, 0x53, 0x50}); // push %r11; push %rax
    code.bytes({0x48, 0xb8});       // movabs owner, %rax
    code.number(targets.owner, 8);
    code.bytes({0xf3, 0x49, 0x0f, 0xae, 0xc3}); // rdfsbase %r11
    code.bytes({0x65, 0x4c, 0x3b, 0x18});       // cmp %gs:(%rax), %r11
    code.bytes({0x58});                         // pop %rax
    code.bytes({0x75, static_cast<uint8_t>(-(code.text.size() + 2))});
    push_argument(code, targets);
    call(targets.handlers);
    stub.return_at = code.text.size();
    drop_argument(code, targets);
    code.bytes({0x41, 0x5b}); // pop %r11
    stub.code = std::move(code.text);
    return stub;
}

} // namespace

Stub stub_code(const StubTargets& targets, uint64_t at) {
    const bool near =
        reaches(at, targets.owner) && reaches(at, targets.claim) && reaches(at, targets.handlers);
    return near ? near_stub(targets, at) : far_stub(targets, at);
}

std::string stub_approach(const Stub& stub) {
    return {'\xeb', static_cast<char>(stub.entry_at)}; // jmp entry
}

size_t stub_stack_bytes() {
    return 8;
}

size_t stub_room() {
    // A stub takes up to 80 bytes. A region has up to four bytes and one instruction of 15; a call
    // takes up to 18 bytes.
    return 384;
}

bool has_stub_instructions() {
    constexpr unsigned long fsgsbase = 2; // HWCAP2_FSGSBASE
    return (getauxval(AT_HWCAP2) & fsgsbase) != 0;
}

std::string_view stop_instruction() {
    return "\xcc";
}

std::string_view kernel_call_instruction() {
    return {"\x0f\x05", 2};
}

namespace {

constexpr size_t word_of(size_t offset) {
    return offset / sizeof(uint64_t);
}

} // namespace

// struct sigcontext: ip, flags, and the segments cs, gs, fs and ss, of which gs and fs are 0.
bool is_interrupted_place(std::span<const uint64_t> stack, size_t word) {
    constexpr uint64_t always_set = 2, all_flags = 0x3fffff, user_code = 0x33;
    if (word + 2 >= stack.size())
        return false;
    const uint64_t flags = stack[word + 1], segments = stack[word + 2];
    return (flags & always_set) && flags <= all_flags &&
           (segments & 0x0000ffffffffffff) == user_code;
}

// The kernel saves it in front of the instruction pointer.
uint64_t interrupted_stack_pointer(std::span<const uint64_t> stack, size_t word) {
    return word > 0 ? stack[word - 1] : 0;
}

// The words of the stack are those of way_back().
std::string_view visit_code() {
    return {"\x0f\x05"                     // syscall
            "\x58\x5f\x5e\x5a\x41\x5a"     // pop rax, rdi, rsi, rdx, r10
            "\x0f\x05"                     // syscall: rt_sigprocmask
            "\x58\x5f\x5e\x5a\x41\x5a"     // pop rax, rdi, rsi, rdx, r10
            "\x41\x58\x41\x59\x59\x41\x5b" // pop r8, r9, rcx, r11
            "\x9d"                         // popf
            "\xc2\x88\x00",                // ret $136: over the mask, and the red zone
            27};
}

bool is_in_way_of_visits(uint64_t address, uint64_t entry) {
    return entry != 0 && address < entry + visit_code().size() &&
           entry < address + planted_jump_bytes();
}

Result<StoppedRegisters> StoppedRegisters::of(pid_t thread) {
    StoppedRegisters out;
    static_assert(sizeof(user_regs_struct) <= sizeof out.words_);
    if (ptrace(PTRACE_GETREGS, thread, nullptr, out.words_.data()) != 0)
        return Failure{std::strerror(errno), ""};
    return out;
}

Status StoppedRegisters::store(pid_t thread) const {
    if (ptrace(PTRACE_SETREGS, thread, nullptr, words_.data()) != 0)
        return Failure{std::strerror(errno), ""};
    return Done{};
}

uint64_t StoppedRegisters::instruction_pointer() const {
    return words_[word_of(offsetof(user_regs_struct, rip))];
}

void StoppedRegisters::set_instruction_pointer(uint64_t address) {
    words_[word_of(offsetof(user_regs_struct, rip))] = address;
}

void StoppedRegisters::set_call(long number, const std::array<uint64_t, 6>& arguments) {
    constexpr size_t places[] = {offsetof(user_regs_struct, rdi), offsetof(user_regs_struct, rsi),
                                 offsetof(user_regs_struct, rdx), offsetof(user_regs_struct, r10),
                                 offsetof(user_regs_struct, r8),  offsetof(user_regs_struct, r9)};
    words_[word_of(offsetof(user_regs_struct, rax))] = static_cast<uint64_t>(number);
    words_[word_of(offsetof(user_regs_struct, orig_rax))] = UINT64_MAX; // no call is restarted
    for (size_t i = 0; i < arguments.size(); i++)
        words_[word_of(places[i])] = arguments[i];
}

void StoppedRegisters::set_stack_pointer(uint64_t address) {
    words_[word_of(offsetof(user_regs_struct, rsp))] = address;
}

WayBack StoppedRegisters::way_back(uint64_t blocked) const {
    constexpr uint64_t red_zone = 128, words = 17, set_mask = 2, set_bytes = 8;
    constexpr int64_t restart_block = -516;
    uint64_t accumulator = static_cast<uint64_t>(result()), next = instruction_pointer();
    if (repeats_call()) {
        accumulator = result() == restart_block
                          ? static_cast<uint64_t>(SYS_restart_syscall)
                          : words_[word_of(offsetof(user_regs_struct, orig_rax))];
        next -= kernel_call_instruction().size();
    }
    WayBack back;
    back.stack_pointer = stack_pointer() - red_zone - words * sizeof(uint64_t);
    const auto word = [&](uint64_t value) {
        back.words.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    const uint64_t mask = back.stack_pointer + (words - 1) * sizeof(uint64_t);
    for (const uint64_t value :
         {static_cast<uint64_t>(SYS_rt_sigprocmask), set_mask, mask, uint64_t{0}, set_bytes})
        word(value);
    word(accumulator);
    for (const size_t each : {offsetof(user_regs_struct, rdi), offsetof(user_regs_struct, rsi),
                              offsetof(user_regs_struct, rdx), offsetof(user_regs_struct, r10),
                              offsetof(user_regs_struct, r8), offsetof(user_regs_struct, r9),
                              offsetof(user_regs_struct, rcx), offsetof(user_regs_struct, r11),
                              offsetof(user_regs_struct, eflags)})
        word(words_[word_of(each)]);
    word(next);
    word(blocked);
    return back;
}

int64_t StoppedRegisters::result() const {
    return static_cast<int64_t>(words_[word_of(offsetof(user_regs_struct, rax))]);
}

uint64_t StoppedRegisters::stack_pointer() const {
    return words_[word_of(offsetof(user_regs_struct, rsp))];
}

bool StoppedRegisters::repeats_call() const {
    constexpr int64_t restart_errors[] = {-512, -513, -514, -516}; // ERESTARTSYS and its kin
    const bool in_call =
        static_cast<int64_t>(words_[word_of(offsetof(user_regs_struct, orig_rax))]) >= 0;
    return in_call && std::find(std::begin(restart_errors), std::end(restart_errors), result()) !=
                          std::end(restart_errors);
}

bool StoppedRegisters::has_slot_base() const {
    return words_[word_of(offsetof(user_regs_struct, gs_base))] != 0;
}

void StoppedRegisters::set_slot_base(uint64_t distance) {
    words_[word_of(offsetof(user_regs_struct, gs_base))] = distance;
}

} // namespace djstap::arch
