// SPDX-License-Identifier: GPL-2.0-or-later
// Threads that run while something is placed in their program, or withdrawn from it.
#include "injection/injection.h"

#include "injection/process_facts.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unordered_map>

namespace djstap::injection {

namespace {

constexpr int attempts = 200;
// Another djstap stops the program for a moment, until it finds that it is probed.
constexpr auto patience_with_tracers = std::chrono::seconds(5);

void pause_between_attempts() {
    using namespace std::chrono_literals;
    std::this_thread::sleep_for(1ms);
}

} // namespace

// The words from the stack pointer on, up to the end of the mapping, and the same of each stack
// that a signal has interrupted: whatever was interrupted is among them.
std::vector<uint64_t> Injection::stack_of(const arch::StoppedRegisters& registers,
                                          const MemoryMap& map) {
    constexpr size_t most_stacks = 64;
    std::vector<uint64_t> words;
    std::vector<uint64_t> first = {registers.stack_pointer() & ~uint64_t{7}};
    std::vector<Range> known;
    for (size_t next = 0; next < first.size() && known.size() < most_stacks; next++) {
        const Mapping* const mapping = map.at(first[next]);
        const bool is_known = std::any_of(known.begin(), known.end(), [&](const Range& range) {
            return first[next] >= range.begin && first[next] < range.end;
        });
        if (!mapping || is_known)
            continue;
        const Range range{first[next], mapping->range.end};
        known.push_back(range);
        const auto bytes = program_.read(range.begin, range.end - range.begin);
        if (!bytes)
            continue;
        std::vector<uint64_t> stack(bytes->size() / sizeof(uint64_t));
        memcpy(stack.data(), bytes->data(), stack.size() * sizeof(uint64_t));
        for (size_t i = 0; i < stack.size(); i++)
            if (arch::is_interrupted_place(stack, i))
                first.push_back(arch::interrupted_stack_pointer(stack, i) & ~uint64_t{7});
        words.insert(words.end(), stack.begin(), stack.end());
    }
    return words;
}

// A thread that is about to execute an instruction that a jump replaces continues with its copy.
// Returns false if a signal's handler has interrupted one there: it returns to the old place.
Result<bool> Injection::plan_moves() {
    std::unordered_map<uint64_t, uint64_t> copies;
    for (const auto& [at, stubs] : stubs_)
        for (const Relocation& each : stubs.relocations)
            copies[each.from] = each.to;
    const auto map = MemoryMap::of(program_.threads().front());
    if (!map)
        return map.failure();
    moves_.clear();
    for (const pid_t thread : program_.threads()) {
        auto registers = arch::StoppedRegisters::of(thread);
        if (!registers)
            return registers.failure();
        for (const uint64_t word : stack_of(*registers, *map))
            if (copies.count(word))
                return false;
        const uint64_t at = registers->instruction_pointer();
        const uint64_t call =
            registers->repeats_call() ? arch::kernel_call_instruction().size() : 0;
        const auto copy = copies.find(at - call);
        if (copy == copies.end())
            continue;
        moves_.emplace_back(thread, copy->second + call);
    }
    return true;
}

// When the copies are mapped: if this process is killed, the threads go on there.
Status Injection::move_threads() {
    for (const auto& [thread, to] : moves_) {
        auto registers = arch::StoppedRegisters::of(thread);
        if (!registers)
            return registers.failure();
        registers->set_instruction_pointer(to);
        if (auto stored = registers->store(thread); !stored)
            return stored;
    }
    return Done{};
}

Status Injection::stop_where_possible() {
    if (std::string objection = objection_to(program_.pid()); !objection.empty())
        return Failure{std::move(objection),
                       runs_as_this_user(program_.pid())
                           ? "start it with -c, or as root, without --runtime=process, use uprobes"
                           : "run djstap as that user, or as root, without --runtime=process, use "
                             "uprobes"};
    for (int i = 0; i < attempts; i++) {
        if (auto stopped = program_.stop(); !stopped)
            return stopped;
        if (auto followed = follow_changes(); !followed) {
            program_.resume();
            return followed;
        }
        auto moved = plan_moves();
        if (!moved) {
            program_.resume();
            return moved.failure();
        }
        if (*moved)
            return Done{};
        program_.resume();
        pause_between_attempts();
    }
    return Failure{"a signal's handler has interrupted a thread where a probe is to be placed",
                   "try again later"};
}

// Returns whether it is the program in which something was placed.
bool Injection::restore(const MemoryMap& map) {
    const uint64_t base = arena_.whole().begin;
    if (std::none_of(map.all().begin(), map.all().end(), [&](const Mapping& each) {
            return each.range.begin == base && arena_.is_mapped_by(each);
        }))
        return false;
    adopt_placements();
    for (const auto& [at, stubs] : stubs_)
        for (const Patch& patch : stubs.patches) {
            const auto there = program_.read(patch.address, patch.bytes.size());
            if (there && *there == patch.bytes)
                (void)program_.write(patch.address, patch.before);
        }
    return true;
}

bool Injection::is_used_by(pid_t thread, const MemoryMap& map) {
    const auto registers = arch::StoppedRegisters::of(thread);
    if (!registers)
        return true;
    std::vector<Range> ranges;
    for (const Arena::Part& code : linked_.code())
        ranges.push_back({code.begin, code.begin + code.bytes});
    for (size_t i = 0; i < images_.size(); i++)
        if (!stubs_[i].second.code.empty())
            ranges.push_back({stubs_[i].first, stubs_[i].first + room_for_stubs(images_[i])});
    const auto is_inside = [&](uint64_t address) {
        return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
            return address >= range.begin && address < range.end;
        });
    };
    if (is_inside(registers->instruction_pointer()))
        return true;
    // Handlers call nothing outside, but a signal may have interrupted one. Return addresses of
    // stubs stay where functions leave a gap in their frames.
    const std::vector<uint64_t> stack = stack_of(*registers, map);
    for (size_t i = 0; i < stack.size(); i++)
        if (is_inside(stack[i]) && arch::is_interrupted_place(stack, i))
            return true;
    return false;
}

