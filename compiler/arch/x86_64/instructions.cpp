// SPDX-License-Identifier: GPL-2.0-or-later
// Instructions as LLVM's MC layer decodes them, and what their opcodes say.
#include "arch/instructions.h"

#include "arch/arch.h"
#include "arch/x86_64/opcode.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <vector>

namespace djstap::arch {

namespace {

const char* const triple = "x86_64-pc-linux-gnu";

const llvm::Target* find_target() {
    static const llvm::Target* target = [] {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86Disassembler();
        std::string error;
        return llvm::TargetRegistry::lookupTarget(triple, error);
    }();
    return target;
}

// An operand that addresses memory is five of LLVM's: base, scale, index, displacement, segment.
constexpr unsigned base_part = 0, index_part = 2, displacement_part = 3, segment_part = 4;

// Its number plus 1, or 0 if there is none.
uint8_t first_memory_operand(const llvm::MCInstrDesc& description) {
    for (unsigned i = 0; i < description.getNumOperands(); i++)
        if (description.operands()[i].OperandType == llvm::MCOI::OPERAND_MEMORY)
            return static_cast<uint8_t>(i + 1);
    return 0;
}

class Decoder final : public InstructionDecoder {
  public:
    explicit Decoder(const llvm::Target& target);
    Instruction decode(std::string_view bytes, uint64_t address) override;
    RegisterUse registers(std::string_view bytes, uint64_t address) override;
    std::string text(std::string_view bytes, uint64_t address) override;

  private:
    bool read_part(std::string_view bytes, uint64_t address, uint64_t& length);
    bool read(std::string_view bytes, uint64_t address, uint64_t& length,
              llvm::raw_ostream* text = nullptr);
    std::optional<x86_64::Opcode> read_opcode(std::string_view& bytes, uint64_t address);
    void add_memory(Instruction& out, const x86_64::Opcode& opcode, uint64_t address) const;
    void add_immediates(Instruction& out) const;
    bool accesses(const x86_64::Opcode& opcode) const;

