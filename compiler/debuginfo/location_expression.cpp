// SPDX-License-Identifier: GPL-2.0-or-later
// Translates the operations of a DWARF expression to a location, or to what a handler computes.
#include "debuginfo/location.h"

#include "arch/arch.h"

#include <algorithm>
#include <cstring>
#include <dwarf.h>

namespace djstap {

namespace {

using Kind = LocationOperation::Kind;

constexpr size_t longest_computation = 48; // operations: a handler executes them at each hit
constexpr uint8_t generic_size = sizeof(uint64_t);

bool is_entry_value(uint8_t op) {
    return op == DW_OP_entry_value || op == DW_OP_GNU_entry_value;
}

bool is_literal(uint8_t op) {
    return op >= DW_OP_lit0 && op <= DW_OP_lit31;
}

std::optional<Kind> binary_kind(uint8_t op) {
    switch (op) {
    case DW_OP_plus:
        return Kind::Add;
    case DW_OP_minus:
        return Kind::Subtract;
    case DW_OP_mul:
        return Kind::Multiply;
    case DW_OP_and:
        return Kind::And;
    case DW_OP_or:
        return Kind::Or;
    case DW_OP_xor:
        return Kind::Xor;
    case DW_OP_shl:
        return Kind::ShiftLeft;
    case DW_OP_shr:
        return Kind::ShiftRight;
    case DW_OP_shra:
        return Kind::ShiftRightSigned;
    case DW_OP_eq:
        return Kind::Equal;
    case DW_OP_ne:
        return Kind::NotEqual;
    case DW_OP_lt:
        return Kind::Less;
    case DW_OP_le:
        return Kind::LessOrEqual;
    case DW_OP_gt:
        return Kind::Greater;
    case DW_OP_ge:
        return Kind::GreaterOrEqual;
    default:
        return std::nullopt;
    }
}

// The type of a number on DWARF's stack; the generic type is a 64-bit number without a sign.
struct NumberType {
    uint8_t size = generic_size;
    bool is_signed = false;
    bool is_generic = true; // it is compared as if it had a sign
};

// An element of DWARF's stack: how it is computed.
struct Computed {
    std::vector<LocationOperation> operations;
    NumberType type;
    bool is_register = false; // DW_OP_regN: the variable is the register
};

// Translates the operations of one expression.
class Translator {
  public:
    Translator(const LocationContext& context, Dwarf_Attribute* attribute)
        : context_(context), attribute_(attribute) {}

    Location translate(const Dwarf_Op* operations, size_t count) {
        if (count == 0)
            return nowhere("optimized away here");
        for (size_t i = 0; i < count; i++)
            if (!step(operations[i]))
                return nowhere(why_);
        if (pieces_.empty())
            return finish();
        if (!stack_.empty() || finished_)
            return nowhere(too_complex);
        Location location;
        location.kind = LocationKind::Pieces;
        location.pieces = std::move(pieces_);
        return location;
    }

  private:
    static constexpr const char* too_complex = "computed by an expression";

    bool fail(const char* why) {
        why_ = why;
        return false;
    }

    bool push(LocationOperation operation, NumberType type = {}, bool is_register = false) {
        if (stack_.size() >= longest_computation)
            return fail(too_complex);
        stack_.push_back({{operation}, type, is_register});
        return true;
    }
    bool push_number(uint64_t number) {
        LocationOperation operation;
        operation.number = number;
        return push(operation);
    }
    bool push_register(uint64_t number, uint64_t offset, bool itself) {
        const auto reg = arch::register_of_dwarf(number);
        if (!reg)
            return fail("in a register that a handler cannot access");
        return push_sum(*reg, offset, itself);
    }
    bool push_sum(PtReg reg, uint64_t offset, bool itself) {
        LocationOperation operation;
        operation.kind = Kind::Register;
        operation.reg = reg;
        return push(operation, {}, itself) &&
               (offset == 0 || (push_number(offset) && binary(Kind::Add)));
    }

