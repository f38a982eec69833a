// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/access.h"

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
    auto add = [this](int64_t amount) {
        if (amount != 0)
            access_.steps.push_back({AccessStep::Kind::Add, amount});
    };
    switch (location.kind) {
    case LocationKind::None:
        error_ = {DiagnosticKind::TargetNotAvailable,
                  range,
                  name,
                  where,
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
        if (is_per_cpu(info_.image(), location.constant)) {
            access_.base = Access::Base::PerCpu;
            access_.constant = location.constant;
            is_address_ = true;
            break;
        }
        if (!has_known_place(info_.image(), location.constant)) {
            error_ = {DiagnosticKind::TargetNotAvailable,
                      range,
                      name,
                      where,
                      "its address is not known when the module is loaded",
                      {}};
            return false;
        }
        access_.base = Access::Base::ImageAddress;
        access_.image = number_of_ ? number_of_(info_.image()) : no_index;
        access_.constant = location.constant;
        is_address_ = true;
        break;
    case LocationKind::Constant:
        access_.base = Access::Base::Constant;
        access_.constant = location.constant;
        break;
    }
    return true;
}

void AccessBuilder::start_value(Access::Base base, TypeId type,
                                const program::Expression* operand) {
    access_.base = base;
    access_.operand = operand;
    type_ = type;
}

void AccessBuilder::start_pointer_to(TypeId type, const program::Expression* operand,
                                     bool of_first) {
    of_first_ = of_first;
    start_value(Access::Base::Operand, type, operand);
    is_address_ = true;
}

void AccessBuilder::load_pointer() {
    if (is_address_)
        access_.steps.push_back({AccessStep::Kind::Load, 0, nullptr, 8});
    is_address_ = true; // it is that of its pointee
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
        load_pointer();
        type_ = type.base_type;
        type = info_.resolve(type_);
    }
    if ((type.kind != CTypeKind::Struct && type.kind != CTypeKind::Union) || !is_address_)
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
    if (!is_address_)
        return false;
    if (member.offset != 0)
        access_.steps.push_back({AccessStep::Kind::Add, static_cast<int64_t>(member.offset)});
    type_ = member.type;
    bit_offset_ = member.bit_offset;
    bit_size_ = member.bit_size;
    return true;
}

bool AccessBuilder::index(const program::Expression* expression, SourceRange range) {
    CType type = info_.resolve(type_);
    if (!of_first_) {
        if (type.kind == CTypeKind::Pointer)
            load_pointer();
        else if (type.kind != CTypeKind::Array || !is_address_)
            return fail(DiagnosticKind::NotIndexable, range, "'" + info_.type_name(type_) + "'");
        type_ = type.base_type;
    }
    of_first_ = false;
    auto size = static_cast<int64_t>(std::max<uint64_t>(1, info_.resolve(type_).size));
    if (expression->kind == program::ExpressionKind::Number) {
        int64_t amount = program::as<program::Number>(*expression).value * size;
        if (amount != 0)
            access_.steps.push_back({AccessStep::Kind::Add, amount});
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
    if (aggregate || type.kind == CTypeKind::Float)
        return fail(DiagnosticKind::AggregateValue, range, "a '" + info_.type_name(type_) + "'");
    uint64_t bytes = type.size == 0 ? 8 : type.size;
    if (bit_size_ > 0)
        bytes = (bit_offset_ + bit_size_ + 7) / 8;
    uint8_t size = bytes <= 1 ? 1 : bytes <= 2 ? 2 : bytes <= 4 ? 4 : 8;
    if (bytes > 8)
        return fail(DiagnosticKind::AggregateValue, range, "a '" + info_.type_name(type_) + "'");
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
    return true;
}

std::string fingerprint(const Access& access) {
    std::string out = std::to_string(static_cast<int>(access.base)) + "," +
                      std::to_string(static_cast<int>(access.reg)) + "," +
                      std::to_string(access.constant) + "," + std::to_string(access.image) + "," +
                      std::to_string(static_cast<int>(access.space)) + "," +
                      std::to_string(reinterpret_cast<uintptr_t>(access.operand));
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
        out += "|" + piece.literal + piece.conversion;
    for (const Access& part : access.parts)
        out += "&" + fingerprint(part);
    return out;
}

} // namespace djstap
