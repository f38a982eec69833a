// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/stubs.h"

#include "arch/injection.h"

#include <algorithm>
#include <optional>
#include <set>

namespace djstap::injection {

namespace {

constexpr const char* too_far = "it is too far from the memory that was free";

// Writes what a place's jump leads to.
class StubWriter {
  public:
    StubWriter(const PlacedImage& image, const Callees& callees, uint64_t at,
               arch::InstructionDecoder& decoder)
        : image_(image), callees_(callees), at_(at), decoder_(decoder) {}

    Status write(const PatchedPlace& place) {
        if (place.site != DJS_NO_INDEX) {
            const struct ::djs_script& script = *callees_.script;
            const djs_trampoline& trampoline =
                script.trampolines[script.sites[place.site].trampoline];
            call({callees_.owner, callees_.claim, reinterpret_cast<uint64_t>(trampoline.direct)});
            return_at = stub_at_ + stub_.return_at;
        }
        if (place.enters != DJS_NO_INDEX)
            call_hit(2 * place.enters);
        return move(place);
    }

    std::string code;
    std::vector<Relocation> relocations;
    std::optional<size_t> entry_at; // the offset to which the place jumps
    size_t return_at = 0;           // that to which the trampoline returns

  private:
    uint64_t here() const { return at_ + code.size(); }
    void call(const arch::StubTargets& targets) {
        stub_ = arch::stub_code(targets, here());
        if (entry_at) { // what precedes falls into it
            code += arch::stub_approach(stub_);
            stub_ = arch::stub_code(targets, here());
        }
        stub_at_ = code.size();
        if (!entry_at)
            entry_at = stub_at_ + stub_.entry_at;
        code += stub_.code;
    }
    void call_hit(uint32_t argument) {
        call({callees_.owner, callees_.claim, callees_.hit, argument});
    }

    // The place's instructions as they run here, and what continues behind them.
    Status move(const PatchedPlace& place) {
        if (!entry_at)
            entry_at = 0;
        for (const Moved& each : place.moved) {
            relocations.push_back({each.address + image_.bias, here()});
            if (each.returns != DJS_NO_INDEX)
                call_hit(2 * each.returns + DJS_AT_RETURN);
            const uint64_t from = each.address + image_.bias;
            const arch::Instruction decoded = decoder_.decode(each.bytes, from);
            auto moved = arch::moved_instruction(each.bytes, decoded, from, here());
            if (!moved)
                return moved.failure();
            code += *moved;
            if (each.leaves)
                return Done{};
        }
        const Moved& last = place.moved.back();
        const std::string back =
            arch::planted_jump(here(), last.address + image_.bias + last.bytes.size());
        if (back.empty())
            return Failure{too_far, ""};
        code += back;
        return Done{};
    }

    const PlacedImage& image_;
    const Callees& callees_;
    uint64_t at_;
    arch::InstructionDecoder& decoder_;
    arch::Stub stub_; // the last one
    size_t stub_at_ = 0;
};

// Of a function whose returns are probed, all places are patched, or none.
void refuse_function(PlacedImage& image, uint32_t number, const std::string& refusal) {
    for (ReturningFunction& function : image.returning)
        if (function.number == number && function.refusal.empty())
            function.refusal = refusal;
}

} // namespace

uint64_t room_for_stubs(const PlacedImage& image) {
    return image.places.size() * arch::stub_room();
}

Stubs make_stubs(PlacedImage& image, const Callees& callees, uint64_t at) {
    const auto decoder = arch::InstructionDecoder::create();
    const uint64_t room = room_for_stubs(image);
    // What is refused at one place of a function concerns the others.
    for (PatchedPlace& place : image.places) {
        // What is possible at both ends of the memory is possible between them.
        for (const uint64_t end : {at, at + room}) {
            if (!place.refusal.empty())
                break;
            StubWriter writer(image, callees, end, *decoder);
            if (const Status written = writer.write(place); !written)
                place.refusal = written.failure().message;
            else if (arch::planted_jump(place.address + image.bias, end).empty())
                place.refusal = too_far;
        }
        if (place.refusal.empty())
            continue;
        for (const Moved& each : place.moved)
            refuse_function(image, each.returns, place.refusal);
        refuse_function(image, place.enters, place.refusal);
    }
    std::set<uint32_t> refused;
    for (const ReturningFunction& function : image.returning)
        if (!function.refusal.empty())
            refused.insert(function.number);
    Stubs out;
    for (PatchedPlace& place : image.places) {
        if (!place.refusal.empty())
            continue;
        if (refused.count(place.enters))
            place.enters = DJS_NO_INDEX;
        bool returns = false;
        for (Moved& each : place.moved) {
            if (refused.count(each.returns))
                each.returns = DJS_NO_INDEX;
            returns |= each.returns != DJS_NO_INDEX;
        }
        if (place.site == DJS_NO_INDEX && place.enters == DJS_NO_INDEX && !returns)
            continue;
        const uint64_t here = at + out.code.size(), address = place.address + image.bias;
        StubWriter writer(image, callees, here, *decoder);
        if (!writer.write(place))
            continue;
        std::string jump = arch::planted_jump(address, here + *writer.entry_at);
        out.code += writer.code;
        out.patches.push_back({address, std::move(jump), {}});
        for (const Relocation& each : writer.relocations)
            if (each.from != address)
                out.relocations.push_back(each);
        if (place.site != DJS_NO_INDEX)
            out.places.push_back({here + writer.return_at, place.site});
    }
    return out;
}

} // namespace djstap::injection
