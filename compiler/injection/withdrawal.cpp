// SPDX-License-Identifier: GPL-2.0-or-later
// How a program, and the processes that it has created, get back what they were before.
#include "injection/injection.h"

#include "injection/process_facts.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

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

Injection::Restored Injection::restore(TracedProgram& program, const MemoryMap& map) {
    const uint64_t base = arena_.whole().begin;
    if (std::none_of(map.all().begin(), map.all().end(), [&](const Mapping& each) {
            return each.range.begin == base && arena_.is_mapped_by(each);
        }))
        return Restored::Nothing;
    adopt_placements();
    Restored restored = Restored::All;
    for (const auto& [at, stubs] : stubs_)
        for (const Patch& patch : stubs.patches) {
            const auto there = program.read(patch.address, patch.bytes.size());
            if (there && *there == patch.bytes)
                (void)program.write(patch.address, patch.before);
            else if (there && *there != patch.before)
                restored = Restored::AllButOthers;
        }
    return restored;
}

bool Injection::is_used_by(TracedProgram& program, pid_t thread, const MemoryMap& map) {
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
    const std::vector<uint64_t> stack = stack_of(program, *registers, map);
    for (size_t i = 0; i < stack.size(); i++)
        if (is_inside(stack[i]) && arch::is_interrupted_place(stack, i))
            return true;
    return false;
}

// Whoever was to map it may have been killed before it could close it.
void Injection::close_arena(TracedProgram& program) {
    if (is_confined(program.pid()))
        return;
    std::error_code error;
    const std::string folder = "/proc/" + std::to_string(program.pid()) + "/fd";
    for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
        const int descriptor = atoi(each.path().filename().c_str());
        if (arena_.is_open(program.pid(), descriptor))
            (void)program.call(SYS_close, {static_cast<uint64_t>(descriptor)});
    }
}

// A child has not mapped what its parent has mapped later, but maybe something else there; it may
// have kept what its parent has unmapped.
void Injection::unmap(TracedProgram& program) {
    const bool is_child = program.pid() != program_.pid();
    if (is_child && std::any_of(placements_, placements_ + images_.size(),
                                [](const Placement& each) { return each.was_retracted; }))
        return;
    const auto is_there = [&](uint64_t at, const std::string& code) {
        const auto there = program.read(at, code.size());
        return there && *there == code;
    };
    std::vector<Range> stubs;
    for (size_t i = 0; i < images_.size(); i++) {
        const auto& [at, each] = stubs_[i];
        if (!each.code.empty() && (!is_child || is_there(at, each.code)))
            stubs.push_back({at, at + room_for_stubs(images_[i])});
    }
    (void)program.set_slot_base(0);
    const Arena::Part whole = arena_.whole();
    (void)program.call(SYS_munmap, {whole.begin, whole.bytes});
    for (const Range& each : stubs)
        (void)program.call(SYS_munmap, {each.begin, each.end - each.begin});
}

bool Injection::withdraw_from(TracedProgram& program,
                              std::chrono::steady_clock::time_point latest) {
    bool is_restored = false;
    for (int i = 0; i < attempts;) {
        if (!program.stop()) {
            if (!exists(program.pid()))
                return true;
            if (std::chrono::steady_clock::now() > latest)
                return is_restored;
            pause_between_attempts();
            continue;
        }
        i++;
        const std::vector<pid_t> threads = program.threads();
        close_arena(program);
        const auto map = MemoryMap::of(threads.front()); // the process's first thread may be gone
        const Restored restored = map ? restore(program, *map) : Restored::Nothing;
        if (restored == Restored::Nothing || is_confined(program.pid())) {
            program.resume();
            return true;
        }
        is_restored = true;
        const bool is_used = std::any_of(threads.begin(), threads.end(), [&](pid_t thread) {
            return is_used_by(program, thread, *map);
        });
        if (!is_used && restored == Restored::All)
            unmap(program);
        program.resume();
        if (!is_used)
            break;
        pause_between_attempts();
    }
    return true;
}

bool Injection::withdraw() {
    return withdraw_from(program_, std::chrono::steady_clock::now() + patience_with_tracers);
}

// Processes that still execute the program's file, as those do that the program has created.
std::vector<pid_t> Injection::heirs() const {
    std::vector<pid_t> found;
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator("/proc", error)) {
        const pid_t process = atoi(each.path().filename().c_str());
        if (process <= 0 || process == program_.pid() || !program_.executes_same(process))
            continue;
        // What shares its parent's memory is stopped with that.
        if (share_memory(process, program_.pid()) || share_memory(process, parent_of(process)))
            continue;
        const auto map = MemoryMap::of(process);
        if (map && std::any_of(map->all().begin(), map->all().end(), [&](const Mapping& mapping) {
                return arena_.is_mapped_by(mapping);
            }))
            found.push_back(process);
    }
    return found;
}

// They create others meanwhile, and one that is free may keep the memory. Hundreds may be out of
// reach: djstap has no patience with each, but with all together.
std::vector<pid_t> Injection::withdraw_from_heirs() {
    constexpr int rounds = 20;
    const auto latest = std::chrono::steady_clock::now() + patience_with_tracers;
    std::set<pid_t> known;
    std::vector<pid_t> kept;
    bool any = true;
    for (int i = 0; i < rounds && any; i++) {
        any = false;
        for (const pid_t process : heirs()) {
            if (!known.insert(process).second)
                continue;
            any = true;
            auto heir = TracedProgram::of_running(process);
            const bool is_free = heir && withdraw_from(*heir, latest) && !is_left_in(process);
            if (!is_free && exists(process))
                kept.push_back(process);
        }
    }
    return kept;
}

// Whether jumps are: what is not used any more may stay mapped.
bool Injection::is_left_in(pid_t process) const {
    const int memory = open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY);
    const FileDescriptor file(memory);
    for (const auto& [at, stubs] : stubs_)
        for (const Patch& patch : stubs.patches) {
            std::string there(patch.bytes.size(), '\0');
            if (pread(memory, there.data(), there.size(), static_cast<off_t>(patch.address)) ==
                    static_cast<ssize_t>(there.size()) &&
                there == patch.bytes)
                return true;
        }
    return false;
}

} // namespace djstap::injection
