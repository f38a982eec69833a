// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/stubs.h"

#include "arch/injection.h"

#include <algorithm>

namespace djstap::injection {

namespace {

// Returns the place's instructions as they run at `at`, and what continues behind them.
Result<std::string> moved_code(const SitePlace& place, uint64_t bias, uint64_t at,
                               arch::InstructionDecoder& decoder) {
    std::string code;
    for (const Moved& each : place.moved) {
        const uint64_t from = each.address + bias;
        const arch::Instruction decoded = decoder.decode(each.bytes, from);
        auto moved = arch::moved_instruction(each.bytes, decoded, from, at + code.size());
        if (!moved)
            return moved.failure();
        code += *moved;
        if (each.leaves)
            return code;
    }
    const Moved& last = place.moved.back();
    const std::string back =
        arch::planted_jump(at + code.size(), last.address + bias + last.bytes.size());
    if (back.empty())
        return Failure{"it is too far from the memory that was free", ""};
    return code + back;
}

} // namespace

uint64_t room_for_stubs(const PlacedImage& image) {
    return image.places.size() * arch::stub_room();
}

Stubs make_stubs(PlacedImage& image, const Callees& callees, uint64_t at) {
    Stubs out;
    const auto decoder = arch::InstructionDecoder::create();
    for (SitePlace& place : image.places) {
        if (!place.refusal.empty())
            continue;
        const uint64_t here = at + out.code.size(), address = place.address + image.bias;
        const djs_trampoline& trampoline =
            callees.script->trampolines[callees.script->sites[place.site].trampoline];
        const arch::Stub stub = arch::stub_code(
            {callees.owner, callees.claim, reinterpret_cast<uint64_t>(trampoline.direct)}, here);
        auto moved = moved_code(place, image.bias, here + stub.code.size(), *decoder);
        std::string jump = arch::planted_jump(address, here + stub.entry_at);
        if (!moved || jump.empty()) {
            place.refusal =
                moved ? "it is too far from the memory that was free" : moved.failure().message;
            continue;
        }
        out.code += stub.code + *moved;
        out.patches.push_back({address, std::move(jump)});
        out.places.push_back({here + stub.return_at, place.site});
    }
    return out;
}

} // namespace djstap::injection
