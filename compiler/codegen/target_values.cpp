// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/codegen.h"
#include "codegen/body.h"

#include "include/script.h"

#include <llvm/IR/Constants.h>
#include <llvm/Support/SaveAndRestore.h>

#include <algorithm>
#include <utility>

namespace djstap::codegen {

const TargetAccess* Body::find_access(const program::Expression& value) {
    if (hit_.accesses) {
        auto known = hit_.accesses->find(&value);
        if (known != hit_.accesses->end())
            return &known->second;
    }
    return nullptr;
}

Value Body::target_value(const program::TargetValue& node) {
    const TargetAccess* found = find_access(node);
    bool is_text = node.type == program::Type::String;
    if (!found) { // only in code that @defined keeps from running
        return is_text ? static_cast<Value>(script_.text("")) : script_.number(0);
    }
    if (found->is_text)
        return target_text(*found, node.range);
    if (found->value.base == Access::Base::FileText) {
        // The file may hold more than a string, for which nothing else has room.
        Value copy = scratch_text();
        copy_text(copy, builder_.CreateCall(script_.runtime("djs_file_get"), {ctx_}));
        return copy;
    }
    return access(found->value, node.range);
}

// Of the CPU that executes the handler.
Value Body::per_cpu_address(const Access& how, SourceRange range) {
    const auto place =
        script_.kernel.offset ? script_.kernel.offset("djs_cpu.variables") : std::nullopt;
    if (!place) {
        script_.diagnostics.report(DiagnosticKind::CodegenInternal, range,
                                   {"the runtime has no djs_cpu.variables"});
        return script_.number(0);
    }
    Value added = arch::load_percpu_constant(builder_, script_.types.i64,
                                             {.symbol = "djs_cpu", .offset = place->second});
    return builder_.CreateAdd(added, script_.number(static_cast<int64_t>(how.constant)));
}

// In a program, the hit tells where the process has it; what is injected is linked for one process.
Value Body::image_address(uint32_t image, uint64_t address, SourceRange range) {
    if (script_.plan.images[image].kind != ImageKind::Program || script_.kernel.injected)
        return script_.image_address(builder_, image, address,
                                     script_.diagnostics.sources().text(range));
    Value here = load_field(offsetof(djs_ctx, address), script_.types.i64, "here");
    Value site = load_field(offsetof(djs_ctx, site), script_.types.pointer, "site");
    Value linked = builder_.CreateLoad(
        script_.types.i64,
        builder_.CreateConstGEP1_32(script_.types.i8, site, offsetof(djs_site, address)));
    return builder_.CreateAdd(builder_.CreateSub(here, linked),
                              script_.number(static_cast<int64_t>(address)));
}

namespace {

// The result of an operation on two numbers; nothing if it is none.
Value binary(llvm::IRBuilder<>& builder, LocationOperation::Kind kind, Value left, Value right) {
    using Kind = LocationOperation::Kind;
    auto flag = [&](llvm::CmpInst::Predicate predicate) {
        return builder.CreateZExt(builder.CreateICmp(predicate, left, right), left->getType());
    };
    constexpr uint64_t bits = 64;
    // LLVM does not define a shift by as many bits as there are.
    auto shifted = [&](Value result, Value otherwise) {
        auto* limit = llvm::ConstantInt::get(left->getType(), bits);
        return builder.CreateSelect(builder.CreateICmpULT(right, limit), result, otherwise);
    };
    auto* zero = llvm::ConstantInt::get(left->getType(), 0);
    switch (kind) {
    case Kind::Add:
        return builder.CreateAdd(left, right);
    case Kind::Subtract:
        return builder.CreateSub(left, right);
    case Kind::Multiply:
        return builder.CreateMul(left, right);
    case Kind::And:
        return builder.CreateAnd(left, right);
    case Kind::Or:
        return builder.CreateOr(left, right);
    case Kind::Xor:
        return builder.CreateXor(left, right);
    case Kind::ShiftLeft:
        return shifted(builder.CreateShl(left, right), zero);
    case Kind::ShiftRight:
        return shifted(builder.CreateLShr(left, right), zero);
    case Kind::ShiftRightSigned:
        return shifted(builder.CreateAShr(left, right), builder.CreateAShr(left, bits - 1));
    case Kind::Equal:
        return flag(llvm::CmpInst::ICMP_EQ);
    case Kind::NotEqual:
        return flag(llvm::CmpInst::ICMP_NE);
    case Kind::Less:
        return flag(llvm::CmpInst::ICMP_SLT);
    case Kind::LessOrEqual:
        return flag(llvm::CmpInst::ICMP_SLE);
    case Kind::Greater:
        return flag(llvm::CmpInst::ICMP_SGT);
    case Kind::GreaterOrEqual:
        return flag(llvm::CmpInst::ICMP_SGE);
    default:
        return nullptr;
    }
}

} // namespace

Value Body::computed(const Access& how, SourceRange range) {
    using Kind = LocationOperation::Kind;
    std::vector<Value> stack;
    auto take = [&] {
        Value top = stack.empty() ? script_.number(0) : stack.back();
        if (!stack.empty())
            stack.pop_back();
        return top;
    };
    for (const LocationOperation& operation : how.operations) {
        switch (operation.kind) {
        case Kind::Register:
            stack.push_back(hit_.reg(operation.reg));
            break;
        case Kind::Constant:
            stack.push_back(script_.number(static_cast<int64_t>(operation.number)));
            break;
        case Kind::Address:
            stack.push_back(image_address(how.image, operation.number, range));
            break;
        case Kind::Load: {
            auto* place = script_.u32(script_.place(
                "read fault of '" + std::string(script_.diagnostics.sources().text(range)) + "'",
                range));
            stack.push_back(
                read(take(), 0, {operation.size, operation.is_signed, how.space, place}));
            break;
        }
        case Kind::Extend:
            stack.push_back(narrow(script_, builder_, take(), operation.size, operation.is_signed));
            break;
        case Kind::Negate:
            stack.push_back(builder_.CreateNeg(take()));
            break;
        case Kind::Not:
            stack.push_back(builder_.CreateNot(take()));
            break;
        default: {
            Value right = take(), left = take();
            stack.push_back(binary(builder_, operation.kind, left, right));
            break;
        }
        }
    }
    return take();
}

// The value of an index, or of what @cast casts; in a change of a place, and in a text of several
// values, that of its first evaluation.
Value Body::place_operand(const program::Expression& node) {
    if (!evaluated_)
        return number(node);
    if (const auto known = evaluated_->find(&node); known != evaluated_->end())
        return known->second;
    Value value = number(node);
    evaluated_->emplace(&node, value);
    return value;
}

// Returns the old and the new value. The place's indexes are evaluated once.
std::pair<Value, Value> Body::change_target(const program::TargetValue& place,
                                            const std::function<Value(Value)>& change) {
    std::map<const program::Expression*, Value> evaluated;
    const llvm::SaveAndRestore once(evaluated_, &evaluated);
    Value before = target_value(place);
    Value after = change(before);
    write_target(place, after);
    return {before, after};
}

Value Body::access(const Access& how, SourceRange range) {
    Value value = nullptr;
    auto add_offset = [&](Value to, int64_t amount) {
        return amount ? builder_.CreateAdd(to, script_.number(amount)) : to;
    };
    switch (how.base) {
    case Access::Base::Register:
        value = hit_.reg(how.reg);
        break;
    case Access::Base::Constant:
        value = script_.number(static_cast<int64_t>(how.constant));
        break;
    case Access::Base::PerCpu:
        value = per_cpu_address(how, range);
        break;
    case Access::Base::ImageAddress:
        value = image_address(how.image, how.constant, range);
        break;
    case Access::Base::Computed:
        value = computed(how, range);
        break;
    case Access::Base::Operand:
        value = place_operand(*how.operand);
        break;
    case Access::Base::ReturnValue:
        value = hit_.return_value();
        break;
    case Access::Base::PerfCounter:
        return builder_.CreateCall(script_.runtime("djs_perf_read"),
                                   {script_.u32(static_cast<uint32_t>(how.constant))});
    case Access::Base::FileText: // a string: target_value
        return script_.number(0);
    }
    // What was added to `value` for the next read to add.
    int64_t offset = 0;
    for (const AccessStep& step : how.steps) {
        if (step.kind == AccessStep::Kind::Load) {
            value = read(value, std::exchange(offset, 0),
                         {step.size, step.is_signed, how.space,
                          script_.u32(script_.place(
                              "read fault of '" +
                                  std::string(script_.diagnostics.sources().text(range)) + "'",
                              range))});
            continue;
        }
        if (step.kind == AccessStep::Kind::Add) {
            offset += step.amount;
            continue;
        }
        value = add_offset(value, std::exchange(offset, 0));
        switch (step.kind) {
        case AccessStep::Kind::AddIndex:
            value = builder_.CreateAdd(
                value, builder_.CreateMul(place_operand(*step.index), script_.number(step.amount)));
            break;
        case AccessStep::Kind::Extend:
            value = narrow(script_, builder_, value, step.size, step.is_signed);
            break;
        case AccessStep::Kind::BitField: {
            Value up =
                builder_.CreateShl(value, script_.number(64 - step.bit_offset - step.bit_size));
            auto* down = script_.number(64 - step.bit_size);
            value = step.is_signed ? builder_.CreateAShr(up, down) : builder_.CreateLShr(up, down);
            break;
        }
        case AccessStep::Kind::Widen:
            value = builder_.CreateCall(script_.runtime("djs_fp_from_single"),
                                        {builder_.CreateTrunc(value, builder_.getInt32Ty())});
            break;
        default: // above
            break;
        }
    }
    return add_offset(value, offset);
}

namespace {

constexpr uint32_t number_text_bytes = 32; // of a number in any form that $$vars has

} // namespace

// One part of $x$ or $$vars. A string of an array ends with the array, terminated or not.
Body::Argument Body::text_part(const program::FormatPiece& piece, const Access& how,
                               SourceRange range) {
    Value value = access(how, range);
    if (piece.conversion != 's') {
        Argument number{'l'};
        number.value = value;
        return number;
    }
    Argument text{'s'};
    text.value = scratch_text();
    builder_.CreateCall(
        script_.runtime("djs_shown_string"),
        {ctx_, text.value, value,
         script_.number(piece.precision >= 0 ? piece.precision : script_.string_bytes()),
         script_.u32(how.space == AddressSpace::User)});
    check_error();
    text.length = builder_.CreateCall(script_.runtime("djs_text_length"), {text.value});
    return text;
}

// A value of $$vars itself, which is in a register or on the stack: a number, or if it may be
// impossible to read it, a text, which then is "ERROR".
Body::Argument Body::plain_part(const program::FormatPiece& piece, const Access& how,
                                SourceRange range) {
    Argument number{'l'};
    if (!loads(how)) {
        number.value = access(how, range);
        return number;
    }
    program::FormatPiece alone = piece;
    alone.literal.clear();
    Argument text{'s'};
    text.room = number_text_bytes;
    text.value = scratch(text.room);
    auto *unreadable = block("unreadable"), *done = block("part");
    auto* outer = std::exchange(error_, unreadable);
    number.value = access(how, range);
    text_format({alone}, {number}, text.value, text.room);
    builder_.CreateBr(done);
    error_ = outer;
    begin(unreadable);
    forget_error();
    copy_text(text.value, script_.text("ERROR"));
    builder_.CreateBr(done);
    begin(done);
    text.length = builder_.CreateCall(script_.runtime("djs_text_length"), {text.value});
    return text;
}

// What a value points to, or its members, as one string: "ERROR" if a part of it cannot be read.
Body::Argument Body::shown_value(const TargetAccess& how, TargetAccess::Shown pieces, size_t part,
                                 SourceRange range) {
    auto *unreadable = block("unreadable"), *done = block("shown");
    Value text = scratch_text();
    auto* outer = std::exchange(error_, unreadable);
    std::vector<program::FormatPiece> format;
    std::vector<Argument> arguments;
    for (size_t i = pieces.first; i < pieces.end; i++) {
        format.push_back(how.format[i]);
        format.back().precision = -1;
        if (format.back().conversion)
            arguments.push_back(text_part(how.format[i], how.parts[part++], range));
    }
    text_format(format, arguments, text);
    builder_.CreateBr(done);
    error_ = outer;
    begin(unreadable);
    forget_error();
    copy_text(text, script_.text("ERROR"));
    builder_.CreateBr(done);
    begin(done);
    Argument argument{'s'};
    argument.value = text;
    argument.length = builder_.CreateCall(script_.runtime("djs_text_length"), {text});
    return argument;
}

void Body::forget_error() {
    builder_.CreateStore(script_.null(), field(offsetof(djs_ctx, error), "error"));
}

// $x$ and $$vars: a string composed of several values. The operands that they have in common are
// evaluated before them, once: an error there ends the handler, while one in a part only shows that
// the part cannot be read.
Value Body::target_text(const TargetAccess& how, SourceRange range) {
    std::map<const program::Expression*, Value> evaluated;
    const llvm::SaveAndRestore once(evaluated_, evaluated_ ? evaluated_ : &evaluated);
    for (const Access& part : how.parts) {
        if (part.base == Access::Base::Operand)
            place_operand(*part.operand);
        for (const AccessStep& step : part.steps)
            if (step.kind == AccessStep::Kind::AddIndex)
                place_operand(*step.index);
    }
    std::vector<program::FormatPiece> format;
    std::vector<Argument> arguments;
    auto shown = how.shown.begin();
    size_t part = 0;
    for (size_t i = 0; i < how.format.size();) {
        if (shown != how.shown.end() && shown->first == i) {
            arguments.push_back(shown_value(how, *shown, part, range));
            format.emplace_back().conversion = 's';
            for (; i < shown->end; i++)
                part += how.format[i].conversion != 0;
            ++shown;
            continue;
        }
        program::FormatPiece piece = how.format[i++];
        if (piece.conversion) {
            arguments.push_back(plain_part(piece, how.parts[part++], range));
            if (arguments.back().type == 's') {
                piece.conversion = 's';
                piece.alternate = false;
            }
        }
        format.push_back(std::move(piece));
    }
    if (format.size() == 1 && how.shown.size() == 1)
        return arguments.front().value;
    Value out = scratch_text();
    text_format(format, arguments, out);
    return out;
}

namespace {

bool is_extension(const AccessStep& step) {
    return step.kind == AccessStep::Kind::Extend;
}

// Returns whether it is a variable that is completely in a register, or a result.
bool is_in(const Access& access, Access::Base base) {
    return access.base == base &&
           std::all_of(access.steps.begin(), access.steps.end(), is_extension);
}

// Returns whether it is a member of a structure in a register, and no bit-field.
bool is_part_of_register(const Access& access) {
    return access.base == Access::Base::Register && !access.steps.empty() &&
           access.steps.front().kind == AccessStep::Kind::BitField &&
           std::all_of(access.steps.begin() + 1, access.steps.end(), is_extension);
}

// Returns whether the value is stored on the stack itself, not where a pointer there points to.
bool is_on_stack(const Access& access) {
    return access.base == Access::Base::Register && access.reg == arch::stack_pointer() &&
           std::count_if(access.steps.begin(), access.steps.end(), [](const AccessStep& step) {
               return step.kind == AccessStep::Kind::Load;
           }) == 1;
}

} // namespace

// Returns a word with some of its bits replaced.
Value Body::with_bits(Value word, const AccessStep& bits, Value value) {
    const uint64_t mask = (bits.bit_size >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits.bit_size) - 1)
                          << bits.bit_offset;
    return builder_.CreateOr(builder_.CreateAnd(word, script_.number(static_cast<int64_t>(~mask))),
                             builder_.CreateAnd(builder_.CreateShl(value, bits.bit_offset),
                                                script_.number(static_cast<int64_t>(mask))));
}