    std::unique_ptr<llvm::MCRegisterInfo> registers_;
    std::unique_ptr<llvm::MCAsmInfo> assembler_;
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
    std::unique_ptr<llvm::MCInstrInfo> instructions_;
    std::unique_ptr<llvm::MCContext> context_;
    std::unique_ptr<llvm::MCDisassembler> disassembler_;
    std::unique_ptr<llvm::MCInstPrinter> printer_;
    unsigned instruction_pointer_ = 0, stack_pointer_ = 0, goroutine_ = 0;
    std::vector<int8_t>
        general_; // of each of LLVM's registers: the number of what it is part of, or -1
    std::vector<uint8_t> memory_at_; // of each of LLVM's opcodes: its first memory operand, plus 1
    llvm::MCInst instruction_;
};

Decoder::Decoder(const llvm::Target& target) {
    const llvm::MCTargetOptions options;
    registers_.reset(target.createMCRegInfo(triple));
    assembler_.reset(target.createMCAsmInfo(*registers_, triple, options));
    subtarget_.reset(target.createMCSubtargetInfo(triple, "", ""));
    instructions_.reset(target.createMCInstrInfo());
    context_ = std::make_unique<llvm::MCContext>(llvm::Triple(triple), assembler_.get(),
                                                 registers_.get(), subtarget_.get());
    disassembler_.reset(target.createMCDisassembler(*subtarget_, *context_));
    printer_.reset(target.createMCInstPrinter(llvm::Triple(triple), 0, *assembler_, *instructions_,
                                              *registers_));
    printer_->setPrintImmHex(true);
    printer_->setPrintBranchImmAsAddress(true);
    for (unsigned number = 1; number < registers_->getNumRegs(); number++) {
        const llvm::StringRef name(registers_->getName(number));
        if (name == "RIP")
            instruction_pointer_ = number;
        else if (name == "RSP")
            stack_pointer_ = number;
        else if (name == "R14")
            goroutine_ = number;
    }
    static constexpr std::array<const char*, 16> general{"RAX", "RCX", "RDX", "RBX", "RSP", "RBP",
                                                         "RSI", "RDI", "R8",  "R9",  "R10", "R11",
                                                         "R12", "R13", "R14", "R15"};
    general_.resize(registers_->getNumRegs(), -1);
    for (unsigned number = 1; number < registers_->getNumRegs(); number++)
        for (size_t i = 0; i < general.size(); i++)
            if (registers_->getName(number) == std::string_view(general[i]))
                for (const llvm::MCPhysReg part : registers_->subregs_inclusive(number))
                    general_[part] = static_cast<int8_t>(i);
    memory_at_.resize(instructions_->getNumOpcodes());
    for (unsigned number = 0; number < memory_at_.size(); number++) {
        const llvm::MCInstrDesc& description = instructions_->get(number);
        // LLVM does not say so of the operand of lea, which accesses no memory.
        const bool computes = instructions_->getName(number).starts_with("LEA");
        memory_at_[number] = computes ? 2 : first_memory_operand(description);
    }
}

// LLVM takes some prefixes for instructions of their own: lock, and rep before what does not
// repeat.
bool is_prefix_alone(std::string_view part) {
    return part.size() == 1 && x86_64::Opcode::of(part).prefixes == 1;
}

// Leaves the last part in instruction_, and prints all of them.
bool Decoder::read(std::string_view bytes, uint64_t address, uint64_t& length,
                   llvm::raw_ostream* text) {
    constexpr uint64_t longest = 15; // Intel SDM, volume 2, 2.3.11
    uint64_t part = 0;
    length = 0;
    do {
        if (!read_part(bytes.substr(length), address + length, part))
            return false;
        length += part;
        // Targets are relative to the next instruction, whose address the printer expects.
        if (text)
            printer_->printInst(&instruction_, address + length, "", *subtarget_, *text);
        if (length > longest)
            return false;
    } while (is_prefix_alone(bytes.substr(length - part, part)));
    return true;
}

bool Decoder::read_part(std::string_view bytes, uint64_t address, uint64_t& length) {
    instruction_.clear();
    const llvm::ArrayRef<uint8_t> view(reinterpret_cast<const uint8_t*>(bytes.data()),
                                       bytes.size());
    return disassembler_->getInstruction(instruction_, length, view, address, llvm::nulls()) !=
           llvm::MCDisassembler::Fail;
}

// Reads the instruction at the beginning of the bytes, and leaves only its own.
std::optional<x86_64::Opcode> Decoder::read_opcode(std::string_view& bytes, uint64_t address) {
    uint64_t length = 0;
    if (!read(bytes, address, length) || length == 0 || length > x86_64::longest_instruction)
        return std::nullopt;
    bytes = bytes.substr(0, length);
    return x86_64::Opcode::of(bytes);
}

void add_name(Instruction& out, uint64_t address, NamedAddress::Use use) {
    if (out.named_count < out.names.size())
        out.names[out.named_count++] = {address, use};
}

void Decoder::add_memory(Instruction& out, const x86_64::Opcode& opcode, uint64_t address) const {
    const unsigned at = memory_at_[instruction_.getOpcode()];
    if (!at || at - 1 + segment_part >= instruction_.getNumOperands())
        return;
    const llvm::MCOperand& base = instruction_.getOperand(at - 1 + base_part);
    const llvm::MCOperand& displacement = instruction_.getOperand(at - 1 + displacement_part);
    if (!base.isReg() || !displacement.isImm())
        return;
    const bool relative = base.getReg() == instruction_pointer_;
    if (!relative && displacement.getImm() == 0)
        return;
    const auto offset = static_cast<uint64_t>(displacement.getImm());
    const bool computes = opcode.computes_address();
    // What an instruction only reads relative to itself is one place, no table.
    if (relative && computes)
        add_name(out, address + out.length + offset, NamedAddress::Use::Computed);
    else if (!relative && !instruction_.getOperand(at - 1 + segment_part).getReg())
        add_name(out, offset, computes ? NamedAddress::Use::Immediate : NamedAddress::Use::Read);
    out.jumps_through_slot = relative && out.flow == Flow::IndirectJump;
}

void Decoder::add_immediates(Instruction& out) const {
    const unsigned memory = memory_at_[instruction_.getOpcode()];
    for (unsigned i = 0; i < instruction_.getNumOperands(); i++) {
        const bool of_memory = memory && i >= memory - 1 && i <= memory - 1 + segment_part;
        const llvm::MCOperand& operand = instruction_.getOperand(i);
        // A smaller number is no address of code: the first page is never mapped.
        if (operand.isImm() && !of_memory && static_cast<uint64_t>(operand.getImm()) >= 4096)
            add_name(out, static_cast<uint64_t>(operand.getImm()), NamedAddress::Use::Immediate);
    }
}

bool Decoder::accesses(const x86_64::Opcode& opcode) const {
    const unsigned at = memory_at_[instruction_.getOpcode()];
    const llvm::MCInstrDesc& description = instructions_->get(instruction_.getOpcode());
    if (!at)
        return (description.mayLoad() || description.mayStore()) &&
               !description.hasImplicitUseOfPhysReg(stack_pointer_);
    if (at - 1 + segment_part >= instruction_.getNumOperands())
        return true; // what rsi or rdi points to
    if (opcode.computes_address())
        return false;
    const llvm::MCOperand& base = instruction_.getOperand(at - 1 + base_part);
    const llvm::MCOperand& index = instruction_.getOperand(at - 1 + index_part);
    const llvm::MCOperand& displacement = instruction_.getOperand(at - 1 + displacement_part);
    constexpr int64_t stack_guard = 16; // of a goroutine
    const bool is_there =
        base.isReg() && index.isReg() && !index.getReg() &&
        (base.getReg() == instruction_pointer_ || base.getReg() == stack_pointer_ ||
         (base.getReg() == goroutine_ && displacement.isImm() &&
          displacement.getImm() == stack_guard));
    return !is_there;
}

Instruction Decoder::decode(std::string_view bytes, uint64_t address) {
    Instruction out;
    const auto read = read_opcode(bytes, address);
    if (!read)
        return out;
    const x86_64::Opcode& opcode = *read;
    out.length = static_cast<uint8_t>(bytes.size());
    out.flow = opcode.flow();
    out.fixed = opcode.fixed();
    out.kernel_copies = opcode.kernel_copies(false);
    out.newer_kernel_copies = opcode.kernel_copies(true);
    out.breakpoint = opcode.is_breakpoint();
    out.filler = out.breakpoint || opcode.is_no_op();
    out.landing_pad = bytes.starts_with(landing_pad());
    out.prefixes = opcode.prefixes;
    if (out.is_direct_jump() || out.flow == Flow::Call || opcode.is_transaction()) {
        if (instruction_.getNumOperands() > 0 && instruction_.getOperand(0).isImm())
            out.target =
                address + out.length + static_cast<uint64_t>(instruction_.getOperand(0).getImm());
        return out;
    }
    if (out.filler)
        return out;
    add_memory(out, opcode, address);
    add_immediates(out);
    out.accesses = accesses(opcode);
    return out;
}

// Not: prefetches, which do not fault, and what loads by a mask.
bool always_accesses(const x86_64::Opcode& opcode) {
    if (opcode.map == x86_64::Opcode::Map::One)
        return true;
    constexpr std::array<uint8_t, 6> loads_and_stores{0x10, 0x11, 0xb6, 0xb7, 0xbe, 0xbf};
    return opcode.map == x86_64::Opcode::Map::Two &&
           std::find(loads_and_stores.begin(), loads_and_stores.end(), opcode.code) !=
               loads_and_stores.end();
}

RegisterUse::IfZero if_zero(const x86_64::Opcode& opcode) {
    using IfZero = RegisterUse::IfZero;
    const unsigned equal = opcode.map == x86_64::Opcode::Map::One ? 0x74 : 0x84;
    if (opcode.flow() != Flow::Branch || (opcode.code & ~1U) != equal)
        return IfZero::Unknown;
    return opcode.code & 1 ? IfZero::Continues : IfZero::Branches;
}

RegisterUse Decoder::registers(std::string_view bytes, uint64_t address) {
    RegisterUse use;
    const auto read = read_opcode(bytes, address);
    if (!read)
        return use;
    const x86_64::Opcode& opcode = *read;
    const llvm::MCInstrDesc& description = instructions_->get(instruction_.getOpcode());
    if (description.isCall() || description.hasUnmodeledSideEffects())
        return use;
    use.written = 0;
    auto write = [&](unsigned number) {
        if (general_[number] >= 0)
            use.written |= uint64_t{1} << general_[number];
    };
    for (unsigned i = 0; i < description.getNumDefs() && i < instruction_.getNumOperands(); i++)
        if (instruction_.getOperand(i).isReg())
            write(instruction_.getOperand(i).getReg());
    for (const llvm::MCPhysReg number : description.implicit_defs())
        write(number);
    auto general = [&](const llvm::MCOperand& operand) -> std::optional<unsigned> {
        if (!operand.isReg() || general_[operand.getReg()] < 0)
            return std::nullopt;
        return static_cast<unsigned>(general_[operand.getReg()]);
    };
    const llvm::StringRef name = instructions_->getName(instruction_.getOpcode());
    if (name == "MOV64rr" || name == "MOV64rr_REV") {
        use.to = general(instruction_.getOperand(0));
        use.from = general(instruction_.getOperand(1));
        return use;
    }
    if (name == "TEST64rr" &&
        instruction_.getOperand(0).getReg() == instruction_.getOperand(1).getReg())
        use.compared = general(instruction_.getOperand(0));
    use.if_zero = if_zero(opcode);
    const unsigned at = memory_at_[instruction_.getOpcode()];
    if (!at || at - 1 + segment_part >= instruction_.getNumOperands() || opcode.address_size)
        return use;
    const llvm::MCOperand& displacement = instruction_.getOperand(at - 1 + displacement_part);
    const unsigned base_register = instruction_.getOperand(at - 1 + base_part).getReg();
    if (name == "LEA64r" && base_register == instruction_pointer_) {
        use.to = general(instruction_.getOperand(0));
        use.is_there = true;
        return use;
    }
    constexpr int64_t page = 4096;
    const bool is_sum = instruction_.getOperand(at - 1 + index_part).getReg() != 0;
    if (instruction_.getOperand(at - 1 + segment_part).getReg() || !displacement.isImm())
        return use;
    if (is_sum || displacement.getImm() < 0 || displacement.getImm() >= page) {
        use.accesses_elsewhere =
            (is_sum || displacement.getImm() >= page) && !opcode.computes_address();
        return use;
    }
    const std::optional<unsigned> base = general(instruction_.getOperand(at - 1 + base_part));
    if (name == "LEA64r") {
        use.to = general(instruction_.getOperand(0));
        use.from = base;
        use.is_there = base_register == stack_pointer_;
        return use;
    }
    if (accesses(opcode)) {
        use.base = base;
        use.always = always_accesses(opcode);
    }
    return use;
}

std::string Decoder::text(std::string_view bytes, uint64_t address) {
    std::string out;
    llvm::raw_string_ostream stream(out);
    uint64_t length = 0;
    if (!read(bytes, address, length, &stream))
        return {};
    std::replace(out.begin(), out.end(), '\t', ' ');
    return out.substr(std::min(out.find_first_not_of(' '), out.size()));
}

} // namespace

std::unique_ptr<InstructionDecoder> InstructionDecoder::create() {
    const llvm::Target* target = find_target();
    return target ? std::make_unique<Decoder>(*target) : nullptr;
}

GoRegisters go_registers() {
    // By the numbers of Decoder::general_: r14, rdx, rax.
    return {1 << 14, 1 << 2, 1 << 0};
}

size_t planted_jump_bytes() {
    return 5; // jmp rel32
}

size_t short_jump_bytes() {
    return 2; // jmp rel8
}

bool short_jump_reaches(uint64_t from, uint64_t to) {
    const auto distance = static_cast<int64_t>(to - (from + short_jump_bytes()));
    return distance >= INT8_MIN && distance <= INT8_MAX;
}

uint8_t space_between_functions() {
    return 0xcc; // int3
}

std::string_view return_instruction() {
    return "\xc3";
}

size_t shorter_call_bytes(std::string_view symbol) {
    constexpr std::string_view thunks = "__x86_indirect_thunk_";
    if (!symbol.starts_with(thunks))
        return 0;
    // call *%rax; call *%r8 has a prefix.
    symbol.remove_prefix(thunks.size());
    return symbol.starts_with("r") && symbol.size() > 1 && symbol[1] >= '0' && symbol[1] <= '9' ? 3
                                                                                                : 2;
}

} // namespace djstap::arch
