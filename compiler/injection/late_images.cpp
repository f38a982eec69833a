// SPDX-License-Identifier: GPL-2.0-or-later
// Libraries that the program maps or unmaps while it runs. The thread that does so waits in the
// dynamic loader until djstap has placed the probes: nothing of a new library runs yet, and nothing
// of one that is gone runs any more, so no thread has to be stopped.
#include "injection/injection.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace djstap::injection {

void Injection::Placement::note(const std::vector<MappedCopy>& all) {
    copy_count = all.size();
    for (size_t i = 0; i < std::min(all.size(), most_copies); i++)
        copies[i] = all[i].bias;
}

bool Injection::Placement::knows(uint64_t other) const {
    if (copy_count > most_copies)
        return true;
    const auto end = copies.begin() + static_cast<std::ptrdiff_t>(copy_count);
    return std::find(copies.begin(), end, other) != end;
}

// Finds the copy in which probes may be placed: the threads of the program may execute others.
std::optional<MappedCopy> Injection::new_copy(size_t number, const MemoryMap& map) {
    const std::vector<MappedCopy> all = images_[number].copies(map);
    const Placement known = placements_[number];
    placements_[number].note(all);
    for (const MappedCopy& each : all)
        if (!known.knows(each.bias))
            return each;
    return std::nullopt;
}

// Whether a file is where its probes are to be.
bool Injection::is_at(size_t number, const MemoryMap& map) const {
    const Placement& placement = placements_[number];
    return images_[number].is_mapped_at(placement.bias, placement.file, map);
}

// Whether they are there.
bool Injection::is_in_place(size_t number, const MemoryMap& map) {
    if (!is_at(number, map))
        return false;
    const std::vector<Patch>& patches = stubs_[number].second.patches;
    if (patches.empty())
        return true;
    const auto there = program_.read(patches.front().address, patches.front().bytes.size());
    return there && *there == patches.front().bytes;
}

std::string Injection::complete_image(size_t number, bool is_mapped) {
    const auto& [at, stubs] = stubs_[number];
    const std::string& path = images_[number].path;
    if (!is_mapped || !program_.write(at, stubs.code)) {
        given_up_.push_back(number);
        stubs_[number] = {};
        return "'" + path + "' is not probed: the program cannot map memory for probes";
    }
    publish(number);
    for (const Patch& patch : stubs.patches)
        if (!program_.write(patch.address, patch.bytes))
            return "'" + path + "' is probed in part: its code cannot be written";
    return "";
}

std::vector<std::string> Injection::settle_images(const MemoryMap& map, djs_loader& loader) {
    std::vector<std::string> complaints;
    const auto give_up = [&](size_t number, const std::string& complaint) {
        complaints.push_back(complaint);
        given_up_.push_back(number);
    };
    if (!pending_)
        adopt_placements();
    if (pending_) {
        const size_t number = *std::exchange(pending_, std::nullopt);
        const bool is_mapped = static_cast<uint64_t>(loader.mapped) == stubs_[number].first;
        if (std::string complaint = complete_image(number, is_mapped); !complaint.empty())
            complaints.push_back(std::move(complaint));
    }
    for (size_t i = 0; i < images_.size(); i++) {
        if (i == loader_image_)
            continue;
        if (placements_[i].is_placed && !is_in_place(i, map)) {
            loader.unmap = {stubs_[i].first, room_for_stubs(images_[i])};
            retract(i);
            return complaints;
        }
        const auto copy = new_copy(i, map);
        if (!copy || std::find(given_up_.begin(), given_up_.end(), i) != given_up_.end())
            continue;
        if (placements_[i].is_placed) {
            if (!std::exchange(placements_[i].is_told, true))
                complaints.push_back("another copy of '" + images_[i].path +
                                     "' that the program has loaded is not probed");
            continue;
        }
        images_[i].take(*copy);
        MemoryMap used = map;
        if (auto planned = plan_image(i, map, used); !planned) {
            give_up(i, "'" + images_[i].path + "' is not probed: " + planned.failure().message);
            continue;
        }
        pending_ = i;
        loader.map = {stubs_[i].first, room_for_stubs(images_[i])};
        return complaints;
    }
    return complaints;
}

namespace {

bool change_state(djs_loader& loader, u32 from, u32 to) {
    return __atomic_compare_exchange_n(&loader.state, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

} // namespace

void Injection::end_answer() {
    if (loader_image_)
        change_state(*linked_.loader(), DJS_LOADER_IS_ANSWERED, DJS_LOADER_WAITS);
}

std::vector<std::string> Injection::answer_loader() {
    if (!loader_image_)
        return {};
    djs_loader& loader = *linked_.loader();
    const u32 question = __atomic_load_n(&loader.asked, __ATOMIC_ACQUIRE);
    // A program that waits no longer may execute what it has mapped.
    if (question == loader.answered ||
        !change_state(loader, DJS_LOADER_WAITS, DJS_LOADER_IS_ANSWERED))
        return {};
    loader.map = loader.unmap = {0, 0};
    std::vector<std::string> complaints;
    if (const auto map = MemoryMap::of(program_.pid()))
        complaints = settle_images(*map, loader);
    __atomic_store_n(&loader.answered, question, __ATOMIC_RELEASE);
    change_state(loader, DJS_LOADER_IS_ANSWERED, DJS_LOADER_WAITS);
    syscall(SYS_futex, &loader.answered, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return complaints;
}

void Injection::retract(size_t number) {
    placements_[number].is_placed = false;
    placements_[number].was_retracted = true;
    files_[number].begin = files_[number].end = 0;
    stubs_[number] = {};
}

// The program may have mapped or unmapped files between the analysis and its stop.
Status Injection::follow_changes() {
    const auto map = MemoryMap::of(program_.threads().front());
    if (!map)
        return map.failure();
    for (size_t i = 0; i < images_.size(); i++) {
        if (i == loader_image_)
            continue;
        if (placements_[i].is_placed && !is_at(i, *map)) {
            if (!loader_image_)
                return Failure{"the program has unmapped '" + images_[i].path + "' meanwhile", ""};
            retract(i);
        }
        const std::vector<MappedCopy> copies = images_[i].copies(*map);
        placements_[i].note(copies);
        if (placements_[i].is_placed || copies.empty())
            continue;
        images_[i].take(copies.front());
        MemoryMap used = *map;
        if (auto planned = plan_image(i, *map, used); !planned)
            return planned;
        publish(i);
    }
    return Done{};
}

// Another process may have placed or lost files since this one was forked.
void Injection::adopt_placements() {
    for (size_t i = 0; i < images_.size(); i++) {
        const Placement placed = placements_[i];
        if (!placed.is_placed) {
            stubs_[i] = {};
            continue;
        }
        if (stubs_[i].first == placed.stubs && images_[i].bias == placed.bias)
            continue;
        images_[i].bias = placed.bias;
        images_[i].code = placed.code;
        images_[i].file = placed.file;
        stubs_[i] = {placed.stubs, make_stubs(images_[i], callees(), placed.stubs)};
    }
}

} // namespace djstap::injection
