// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/return_places.h"

#include <algorithm>

namespace djstap::injection {

namespace {

bool leaves(const arch::Instruction& instruction) {
    using arch::Flow;
    return instruction.flow == Flow::Jump || instruction.flow == Flow::IndirectJump ||
           instruction.flow == Flow::Return;
}

} // namespace

std::vector<Moved> moved_by_jump(const regions::Analysis& analysis, const regions::Place& place,
                                 arch::InstructionDecoder& decoder) {
    std::vector<Moved> moved;
    for (uint64_t at = place.address; at < place.address + place.region;) {
        const auto each = analysis.place(at);
        if (!each || each->length == 0)
            return {};
        moved.push_back({at, std::string(analysis.bytes(*each))});
        if (leaves(decoder.decode(moved.back().bytes, at))) {
            moved.back().leaves = true;
            break;
        }
        at += each->length;
    }
    return moved;
}

ReturnPlacer::ReturnPlacer(const struct ::djs_script& script, const regions::Analysis& analysis,
                           arch::InstructionDecoder& decoder, PlacedImage& image)
    : script_(script), analysis_(analysis), decoder_(decoder), image_(image) {
    for (size_t i = 0; i < image.places.size(); i++)
        if (image.places[i].refusal.empty())
            taken_[image.places[i].address] = i;
}

bool ReturnPlacer::is_free(uint64_t address, const Plan& plan) const {
    const uint64_t bytes = arch::planted_jump_bytes();
    const auto overlaps = [&](uint64_t other) {
        return other < address + bytes && address < other + bytes;
    };
    const auto behind = taken_.lower_bound(address);
    if (behind != taken_.end() && overlaps(behind->first))
        return false;
    if (behind != taken_.begin() && overlaps(std::prev(behind)->first))
        return false;
    return std::none_of(plan.places.begin(), plan.places.end(),
                        [&](const PatchedPlace& each) { return overlaps(each.address); });
}

// Handlers that keep something of the entry are called there as well.
std::string ReturnPlacer::plan_entry(const ReturningFunction& function, Plan& plan) {
    const auto entry = analysis_.entry(function.address);
    if (!entry)
        return "no instruction of a function is known there";
    if (const auto known = taken_.find(entry->address); known != taken_.end()) {
        plan.entry = known->second;
        return {};
    }
    const bool keeps =
        std::any_of(function.sites.begin(), function.sites.end(), [&](uint32_t site) {
            return script_.handlers[script_.sites[site].handler].entry != nullptr;
        });
    if (!keeps)
        return {};
    if (!entry->safe())
        return "its entry, of which the handler keeps something, cannot be patched: " +
               std::string(regions::reason_text(entry->reason));
    PatchedPlace place;
    place.address = entry->address;
    place.enters = function.number;
    place.moved = moved_by_jump(analysis_, *entry, decoder_);
    if (place.moved.empty())
        return "what is at its entry is not known";
    plan.places.push_back(std::move(place));
    return {};
}

std::string ReturnPlacer::plan_return(const ReturningFunction& function,
                                      const regions::Exits::Return& exit, Plan& plan) {
    // A short function's entry and its return may be replaced by the same jump.
    const auto moved_return = [&](const PatchedPlace& place) {
        return std::find_if(place.moved.begin(), place.moved.end(), [&](const Moved& each) {
            return each.leaves && each.address == exit.address;
        });
    };
    if (plan.entry) {
        const PatchedPlace& place = image_.places[*plan.entry];
        if (const auto found = moved_return(place); found != place.moved.end()) {
            plan.returns.emplace_back(*plan.entry, found - place.moved.begin());
            return {};
        }
    }
    for (PatchedPlace& place : plan.places)
        if (const auto found = moved_return(place); found != place.moved.end()) {
            place.moved[static_cast<size_t>(found - place.moved.begin())].returns = function.number;
            return {};
        }
    for (const regions::Place& each : exit.places) {
        if (!each.safe())
            return std::string(regions::reason_text(each.reason));
        if (!is_free(each.address, plan))
            continue;
        PatchedPlace place;
        place.address = each.address;
        place.moved = moved_by_jump(analysis_, each, decoder_);
        if (place.moved.empty() || place.moved.back().address != exit.address)
            return "what is at a return is not known";
        place.moved.back().returns = function.number;
        plan.places.push_back(std::move(place));
        return {};
    }
    return "the jumps at its entry and at a return would overlap";
}

std::string ReturnPlacer::plan(const ReturningFunction& function, Plan& plan) {
    const regions::Exits exits = analysis_.exits(function.address);
    if (const std::string_view objection = exits.objection(); !objection.empty())
        return std::string(objection);
    std::string refusal = plan_entry(function, plan);
    for (const regions::Exits::Return& exit : exits.returns)
        if (refusal.empty())
            refusal = plan_return(function, exit, plan);
    return refusal;
}

void ReturnPlacer::accept(const ReturningFunction& function, Plan plan) {
    if (plan.entry)
        image_.places[*plan.entry].enters = function.number;
    for (const auto& [place, instruction] : plan.returns)
        image_.places[place].moved[instruction].returns = function.number;
    for (PatchedPlace& place : plan.places) {
        taken_[place.address] = image_.places.size();
        image_.places.push_back(std::move(place));
    }
}

void ReturnPlacer::place() {
    for (ReturningFunction& function : image_.returning) {
        Plan chosen;
        function.refusal = plan(function, chosen);
        if (function.refusal.empty())
            accept(function, std::move(chosen));
    }
}

} // namespace djstap::injection
