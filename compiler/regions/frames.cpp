// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/frames.h"

#include "arch/arch.h"
#include "system/byte_reader.h"

#include <algorithm>
#include <unordered_map>

#include <dwarf.h>

namespace djstap::regions {

namespace {

constexpr uint8_t omitted = DW_EH_PE_omit;

// Reads a pointer whose bytes begin at `address` + the reader's position.
uint64_t read_pointer(ByteReader& reader, uint8_t encoding, uint64_t address,
                      uint64_t function = 0) {
    const uint64_t here = address + reader.position();
    uint64_t value = 0;
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = reader.fixed<uint64_t>();
        break;
    case DW_EH_PE_uleb128:
        value = reader.uleb();
        break;
    case DW_EH_PE_sleb128:
        value = static_cast<uint64_t>(reader.sleb());
        break;
    case DW_EH_PE_udata2:
        value = reader.fixed<uint16_t>();
        break;
    case DW_EH_PE_sdata2:
        value = static_cast<uint64_t>(int64_t{reader.fixed<int16_t>()});
        break;
    case DW_EH_PE_udata4:
        value = reader.fixed<uint32_t>();
        break;
    case DW_EH_PE_sdata4:
        value = static_cast<uint64_t>(int64_t{reader.fixed<int32_t>()});
        break;
    default:
        (void)reader.bytes(UINT64_MAX); // unknown: fails
    }
    if (value == 0)
        return 0;
    if ((encoding & 0x70) == DW_EH_PE_pcrel)
        value += here;
    else if ((encoding & 0x70) == DW_EH_PE_funcrel)
        value += function;
    return value;
}

// Reads what follows a CIE's identifier.
FrameCommon read_common(std::string_view body, bool eh) {
    FrameCommon common;
    ByteReader reader(body);
    const auto version = reader.fixed<uint8_t>();
    const std::string_view augmentation = reader.string();
    if (!eh && version >= 4 && reader.fixed<uint8_t>() != 8)
        return common;
    if (!eh && version >= 4)
        (void)reader.fixed<uint8_t>(); // segment selectors
    common.code_alignment = reader.uleb();
    common.data_alignment = reader.sleb();
    if (version == 1)
        (void)reader.fixed<uint8_t>();
    else
        (void)reader.uleb();
    if (augmentation.starts_with('z')) {
        common.augmented = true;
        const uint64_t size = reader.uleb();
        ByteReader data(reader.bytes(size));
        for (char each : augmentation.substr(1)) {
            if (each == 'R')
                common.address_encoding = data.fixed<uint8_t>();
            else if (each == 'L')
                common.handlers_encoding = data.fixed<uint8_t>();
            else if (each == 'P')
                (void)read_pointer(data, data.fixed<uint8_t>(), 0);
            else if (each != 'S' && each != 'B')
                return common;
        }
        if (data.failed())
            return common;
    } else if (!augmentation.empty()) {
        return common;
    }
    common.program = body.substr(reader.position());
    common.understood = !reader.failed();
    return common;
}

// The rule for the frame of the caller: register + offset.
struct Rule {
    uint64_t reg = 0;
    int64_t offset = 0;
    bool known = false;

    bool operator==(const Rule&) const = default;
};

// Executes call frame instructions as far as they concern the caller's frame.
class RuleMachine {
  public:
    explicit RuleMachine(const FrameCommon& common) : common_(common) {}

    Rule rule;

    // Executes until the location passes `until`. Returns false if an instruction is unknown.
    bool run(std::string_view program, uint64_t location, uint64_t until, const Rule& initial);

  private:
    bool step(ByteReader& reader, uint8_t code);
    uint64_t advance(ByteReader& reader, uint8_t code);