    bool binary(Kind kind) {
        if (stack_.size() < 2)
            return fail(too_complex);
        Computed right = std::move(stack_.back());
        stack_.pop_back();
        Computed& left = stack_.back();
        const NumberType type = left.type;
        if (left.operations.size() + right.operations.size() > longest_computation)
            return fail(too_complex);
        left.operations.insert(left.operations.end(), right.operations.begin(),
                               right.operations.end());
        LocationOperation operation;
        operation.kind = kind;
        left.operations.push_back(operation);
        left.is_register = false;
        if (kind >= Kind::Less && kind <= Kind::GreaterOrEqual && !type.is_generic &&
            !type.is_signed && type.size == generic_size)
            return fail(too_complex);
        if (kind >= Kind::Equal && kind <= Kind::GreaterOrEqual)
            left.type = {};
        else
            narrow(type);
        return true;
    }

    bool unary(LocationOperation operation) {
        if (stack_.empty() || stack_.back().operations.size() >= longest_computation)
            return fail(too_complex);
        stack_.back().operations.push_back(operation);
        stack_.back().is_register = false;
        return true;
    }

    // Numbers of a narrower type wrap around in it.
    void narrow(NumberType type) {
        stack_.back().type = type;
        if (type.size == generic_size)
            return;
        LocationOperation operation;
        operation.kind = Kind::Extend;
        operation.size = type.size;
        operation.is_signed = type.is_signed;
        stack_.back().operations.push_back(operation);
    }

    // The type to which an operation refers; nothing if it is not an integer's.
    std::optional<NumberType> type_of(const Dwarf_Op& operation) const {
        Dwarf_Die die;
        Dwarf_Attribute encoding;
        Dwarf_Word kind = 0;
        if (!attribute_ || dwarf_getlocation_die(attribute_, &operation, &die) != 0 ||
            dwarf_formudata(dwarf_attr(&die, DW_AT_encoding, &encoding), &kind) != 0)
            return std::nullopt;
        const int size = dwarf_bytesize(&die);
        const bool is_signed = kind == DW_ATE_signed || kind == DW_ATE_signed_char;
        if ((!is_signed && kind != DW_ATE_unsigned && kind != DW_ATE_unsigned_char &&
             kind != DW_ATE_boolean && kind != DW_ATE_address) ||
            (size != 1 && size != 2 && size != 4 && size != 8))
            return std::nullopt;
        return NumberType{static_cast<uint8_t>(size), is_signed, false};
    }

    bool load(uint64_t size, NumberType type) {
        LocationOperation operation;
        operation.kind = Kind::Load;
        operation.size = static_cast<uint8_t>(size);
        operation.is_signed = type.is_signed;
        if ((size != 1 && size != 2 && size != 4 && size != 8) || !unary(operation))
            return fail(too_complex);
        stack_.back().type = type;
        return true;
    }

    // Each piece has a location of its own, which the operations before it describe.
    bool end_piece(uint64_t bytes) {
        uint64_t offset = 0;
        if (!pieces_.empty())
            offset = pieces_.back().offset + pieces_.back().size;
        LocationPiece piece;
        piece.location = stack_.empty() && !finished_ ? nowhere("optimized away") : finish();
        piece.offset = offset;
        piece.size = bytes;
        pieces_.push_back(std::move(piece));
        stack_.clear();
        finished_.reset();
        is_value_ = false;
        return true;
    }

    bool entry_value(const Dwarf_Op& operation) {
        if (!context_.at_entry)
            return fail("only its value at the function's entry is known here");
        Dwarf_Attribute inner;
        Dwarf_Op* operations = nullptr;
        size_t count = 0;
        if (!attribute_ || dwarf_getlocation_attr(attribute_, &operation, &inner) != 0 ||
            dwarf_getlocation(&inner, &operations, &count) != 0 || count != 1 ||
            is_entry_value(operations[0].atom)) // nested as deep as a damaged file says
            return fail(too_complex);
        const Location entry = Translator(context_, &inner).translate(operations, count);
        if (entry.kind != LocationKind::Register)
            return fail(too_complex);
        return push_sum(entry.reg, 0, false);
    }

