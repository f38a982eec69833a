// SPDX-License-Identifier: GPL-2.0-or-later
// Threads that run while something is placed in their program.
#include "injection/injection.h"

#include "injection/process_facts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <unordered_map>

namespace djstap::injection {

namespace {

constexpr int attempts_to_place = 200;

} // namespace

// The words from the stack pointer on, up to the end of the mapping or as far as stacks are deep,
// and the same of each stack that a signal has interrupted: whatever was interrupted is among them.
std::vector<uint64_t> Injection::stack_of(TracedProgram& program,
                                          const arch::StoppedRegisters& registers,
                                          const MemoryMap& map) {
    constexpr size_t most_stacks = 64;
    constexpr uint64_t most_bytes = uint64_t{64} << 20; // the kernel joins mappings
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
        const Range range{first[next], std::min(mapping->range.end, first[next] + most_bytes)};
        known.push_back(range);
        const auto bytes = program.read(range.begin, range.end - range.begin);
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
        for (const uint64_t word : stack_of(program_, *registers, *map))
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

// While it runs, it may become another user's, or be confined.
Status Injection::check_allowed() const {
    std::string objection = objection_to(program_.pid());
    if (objection.empty())
        return Done{};
    return Failure{std::move(objection),
                   runs_as_this_user(program_.pid())
                       ? "start it with -c, or as root, without --runtime=process, use uprobes"
                       : "run djstap as that user, or as root, without --runtime=process, use "
                         "uprobes"};
}

Status Injection::stop_where_possible() {
    if (auto allowed = check_allowed(); !allowed)
        return allowed;
    for (int i = 0; i < attempts_to_place; i++) {
        if (auto stopped = program_.stop(); !stopped)
            return stopped;
        if (auto allowed = check_allowed(); !allowed) {
            program_.resume();
            return allowed;
        }
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
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return Failure{"a signal's handler has interrupted a thread where a probe is to be placed",
                   "try again later"};
}

} // namespace djstap::injection