    const FrameCommon& common_;
    std::vector<Rule> remembered_;
};

uint64_t RuleMachine::advance(ByteReader& reader, uint8_t code) {
    switch (code) {
    case DW_CFA_advance_loc1:
        return reader.fixed<uint8_t>();
    case DW_CFA_advance_loc2:
        return reader.fixed<uint16_t>();
    case DW_CFA_advance_loc4:
        return reader.fixed<uint32_t>();
    default:
        return code & 0x3f;
    }
}

bool RuleMachine::step(ByteReader& reader, uint8_t code) {
    switch (code) {
    case DW_CFA_nop:
        return true;
    case DW_CFA_def_cfa:
        rule = {reader.uleb(), 0, true};
        rule.offset = static_cast<int64_t>(reader.uleb());
        return true;
    case DW_CFA_def_cfa_sf:
        rule = {reader.uleb(), 0, true};
        rule.offset = reader.sleb() * common_.data_alignment;
        return true;
    case DW_CFA_def_cfa_register:
        rule.reg = reader.uleb();
        return true;
    case DW_CFA_def_cfa_offset:
        rule.offset = static_cast<int64_t>(reader.uleb());
        return true;
    case DW_CFA_def_cfa_offset_sf:
        rule.offset = reader.sleb() * common_.data_alignment;
        return true;
    case DW_CFA_def_cfa_expression:
        rule = {};
        (void)reader.bytes(reader.uleb());
        return true;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        (void)reader.uleb();
        (void)reader.bytes(reader.uleb());
        return true;
    case DW_CFA_offset_extended:
    case DW_CFA_register:
    case DW_CFA_val_offset:
        (void)reader.uleb();
        (void)reader.uleb();
        return true;
    case DW_CFA_offset_extended_sf:
    case DW_CFA_val_offset_sf:
        (void)reader.uleb();
        (void)reader.sleb();
        return true;
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_GNU_args_size:
        (void)reader.uleb();
        return true;
    case DW_CFA_remember_state:
        remembered_.push_back(rule);
        return true;
    case DW_CFA_restore_state:
        if (remembered_.empty())
            return false;
        rule = remembered_.back();
        remembered_.pop_back();
        return true;
    default:
        return false;
    }
}

bool RuleMachine::run(std::string_view program, uint64_t location, uint64_t until,
                      const Rule& initial) {
    rule = initial;
    ByteReader reader(program);
    while (!reader.at_end()) {
        const auto code = reader.fixed<uint8_t>();
        const uint8_t high = code & 0xc0;
        if (high == DW_CFA_advance_loc || code == DW_CFA_advance_loc1 ||
            code == DW_CFA_advance_loc2 || code == DW_CFA_advance_loc4) {
            location += advance(reader, code) * common_.code_alignment;
            if (location > until)
                return true;
        } else if (high == DW_CFA_offset) {
            (void)reader.uleb();
        } else if (high != DW_CFA_restore && !step(reader, code)) {
            return false;
        }
    }
    return !reader.failed();
}

// Adds the addresses where exceptions continue, from a function's table of call sites.
void read_handlers(std::string_view bytes, uint64_t address, uint64_t function,
                   std::vector<uint64_t>& out) {
    ByteReader reader(bytes);
    const auto start_encoding = reader.fixed<uint8_t>();
    uint64_t start = function;
    if (start_encoding != omitted)
        start = read_pointer(reader, start_encoding, address, function);
    if (reader.fixed<uint8_t>() != omitted)
        (void)reader.uleb(); // the types
    const auto encoding = reader.fixed<uint8_t>();
    const uint64_t size = reader.uleb();
    ByteReader sites(reader.bytes(size));
    while (!sites.at_end()) {
        (void)read_pointer(sites, encoding, 0);
        (void)read_pointer(sites, encoding, 0);
        const uint64_t handler = read_pointer(sites, encoding, 0);
        (void)sites.uleb();
        if (handler && !sites.failed())
            out.push_back(start + handler);
    }
}

} // namespace