    bool implicit_value(const Dwarf_Op& operation) {
        Dwarf_Block block;
        if (!stack_.empty() || !attribute_ ||
            dwarf_getlocation_implicit_value(attribute_, &operation, &block) != 0 ||
            block.length > sizeof(uint64_t))
            return fail("a constant wider than 8 bytes");
        uint64_t value = 0;
        std::memcpy(&value, block.data, block.length);
        finished_ = constant_location(value);
        return true;
    }

    bool typed_constant(const Dwarf_Op& operation) {
        const auto type = type_of(operation);
        Dwarf_Attribute inner;
        Dwarf_Block block;
        if (!type || dwarf_getlocation_attr(attribute_, &operation, &inner) != 0 ||
            dwarf_formblock(&inner, &block) != 0 || block.length > sizeof(uint64_t))
            return fail(too_complex);
        uint64_t value = 0;
        std::memcpy(&value, block.data, block.length);
        if (!push_number(value))
            return false;
        narrow(*type);
        return true;
    }

    bool convert(const Dwarf_Op& operation) {
        if (stack_.empty())
            return fail(too_complex);
        if (operation.number == 0) {
            stack_.back().type = {};
            return true;
        }
        const auto type = type_of(operation);
        if (!type)
            return fail(too_complex);
        stack_.back().is_register = false;
        narrow(*type);
        return true;
    }

    bool stack_operation(uint8_t op, uint64_t index) {
        const size_t size = stack_.size();
        if (op == DW_OP_pick && index >= size)
            return fail(too_complex);
        const size_t needed = op == DW_OP_dup || op == DW_OP_drop ? 1
                              : op == DW_OP_pick                  ? index + 1
                              : op == DW_OP_rot                   ? 3
                                                                  : 2;
        if (size < needed)
            return fail(too_complex);
        if (op == DW_OP_drop)
            stack_.pop_back();
        else if (op == DW_OP_swap)
            std::swap(stack_[size - 1], stack_[size - 2]);
        else if (op == DW_OP_rot)
            std::rotate(stack_.end() - 3, stack_.end() - 1, stack_.end());
        else if (size >= longest_computation)
            return fail(too_complex);
        else
            stack_.push_back(Computed(stack_[size - 1 -
                                             (op == DW_OP_dup    ? 0
                                              : op == DW_OP_over ? 1
                                                                 : index)]));
        return true;
    }