// Whoever was to map it may have been killed before it could close it.
void Injection::close_arena() {
    if (is_confined(program_.pid()))
        return;
    std::error_code error;
    const std::string folder = "/proc/" + std::to_string(program_.pid()) + "/fd";
    for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
        const int descriptor = atoi(each.path().filename().c_str());
        if (arena_.is_open(program_.pid(), descriptor))
            (void)program_.call(SYS_close, {static_cast<uint64_t>(descriptor)});
    }
}

void Injection::unmap() {
    (void)program_.set_slot_base(0);
    const Arena::Part whole = arena_.whole();
    (void)program_.call(SYS_munmap, {whole.begin, whole.bytes});
    for (size_t i = 0; i < images_.size(); i++)
        if (!stubs_[i].second.code.empty())
            (void)program_.call(SYS_munmap, {stubs_[i].first, room_for_stubs(images_[i])});
}

bool Injection::withdraw() {
    const auto latest = std::chrono::steady_clock::now() + patience_with_tracers;
    bool is_restored = false;
    for (int i = 0; i < attempts;) {
        if (!program_.stop()) {
            if (!exists(program_.pid()))
                return true;
            if (std::chrono::steady_clock::now() > latest)
                return is_restored;
            pause_between_attempts();
            continue;
        }
        i++;
        const std::vector<pid_t> threads = program_.threads();
        close_arena();
        const auto map = MemoryMap::of(threads.front()); // the process's first thread may be gone
        if (!map || !restore(*map) || is_confined(program_.pid())) {
            program_.resume();
            return true;
        }
        is_restored = true;
        const bool is_used = std::any_of(threads.begin(), threads.end(),
                                         [&](pid_t thread) { return is_used_by(thread, *map); });
        if (!is_used)
            unmap();
        program_.resume();
        if (!is_used)
            break;
        pause_between_attempts();
    }
    return true;
}

} // namespace djstap::injection