Frames Frames::of(const ElfFile& file) {
    Frames frames;
    const ElfSection* section = file.section(".eh_frame");
    const bool eh = section && !section->bytes.empty();
    if (!eh)
        section = file.section(".debug_frame");
    // A compressed section is not read: the file then has no information about its frames.
    if (!section || (section->flags & SHF_COMPRESSED))
        return frames;
    frames.read(section->bytes, section->address, eh);
    std::stable_sort(frames.frames_.begin(), frames.frames_.end(),
                     [](const Frame& a, const Frame& b) { return a.address < b.address; });
    return frames;
}

void Frames::read(std::string_view bytes, uint64_t address, bool eh) {
    std::unordered_map<uint64_t, uint32_t> common_at;
    ByteReader reader(bytes);
    auto common_of = [&](uint64_t at) {
        auto [known, added] = common_at.try_emplace(at, static_cast<uint32_t>(common_.size()));
        if (!added)
            return known->second;
        FrameCommon common;
        if (at < bytes.size()) {
            ByteReader head(bytes.substr(at));
            const auto size = head.fixed<uint32_t>();
            const auto id = head.fixed<uint32_t>();
            if (size > 4 && size != UINT32_MAX && id == (eh ? 0 : UINT32_MAX) && !head.failed()) {
                common = read_common(head.bytes(size - 4), eh);
            }
        }
        common_.push_back(common);
        return known->second;
    };
    while (!reader.at_end()) {
        const auto size = reader.fixed<uint32_t>(); // 0 ends the part of one object
        if (size == UINT32_MAX || reader.failed())
            return; // the 64-bit format
        const uint64_t start = reader.position();
        ByteReader body(reader.bytes(size));
        const auto id = body.fixed<uint32_t>();
        if (reader.failed() || body.failed() || id == (eh ? 0 : UINT32_MAX))
            continue;
        const uint32_t index = common_of(eh ? start - id : id);
        const FrameCommon common = common_[index];
        if (!common.understood)
            continue;
        Frame frame;
        frame.common = index;
        frame.address = read_pointer(body, common.address_encoding, address + start);
        frame.size = read_pointer(body, common.address_encoding & 0x0f, 0);
        if (common.augmented) {
            const uint64_t length = body.uleb();
            const uint64_t data_at = address + start + body.position();
            ByteReader data(body.bytes(length));
            if (common.handlers_encoding != omitted)
                frame.handlers = read_pointer(data, common.handlers_encoding, data_at);
        }
        if (body.failed())
            continue;
        frame.program = bytes.substr(start + body.position(), size - body.position());
        frames_.push_back(frame);
    }
}

bool Frames::stack_is_empty(uint64_t address) const {
    return stack_at(address) == Stack::Empty;
}

Frames::Stack Frames::stack_at(uint64_t address) const {
    auto after =
        std::upper_bound(frames_.begin(), frames_.end(), address,
                         [](uint64_t value, const Frame& each) { return value < each.address; });
    if (after == frames_.begin())
        return Stack::Unknown;
    const Frame& frame = *(after - 1);
    if (address - frame.address >= frame.size)
        return Stack::Unknown;
    const FrameCommon& common = common_[frame.common];
    RuleMachine machine(common);
    if (!machine.run(common.program, 0, UINT64_MAX, {}) ||
        !machine.run(frame.program, frame.address, address, Rule(machine.rule)) ||
        !machine.rule.known)
        return Stack::Unknown;
    const auto reg = arch::register_of_dwarf(machine.rule.reg);
    return reg && *reg == arch::stack_pointer() &&
                   machine.rule.offset == static_cast<int64_t>(arch::return_address_bytes())
               ? Stack::Empty
               : Stack::Used;
}

std::vector<uint64_t> Frames::handlers(const ElfFile& file) const {
    std::vector<uint64_t> found;
    for (const Frame& frame : frames_)
        if (frame.handlers)
            read_handlers(file.bytes_from(frame.handlers), frame.handlers, frame.address, found);
    return found;
}

} // namespace djstap::regions
