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
        if (place.is_of_loader)
            call_hit(DJS_AT_LOADER);
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

namespace {

// What is refused at one place of a function concerns the others.
void refuse(PlacedImage& image, PatchedPlace& place, const std::string& refusal) {
    place.refusal = refusal;
    for (const Moved& each : place.moved)
        refuse_function(image, each.returns, refusal);
    refuse_function(image, place.enters, refusal);
}

// Takes refused functions out of the place. Returns whether anything is to be called there.
bool keep_accepted(PatchedPlace& place, const std::set<uint32_t>& refused) {
    if (refused.count(place.enters))
        place.enters = DJS_NO_INDEX;
    bool returns = false;
    for (Moved& each : place.moved) {
        if (refused.count(each.returns))
            each.returns = DJS_NO_INDEX;
        returns |= each.returns != DJS_NO_INDEX;
    }
    return place.is_of_loader || place.site != DJS_NO_INDEX || place.enters != DJS_NO_INDEX ||
           returns;
}

// Returns nothing if something had to be refused, of which stubs may have been written.
std::optional<Stubs> write_stubs(PlacedImage& image, const Callees& callees, uint64_t at,
                                 arch::InstructionDecoder& decoder) {
    std::set<uint32_t> refused;
    for (const ReturningFunction& function : image.returning)
        if (!function.refusal.empty())
            refused.insert(function.number);
    Stubs out;
    bool complete = true;
    for (PatchedPlace& place : image.places) {
        if (!place.refusal.empty() || !keep_accepted(place, refused))
            continue;
        const uint64_t here = at + out.code.size(), address = place.address + image.bias;
        StubWriter writer(image, callees, here, decoder);
        const Status written = writer.write(place);
        std::string jump =
            written ? arch::planted_jump(address, here + *writer.entry_at) : std::string();
        if (jump.empty()) {
            refuse(image, place, written ? too_far : written.failure().message);
            complete = false;
            continue;
        }
        out.code += writer.code;
        out.patches.push_back({address, std::move(jump), place.original});
        for (const Relocation& each : writer.relocations)
            if (each.from != address)
                out.relocations.push_back(each);
        if (place.site != DJS_NO_INDEX)
            out.places.push_back({here + writer.return_at, place.site});
    }
    if (!complete)
        return std::nullopt;
    return out;
}

} // namespace

Stubs make_stubs(PlacedImage& image, const Callees& callees, uint64_t at) {
    const auto decoder = arch::InstructionDecoder::create();
    for (PatchedPlace& place : image.places)
        if (!place.refusal.empty())
            refuse(image, place, std::string(place.refusal));
    for (;;) // as often as places are refused, which is rare
        if (auto stubs = write_stubs(image, callees, at, *decoder))
            return std::move(*stubs);
}

} // namespace djstap::injection
