// SPDX-License-Identifier: GPL-2.0-or-later
// Per-CPU memory is addressed through one segment register: a single instruction on it is atomic
// with respect to interrupts, and needs no lock prefix.
#include "arch/codegen.h"
#include "arch/x86_64/assembly.h"

namespace djstap::arch {

namespace {

using x86_64::as_bool;
using x86_64::emit_assembly;
using x86_64::in_registers;

// Formats a place as an operand; appends the values it uses to `operands`, numbered from `first`.
std::string operand_of(const PercpuPlace& place, unsigned first,
                       std::vector<llvm::Value*>& operands) {
    std::string text = "%gs:" + place.symbol;
    if (!place.base)
        return text + "+" + std::to_string(place.offset) + "(%rip)";
    if (place.offset || !place.symbol.empty())
        text += (place.symbol.empty() ? "" : "+") + std::to_string(place.offset);
    text += "($" + std::to_string(first);
    operands.push_back(place.base);
    if (place.index) {
        text += ",$" + std::to_string(first + 1) + ",8";
        operands.push_back(place.index);
    }
    return text + ")";
}

// The condition under which a comparison is true, and the one under which a new value is not an
// extreme.
const char* condition_of(llvm::CmpInst::Predicate predicate) {
    switch (predicate) {
    case llvm::CmpInst::ICMP_SLT:
        return "l";
    case llvm::CmpInst::ICMP_SGT:
        return "g";
    case llvm::CmpInst::ICMP_UGT:
        return "a";
    default:
        llvm_unreachable("no comparison of per-CPU memory is like that");
    }
}

} // namespace

llvm::Value* load_percpu_constant(llvm::IRBuilderBase& builder, llvm::Type* type,
                                  const PercpuPlace& place) {
    std::vector<llvm::Value*> operands;
    const char* move = type->isIntegerTy(32) ? "movl " : "movq ";
    const std::string text = move + operand_of(place, 1, operands) + ", $0";
    return emit_assembly(builder, type,
                         {text, in_registers("=r", operands.size()), operands, false, false});
}

llvm::Value* load_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place) {
    std::vector<llvm::Value*> operands;
    const std::string text = "movq " + operand_of(place, 1, operands) + ", $0";
    return emit_assembly(builder, builder.getInt64Ty(),
                         {text, in_registers("=r", operands.size()), operands});
}

void add_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place, llvm::Value* delta,
                bool ordered) {
    std::vector<llvm::Value*> operands;
    const std::string at = operand_of(place, 0, operands);
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(delta);
    const int64_t amount = constant ? constant->getSExtValue() : 0;
    std::string text;
    if (constant && amount >= INT32_MIN && amount <= INT32_MAX) {
        text = amount == 1    ? "incq " + at
               : amount == -1 ? "decq " + at
                              : "addq $$" + std::to_string(amount) + ", " + at;
    } else {
        text = "addq $" + std::to_string(operands.size()) + ", " + at;
        operands.push_back(delta);
    }
    emit_assembly(builder, builder.getVoidTy(),
                  {text, in_registers("", operands.size()), operands, true, ordered});
}

llvm::Value* compare_percpu(llvm::IRBuilderBase& builder, llvm::CmpInst::Predicate predicate,
                            llvm::Value* value, const PercpuPlace& place) {
    std::vector<llvm::Value*> operands;
    std::string text = "cmpq " + operand_of(place, 1, operands);
    operands.push_back(value);
    text += ", $" + std::to_string(operands.size());
    const std::string flag = "={@cc" + std::string(condition_of(predicate)) + "}";
    return as_bool(builder, emit_assembly(builder, builder.getInt8Ty(),
                                          {text, in_registers(flag, operands.size()), operands}));
}

llvm::Value* has_percpu_bits(llvm::IRBuilderBase& builder, uint32_t bits,
                             const PercpuPlace& place) {
    std::vector<llvm::Value*> operands;
    const std::string text =
        "testl $$" + std::to_string(bits) + ", " + operand_of(place, 1, operands);
    return as_bool(builder,
                   emit_assembly(builder, builder.getInt8Ty(),
                                 {text, in_registers("={@ccnz}", operands.size()), operands}));
}

void replace_percpu_extreme(llvm::IRBuilderBase& builder, llvm::CmpInst::Predicate predicate,
                            llvm::Value* value, const PercpuPlace& place) {
    std::vector<llvm::Value*> operands;
    const std::string at = operand_of(place, 0, operands);
    const std::string number = "$" + std::to_string(operands.size());
    operands.push_back(value);
    const std::string text = "1:\tmovq " + at + ", %rax\n\tcmpq %rax, " + number + "\n\tjn" +
                             condition_of(predicate) + " 2f\n\tcmpxchgq " + number + ", " + at +
                             "\n\tjne 1b\n2:";
    emit_assembly(builder, builder.getVoidTy(),
                  {text, in_registers("", operands.size()) + ",~{rax}", operands});
}

Exchange exchange_percpu(llvm::IRBuilderBase& builder, const PercpuPlace& place,
                         llvm::Value* expected, llvm::Value* next) {
    std::vector<llvm::Value*> operands{next};
    const std::string text = "cmpxchgq $2, " + operand_of(place, 3, operands);
    // the register of the second result
    const std::string constraints = in_registers("={@ccz},={ax}", operands.size()) + ",1";
    operands.push_back(expected);
    auto* type = llvm::StructType::get(builder.getInt8Ty(), builder.getInt64Ty());
    llvm::Value* outcome = emit_assembly(builder, type, {text, constraints, operands});
    return {as_bool(builder, builder.CreateExtractValue(outcome, 0)),
            builder.CreateExtractValue(outcome, 1)};
}

llvm::Value* wrap_percpu(llvm::IRBuilderBase& builder, llvm::Value* position,
                         const PercpuPlace& mask, const PercpuPlace& data) {
    std::vector<llvm::Value*> operands{position};
    const std::string masked = operand_of(mask, 2, operands),
                      moved =
                          operand_of(data, static_cast<unsigned>(operands.size()) + 1, operands);
    const std::string text = "andq " + masked + ", $0\n\taddq " + moved + ", $0";
    return emit_assembly(builder, builder.getInt64Ty(),
                         {text, in_registers("=r,0", operands.size() - 1), operands});
}

void disable_preemption(llvm::IRBuilderBase& builder, const PercpuPlace& count, unsigned bytes) {
    std::vector<llvm::Value*> operands;
    const std::string text =
        std::string(bytes == 8 ? "incq " : "incl ") + operand_of(count, 0, operands);
    emit_assembly(builder, builder.getVoidTy(),
                  {text, in_registers("", operands.size()), operands});
}

llvm::Value* enable_preemption(llvm::IRBuilderBase& builder, const PercpuPlace& count,
                               unsigned bytes) {
    std::vector<llvm::Value*> operands;
    const std::string text =
        std::string(bytes == 8 ? "decq " : "decl ") + operand_of(count, 1, operands);
    return as_bool(builder,
                   emit_assembly(builder, builder.getInt8Ty(),
                                 {text, in_registers("={@ccz}", operands.size()), operands}));
}

} // namespace djstap::arch
