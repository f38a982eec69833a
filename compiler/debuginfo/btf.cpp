// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/btf.h"

#include <cstring>

namespace djstap {

namespace {

constexpr uint16_t btf_magic = 0xeb9f;

struct Header {
    uint16_t magic;
    uint8_t version;
    uint8_t flags;
    uint32_t header_size;
    uint32_t types_offset;
    uint32_t types_size;
    uint32_t strings_offset;
    uint32_t strings_size;
};

struct Common {
    uint32_t name;
    uint32_t info;
    uint32_t size_or_type;
};

// Returns the bytes after the common part; nothing for an unknown kind, after which nothing can be
// read.
std::optional<size_t> extra_size(BtfKind kind, size_t count) {
    switch (kind) {
    case BtfKind::Int:
    case BtfKind::Var:
    case BtfKind::DeclTag:
        return 4;
    case BtfKind::Array:
        return 12;
    case BtfKind::Struct:
    case BtfKind::Union:
    case BtfKind::DataSec:
    case BtfKind::Enum64:
        return count * 12;
    case BtfKind::Enum:
    case BtfKind::FuncProto:
        return count * 8;
    case BtfKind::Ptr:
    case BtfKind::Fwd:
    case BtfKind::Typedef:
    case BtfKind::Volatile:
    case BtfKind::Const:
    case BtfKind::Restrict:
    case BtfKind::Func:
    case BtfKind::Float:
    case BtfKind::TypeTag:
        return 0;
    case BtfKind::Void:
        break;
    }
    return std::nullopt;
}

BtfKind kind_of(uint32_t info) {
    return BtfKind((info >> 24) & 0x1f);
}

} // namespace

Result<Btf> Btf::parse_nothing(const Btf* base) {
    Btf btf;
    btf.base_ = base;
    btf.first_own_ = base->size();
    btf.first_string_ = base->first_string_ + base->strings_.size();
    return btf;
}

Result<Btf> Btf::parse(std::string_view bytes, const Btf* base) {
    Failure failure{"the kernel's BTF is damaged", ""};
    Header header;
    if (bytes.size() < sizeof header)
        return failure;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != btf_magic || header.version != 1 || header.header_size > bytes.size())
        return failure;
    bytes.remove_prefix(header.header_size);
    auto part = [&](uint32_t offset, uint32_t size) -> std::optional<std::string_view> {
        if (offset > bytes.size() || size > bytes.size() - offset)
            return std::nullopt;
        return bytes.substr(offset, size);
    };
    auto types = part(header.types_offset, header.types_size);
    auto strings = part(header.strings_offset, header.strings_size);
    if (!types || !strings)
        return failure;
    Btf btf;
    if (base)
        btf = *parse_nothing(base);
    btf.types_ = *types;
    btf.strings_ = *strings;
    if (!base)
        btf.offsets_.push_back(0);
    for (size_t at = 0; at < types->size();) {
        if (types->size() - at < sizeof(Common))
            return failure;
        Common common;
        std::memcpy(&common, types->data() + at, sizeof common);
        auto extra = extra_size(kind_of(common.info), common.info & 0xffff);
        if (!extra || *extra > types->size() - at - sizeof common)
            return failure;
        btf.offsets_.push_back(at);
        at += sizeof common + *extra;
    }
    return btf;
}

BtfType Btf::type(uint32_t id) const {
    BtfType type;
    if (id == 0 || id >= size())
        return type;
    if (id < first_own_)
        return base_->type(id);
    const size_t offset = offsets_[id - first_own_];
    Common common;
    std::memcpy(&common, types_.data() + offset, sizeof common);
    type.name = string(common.name);
    type.kind = kind_of(common.info);
    type.flag = common.info >> 31;
    type.count = common.info & 0xffff;
    type.size_or_type = common.size_or_type;
    type.extra = types_.substr(offset + sizeof common, *extra_size(type.kind, type.count));
    return type;
}

void Btf::index_names() const {
    if (indexed_)
        return;
    indexed_ = true;
    for (uint32_t i = base_ ? 0 : 1; i < offsets_.size(); i++) {
        const uint32_t id = first_own_ + i;
        Common common;
        std::memcpy(&common, types_.data() + offsets_[i], sizeof common);
        BtfKind kind = kind_of(common.info);
        if (kind == BtfKind::Func)
            functions_.emplace(string(common.name), id);
        else if (kind == BtfKind::Const)
            const_of_.emplace(common.size_or_type, id);
        else if (common.name && kind != BtfKind::DeclTag && kind != BtfKind::TypeTag &&
                 kind != BtfKind::Var && kind != BtfKind::DataSec)
            named_.emplace(string(common.name), id);
    }
}

uint32_t Btf::function(std::string_view name) const {
    index_names();
    auto found = functions_.find(name);
    if (found != functions_.end())
        return found->second;
    return base_ ? base_->function(name) : 0;
}

std::vector<std::string_view> Btf::function_names() const {
    index_names();
    std::vector<std::string_view> names;
    names.reserve(functions_.size());
    for (const auto& [name, id] : functions_)
        names.push_back(name);
    return names;
}

uint32_t Btf::function_result(uint32_t function) const {
    return type(type(function).size_or_type).size_or_type;
}

std::vector<BtfParameter> Btf::function_parameters(uint32_t function, bool& varargs) const {
    BtfType prototype = type(type(function).size_or_type);
    std::vector<BtfParameter> parameters;
    varargs = false;
    if (prototype.kind != BtfKind::FuncProto)
        return parameters;
    for (uint32_t i = 0; i < prototype.count; i++) {
        BtfParameter parameter{string(prototype.extra_u32(2 * i)), prototype.extra_u32(2 * i + 1)};
        if (i + 1 == prototype.count && parameter.name.empty() && parameter.type == 0)
            varargs = true;
        else
            parameters.push_back(parameter);
    }
    return parameters;
}

} // namespace djstap