    bool step(const Dwarf_Op& operation) {
        const uint8_t op = operation.atom;
        if (op == DW_OP_piece)
            return end_piece(operation.number);
        if (op == DW_OP_bit_piece)
            return fail("split into parts that are not whole bytes");
        if (is_value_ || finished_ || (!stack_.empty() && stack_.back().is_register))
            return fail(too_complex);
        if (op >= DW_OP_reg0 && op <= DW_OP_reg31)
            return push_register(op - DW_OP_reg0, 0, true);
        if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
            return push_register(op - DW_OP_breg0, operation.number, false);
        if (is_literal(op))
            return push_number(op - DW_OP_lit0);
        if (const auto kind = binary_kind(op))
            return binary(*kind);
        switch (op) {
        case DW_OP_regx:
            return push_register(operation.number, 0, true);
        case DW_OP_bregx:
            return push_register(operation.number, operation.number2, false);
        case DW_OP_fbreg:
        case DW_OP_call_frame_cfa: {
            const auto base = context_.frame_base ? context_.frame_base() : std::nullopt;
            if (!base)
                return fail("relative to a frame that is not known here");
            const uint64_t extra = op == DW_OP_fbreg ? operation.number : 0;
            return push_sum(base->reg, static_cast<uint64_t>(base->offset) + extra, false);
        }
        case DW_OP_addr: {
            LocationOperation address;
            address.kind = Kind::Address;
            address.number = operation.number;
            return push(address);
        }
        case DW_OP_addrx: { // the number of an address
            Dwarf_Attribute indexed;
            Dwarf_Addr number = 0;
            if (!attribute_ || dwarf_getlocation_attr(attribute_, &operation, &indexed) != 0 ||
                dwarf_formaddr(&indexed, &number) != 0)
                return fail(too_complex);
            LocationOperation address;
            address.kind = Kind::Address;
            address.number = number;
            return push(address);
        }
        case DW_OP_const1u:
        case DW_OP_const2u:
        case DW_OP_const4u:
        case DW_OP_const8u:
        case DW_OP_constu:
        case DW_OP_const1s:
        case DW_OP_const2s:
        case DW_OP_const4s:
        case DW_OP_const8s:
        case DW_OP_consts:
            return push_number(operation.number);
        case DW_OP_plus_uconst:
            return push_number(operation.number) && binary(Kind::Add);
        case DW_OP_neg:
        case DW_OP_not: {
            LocationOperation change;
            change.kind = op == DW_OP_neg ? Kind::Negate : Kind::Not;
            if (!unary(change))
                return false;
            narrow(stack_.back().type);
            return true;
        }
        case DW_OP_deref:
            return load(generic_size, {});
        case DW_OP_deref_size:
            return load(operation.number, {});
        case DW_OP_deref_type:
        case DW_OP_GNU_deref_type: {
            const auto type = type_of(operation);
            return type ? load(operation.number, *type) : fail(too_complex);
        }
        case DW_OP_regval_type:
        case DW_OP_GNU_regval_type: {
            const auto type = type_of(operation);
            if (!type)
                return fail(too_complex);
            if (!push_register(operation.number, 0, false))
                return false;
            narrow(*type);
            return true;
        }
        case DW_OP_const_type:
        case DW_OP_GNU_const_type:
            return typed_constant(operation);
        case DW_OP_convert:
        case DW_OP_GNU_convert:
            return convert(operation);
        case DW_OP_dup:
        case DW_OP_drop:
        case DW_OP_over:
        case DW_OP_pick:
        case DW_OP_swap:
        case DW_OP_rot:
            return stack_operation(op, operation.number);
        case DW_OP_implicit_value:
            return implicit_value(operation);
        case DW_OP_entry_value:
        case DW_OP_GNU_entry_value:
            return entry_value(operation);
        case DW_OP_stack_value:
            is_value_ = true;
            return true;
        case DW_OP_implicit_pointer:
        case DW_OP_GNU_implicit_pointer:
            return fail("points to an object that was optimized away");
        case DW_OP_nop:
            return true;
        default:
            return fail(too_complex);
        }
    }

    // Returns the location that the operations until here describe.
    Location finish() {
        if (finished_)
            return *finished_;
        if (stack_.size() != 1)
            return nowhere(too_complex);
        Computed& result = stack_.back();
        const auto& first = result.operations.front();
        const bool is_plain = result.operations.size() == 1;
        // reg + offset
        const bool is_sum = result.operations.size() == 3 && first.kind == Kind::Register &&
                            result.operations[1].kind == Kind::Constant &&
                            result.operations[2].kind == Kind::Add;
        Location location;
        if (first.kind == Kind::Register && (is_plain || is_sum)) {
            location.reg = first.reg;
            location.offset = is_sum ? static_cast<int64_t>(result.operations[1].number) : 0;
            location.kind = result.is_register || (is_value_ && is_plain) ? LocationKind::Register
                            : is_value_                                   ? LocationKind::Value
                                                                          : LocationKind::Memory;
        } else if (is_plain && first.kind == Kind::Constant && is_value_) {
            return constant_location(first.number);
        } else if (is_plain && first.kind != Kind::Register && !is_value_) {
            location.kind = LocationKind::Address;
            location.constant = first.number;
        } else if (result.operations.size() > longest_computation) {
            return nowhere(too_complex);
        } else {
            location.kind = is_value_ ? LocationKind::Computed : LocationKind::ComputedMemory;
            location.operations = std::move(result.operations);
        }
        return location;
    }

    const LocationContext& context_;
    Dwarf_Attribute* attribute_;
    std::vector<Computed> stack_;
    std::vector<LocationPiece> pieces_;
    std::optional<Location> finished_; // needs no stack
    bool is_value_ = false;
    const char* why_ = too_complex;
};

} // namespace

Location location_of_expression(const Dwarf_Op* operations, size_t count,
                                const LocationContext& context, Dwarf_Attribute* attribute) {
    return Translator(context, attribute).translate(operations, count);
}

} // namespace djstap
