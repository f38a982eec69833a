// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/access.h"

#include "arch/arch.h"
#include "diagnostics/suggest.h"
#include "image/elf_file.h"

#include <algorithm>

namespace djstap {

namespace {

// The kernel's; a module's per-CPU variables are allocated when it is loaded.
bool is_per_cpu(const Image& image, uint64_t address) {
    const ElfFile* elf = image.kind() == ImageKind::Kernel ? image.elf() : nullptr;
    const ElfSection* section = elf ? elf->section(per_cpu_section) : nullptr;
    return section && address >= section->address && address - section->address < section->size;
}

// Per-CPU variables of a module, and what is freed after its initialization, lie in no segment.
bool has_known_place(const Image& image, uint64_t address) {
    const std::vector<Segment>& segments = image.segments();
    return std::any_of(segments.begin(), segments.end(),
                       [&](const Segment& segment) { return segment.contains(address); });
}

} // namespace

bool AccessBuilder::fail(DiagnosticKind kind, SourceRange range, std::string first,
                         std::string second, std::string hint) {
    error_ = {kind, range, std::move(first), std::move(second), {}, std::move(hint)};
    return false;
}

bool AccessBuilder::start(const Location& location, TypeId type, const std::string& name,
                          const std::string& where, SourceRange range) {
    type_ = type;
    name_ = name;
    where_ = where;
    if (location.kind == LocationKind::Pieces) {
        in_parts_ = true;
        pieces_ = location.pieces;
        return true;
    }
    if (!start_at(location, range))
        return false;
    const CTypeKind kind = info_.resolve(type).kind;
    in_parts_ = !is_address_ &&
                (kind == CTypeKind::Struct || kind == CTypeKind::Union || kind == CTypeKind::Array);
    whole_size_ = info_.resolve(type).size;
    return true;
}

bool AccessBuilder::check_address(uint64_t address, SourceRange range) {
    if (has_known_place(info_.image(), address))
        return true;
    error_ = {DiagnosticKind::TargetNotAvailable,
              range,
              name_,
              where_,
              "its address is not known when the module is loaded",
              {}};
    return false;
}

bool AccessBuilder::start_at(const Location& location, SourceRange range) {
    auto add = [this](int64_t amount) {
        if (amount != 0)
            access_.steps.push_back({AccessStep::Kind::Add, amount});
    };
    switch (location.kind) {
    case LocationKind::None:
    case LocationKind::Pieces: // of pieces
        error_ = {DiagnosticKind::TargetNotAvailable,
                  range,
                  name_,
                  where_,
                  location.why.empty() ? "the compiler optimized it away" : location.why,
                  {}};
        return false;
    case LocationKind::Register:
        access_.base = Access::Base::Register;
        access_.reg = location.reg;
        break;
    case LocationKind::Value:
        access_.base = Access::Base::Register;
        access_.reg = location.reg;
        add(location.offset);
        break;
    case LocationKind::Memory:
        access_.base = Access::Base::Register;
        access_.reg = location.reg;
        add(location.offset);
        is_address_ = true;
        break;
    case LocationKind::Address:
        is_address_ = true;
        access_.constant = location.constant;
        if (is_per_cpu(info_.image(), location.constant)) {
            access_.base = Access::Base::PerCpu;
            break;
        }
        if (!check_address(location.constant, range))
            return false;
        access_.base = Access::Base::ImageAddress;
        access_.image = number_of_ ? number_of_(info_.image()) : no_index;
        break;
    case LocationKind::Constant:
        access_.base = Access::Base::Constant;
        access_.constant = location.constant;
        break;
    case LocationKind::Computed:
    case LocationKind::ComputedMemory:
        access_.base = Access::Base::Computed;
        access_.operations = location.operations;
        is_address_ = location.kind == LocationKind::ComputedMemory;
        for (const LocationOperation& operation : location.operations) {
            if (operation.kind != LocationOperation::Kind::Address)
                continue;
            if (!check_address(operation.number, range))
                return false;
            access_.image = number_of_ ? number_of_(info_.image()) : no_index;
        }
        break;
    }
    return true;
}

bool AccessBuilder::take_part(uint64_t size, SourceRange range) {
    in_parts_ = false;
    uint64_t offset = part_offset_;
    auto unavailable = [&](const std::string& why) {
        error_ = {DiagnosticKind::TargetNotAvailable, range, name_, where_, why, {}};
        return false;
    };
    if (!pieces_.empty()) {
        const auto piece =
            std::find_if(pieces_.begin(), pieces_.end(), [&](const LocationPiece& each) {
                return offset >= each.offset && offset + size <= each.offset + each.size;
            });
        if (piece == pieces_.end())
            return unavailable("this part of it is split over several locations");
        offset -= piece->offset;
        if (piece->location.kind == LocationKind::None)
            return unavailable("this part of it is " + piece->location.why);
        if (!start_at(piece->location, range))
            return false;
        whole_size_ = piece->size;
    }
    if (is_address_) {
        if (offset != 0)
            access_.steps.push_back({AccessStep::Kind::Add, static_cast<int64_t>(offset)});
        return true;
    }
    if (offset + size > sizeof(uint64_t))
        return unavailable("only its first 8 bytes are known");
    if (offset != 0 || size < whole_size_) {
        AccessStep part;
        part.kind = AccessStep::Kind::BitField;
        part.bit_offset = static_cast<uint8_t>(offset * 8);
        part.bit_size = static_cast<uint8_t>(size * 8);
        access_.steps.push_back(part);
    }
    return true;
}

void AccessBuilder::start_value(Access::Base base, TypeId type,
                                const program::Expression* operand) {
    access_.base = base;
    access_.operand = operand;
    type_ = type;
    const CTypeKind kind = info_.resolve(type).kind;
    if (base == Access::Base::ReturnValue &&
        (kind == CTypeKind::Struct || kind == CTypeKind::Union)) {
        whole_size_ = info_.resolve(type).size;
        is_address_ = arch::is_returned_in_memory({.size = whole_size_, .aggregate = true});
        in_parts_ = !is_address_;
    }
    name_ = "$return";
    where_ = "this function";
}

void AccessBuilder::start_pointer_to(TypeId type, const program::Expression* operand,
                                     bool of_first) {
    of_first_ = of_first;
    start_value(Access::Base::Operand, type, operand);
    is_address_ = true;
}

bool AccessBuilder::load_pointer(SourceRange range) {
    if (in_parts_ && !take_part(sizeof(uint64_t), range))
        return false;
    if (is_address_)
        access_.steps.push_back({AccessStep::Kind::Load, 0, nullptr, 8});
    is_address_ = true; // it is that of its pointee
    return true;
}

std::vector<std::string> AccessBuilder::member_names() const {
    std::vector<std::string> names;
    // members of anonymous members belong to the outer one
    for (const CMember& member : info_.members(type_))
        if (!member.name.empty())
            names.push_back(member.name);
    return names;
}

std::string AccessBuilder::members_hint() const {
    const std::vector<std::string> names = member_names();
    std::string hint;
    for (size_t i = 0; i < names.size() && i < 12; i++)
        hint += (i ? ", " : "its members are ") + names[i];
    return hint + (names.size() > 12 ? " …" : "");
}

bool AccessBuilder::member(const std::string& name, SourceRange range) {
    CType type = info_.resolve(type_);
    if (type.kind == CTypeKind::Pointer) {
        if (!load_pointer(range))
            return false;
        type_ = type.base_type;
        type = info_.resolve(type_);
    }
    if ((type.kind != CTypeKind::Struct && type.kind != CTypeKind::Union) ||
        (!is_address_ && !in_parts_))
        return fail(DiagnosticKind::NotAStructure, range, "->" + name,
                    "'" + info_.type_name(type_) + "'");
    auto found = info_.member(type_, name);
    if (!found) {
        const std::vector<std::string> names = member_names();
        std::string hint = did_you_mean(name, names);
        if (hint.empty())
            hint = members_hint();
        return fail(DiagnosticKind::UnknownMember, range, "'" + info_.type_name(type_) + "'", name,
                    hint);
    }
    return member(*found);
}

bool AccessBuilder::member(const CMember& member) {
    if (!is_address_ && !in_parts_)
        return false;
    if (in_parts_)
        part_offset_ += member.offset;
    else if (member.offset != 0)
        access_.steps.push_back({AccessStep::Kind::Add, static_cast<int64_t>(member.offset)});
    type_ = member.type;
    bit_offset_ = member.bit_offset;
    bit_size_ = member.bit_size;
    return true;
}

bool AccessBuilder::index(const program::Expression* expression, SourceRange range) {
    CType type = info_.resolve(type_);
    if (!of_first_) {
        if (type.kind == CTypeKind::Pointer) {
            if (!load_pointer(range))
                return false;
        } else if (type.kind != CTypeKind::Array || (!is_address_ && !in_parts_))
            return fail(DiagnosticKind::NotIndexable, range, "'" + info_.type_name(type_) + "'");
        type_ = type.base_type;
    }
    of_first_ = false;
    auto size = static_cast<int64_t>(std::max<uint64_t>(1, info_.resolve(type_).size));
    if (expression->kind == program::ExpressionKind::Number) {
        int64_t amount = program::as<program::Number>(*expression).value * size;
        if (in_parts_)
            part_offset_ += static_cast<uint64_t>(amount);
        else if (amount != 0)
            access_.steps.push_back({AccessStep::Kind::Add, amount});
    } else if (in_parts_) {
        error_ = {DiagnosticKind::TargetNotAvailable,
                  range,
                  name_,
                  where_,
                  "it is not in memory, so its elements need constant indexes",
                  {}};
        return false;
    } else {
        access_.steps.push_back({AccessStep::Kind::AddIndex, size, expression});
    }
    return true;
}

bool AccessBuilder::finish(bool address_of, SourceRange range) {
    access_.type = type_;
    CType type = info_.resolve(type_);
    bool aggregate = type.kind == CTypeKind::Struct || type.kind == CTypeKind::Union ||
                     type.kind == CTypeKind::Array || type.kind == CTypeKind::Function;
    if (address_of || (aggregate && is_address_)) {
        if (!is_address_ || bit_size_ > 0)
            return fail(DiagnosticKind::AggregateValue, range,
                        "the address of a value in a register");
        return true;
    }
    // What a function returns in a register of the FPU is not there, and of other sizes than these
    // (_Float16, long double) no function knows what the bits mean.
    const bool is_float = type.kind == CTypeKind::Float;
    const bool is_known = type.size == sizeof(float) || type.size == sizeof(double);
    if (aggregate ||
        (is_float && (!is_known || (access_.base == Access::Base::ReturnValue && !is_address_))))
        return fail(DiagnosticKind::AggregateValue, range, "a '" + info_.type_name(type_) + "'");
    uint64_t bytes = type.size == 0 ? 8 : type.size;
    if (bit_size_ > 0)
        bytes = (bit_offset_ + bit_size_ + 7) / 8;
    uint8_t size = bytes <= 1 ? 1 : bytes <= 2 ? 2 : bytes <= 4 ? 4 : 8;
    if (bytes > 8)
        return fail(DiagnosticKind::AggregateValue, range, "a '" + info_.type_name(type_) + "'");
    if (in_parts_ && !take_part(bytes, range))
        return false;
    AccessStep step;
    step.kind = is_address_ ? AccessStep::Kind::Load : AccessStep::Kind::Extend;
    step.size = size;
    step.is_signed = type.is_signed && bit_size_ == 0;
    if (is_address_ || size < 8)
        access_.steps.push_back(step);
    if (bit_size_ > 0) {
        AccessStep bits;
        bits.kind = AccessStep::Kind::BitField;
        bits.bit_offset = static_cast<uint8_t>(bit_offset_);
        bits.bit_size = static_cast<uint8_t>(bit_size_);
        bits.is_signed = type.is_signed;
        access_.steps.push_back(bits);
    }
    if (is_float && size == sizeof(float))
        access_.steps.push_back({AccessStep::Kind::Widen});
    return true;
}

std::string fingerprint(const Access& access) {
    std::string out = std::to_string(static_cast<int>(access.base)) + "," +
                      std::to_string(static_cast<int>(access.reg)) + "," +
                      std::to_string(access.constant) + "," + std::to_string(access.image) + "," +
                      std::to_string(static_cast<int>(access.space)) + "," +
                      std::to_string(reinterpret_cast<uintptr_t>(access.operand));
    for (const LocationOperation& operation : access.operations)
        out += ":" + std::to_string(static_cast<int>(operation.kind)) + "," +
               std::to_string(static_cast<int>(operation.reg)) + "," +
               std::to_string(operation.size) + "," + std::to_string(operation.is_signed) + "," +
               std::to_string(operation.number);
    for (const AccessStep& step : access.steps)
        out += ";" + std::to_string(static_cast<int>(step.kind)) + "," +
               std::to_string(step.amount) + "," +
               std::to_string(reinterpret_cast<uintptr_t>(step.index)) + "," +
               std::to_string(step.size) + "," + std::to_string(step.is_signed) + "," +
               std::to_string(step.bit_offset) + "," + std::to_string(step.bit_size);
    return out;
}

std::string fingerprint(const TargetAccess& access) {
    if (!access.is_text)
        return fingerprint(access.value);
    std::string out = "text";
    for (const program::FormatPiece& piece : access.format)
        out += "|" + piece.literal + piece.conversion + (piece.alternate ? "#" : "") +
               std::to_string(piece.precision);
    for (const Access& part : access.parts)
        out += "&" + fingerprint(part);
    return out;
}

std::string fingerprint(const Callers& callers) {
    std::string text;
    auto add = [&](char mark, auto number) { text += mark + std::to_string(number); };
    if (callers.frames.empty())
        return text;
    add('/', static_cast<unsigned>(callers.reg));
    add('+', callers.offset);
    if (callers.frame_pointer)
        add('f', *callers.frame_pointer);
    add('@', callers.image);
    for (const CallerFrame& frame : callers.frames) {
        for (const CodeRange& range : frame.code) {
            add('[', range.begin);
            add('-', range.end);
        }
        for (const CallerFrame::Call& call : frame.calls) {
            add('<', call.return_address);
            add(call.by_frame_pointer ? 'p' : '+', call.next);
            if (call.frame_pointer)
                add('f', *call.frame_pointer);
        }
    }
    return text;
}

} // namespace djstap