void Body::write_target(const program::TargetValue& place, Value value) {
    const TargetAccess* found = find_access(place);
    if (!found)
        return; // only in code that @defined keeps from running
    if (found->value.base == Access::Base::FileText) {
        builder_.CreateCall(script_.runtime("djs_file_set"), {ctx_, value});
        return;
    }
    if (!found->is_text && is_in(found->value, Access::Base::Register) && hit_.register_address) {
        builder_.CreateStore(value, hit_.register_address(found->value.reg));
        return;
    }
    if (!found->is_text && is_in(found->value, Access::Base::ReturnValue) &&
        hit_.return_value_address) {
        builder_.CreateStore(value, hit_.return_value_address());
        return;
    }
    if (!found->is_text && is_part_of_register(found->value) && hit_.register_address) {
        const PtReg reg = found->value.reg;
        builder_.CreateStore(with_bits(hit_.reg(reg), found->value.steps.front(), value),
                             hit_.register_address(reg));
        return;
    }
    Access address = found->value;
    std::optional<AccessStep> bits;
    if (!address.steps.empty() && address.steps.back().kind == AccessStep::Kind::BitField) {
        bits = address.steps.back();
        address.steps.pop_back();
    }
    std::map<const program::Expression*, Value> evaluated; // for the word of a bit-field
    const llvm::SaveAndRestore once(evaluated_, evaluated_ ? evaluated_ : &evaluated);
    const std::string name(script_.diagnostics.sources().text(place.range));
    const bool is_user = address.space == AddressSpace::User;
    if (found->is_text || address.steps.empty() || (is_user && script_.kernel.user_space) ||
        address.steps.back().kind != AccessStep::Kind::Load ||
        (hit_.copied_arguments && is_on_stack(address))) {
        script_.diagnostics.report(DiagnosticKind::TargetNotWritable, place.range, {name})
            .hint("the memory that it points to can be changed with -g");
        return;
    }
    if (bits) {
        // The other bits of its word are preserved.
        value = with_bits(access(address, place.range), *bits, value);
    }
    uint8_t size = address.steps.back().size;
    address.steps.pop_back();
    Value at = access(address, place.range);
    auto* where = script_.u32(script_.place("write to '" + name + "'", place.range));
    builder_.CreateCall(script_.runtime(is_user ? "djs_store_user" : "djs_store"),
                        {ctx_, at, script_.u32(size), value, where});
    check_error();
}

} // namespace djstap::codegen
