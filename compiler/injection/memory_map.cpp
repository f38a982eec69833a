// SPDX-License-Identifier: GPL-2.0-or-later
#include "injection/memory_map.h"

#include "arch/injection.h"
#include "injection/process_facts.h"
#include "system/file.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace djstap::injection {

namespace {

constexpr uint64_t page = 4096;

// A process's first thread may have ended: the others have the memory, but it tells of none.
Result<std::string> mappings_of(pid_t pid, const std::string& file) {
    auto text = read_file(file);
    if (text && !text->empty())
        return text;
    for (const pid_t thread : threads_of(pid)) {
        auto of_thread = read_file(task_folder(pid, thread) + "/maps");
        if (of_thread && !of_thread->empty())
            return of_thread;
    }
    if (!text)
        return text.failure();
    return Failure{file + " tells of no memory: the process has ended", ""};
}

} // namespace

Result<MemoryMap> MemoryMap::of(pid_t pid) {
    const std::string file = "/proc/" + std::to_string(pid) + "/maps";
    auto text = mappings_of(pid, file);
    if (!text)
        return text.failure();
    return parse(*text, file);
}

Result<MemoryMap> MemoryMap::parse(const std::string& text, const std::string& file) {
    MemoryMap map;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        // begin-end rwxp offset device inode path
        Mapping mapping;
        const char* const end = line.data() + line.size();
        auto number = std::from_chars(line.data(), end, mapping.range.begin, 16);
        if (number.ptr != end && *number.ptr == '-')
            number = std::from_chars(number.ptr + 1, end, mapping.range.end, 16);
        const auto rest = static_cast<size_t>(number.ptr - line.data());
        constexpr size_t rights = 4;
        if (line.size() < rest + 2 + rights)
            return Failure{file + " has an unknown form", ""};
        mapping.writable = line[rest + 2] == 'w';
        mapping.executable = line[rest + 3] == 'x';
        number = std::from_chars(number.ptr + 2 + rights, end, mapping.offset, 16);
        uint64_t minor = 0;
        if (number.ptr != end)
            number = std::from_chars(number.ptr + 1, end, mapping.file.device, 16);
        if (number.ptr != end)
            number = std::from_chars(number.ptr + 1, end, minor, 16);
        mapping.file.device = mapping.file.device << 32 | minor;
        if (number.ptr != end)
            std::from_chars(number.ptr + 1, end, mapping.file.inode);
        if (const size_t path = line.find('/'); path != std::string::npos)
            mapping.path = line.substr(path);
        map.mappings_.push_back(std::move(mapping));
    }
    return map;
}

bool MemoryMap::is_free(const Range& range) const {
    return std::none_of(mappings_.begin(), mappings_.end(),
                        [&](const Mapping& each) { return each.range.overlaps(range); });
}

void MemoryMap::reserve(const Range& range) {
    Mapping reserved;
    reserved.range = {range.begin & ~(page - 1), (range.end + page - 1) & ~(page - 1)};
    mappings_.push_back(std::move(reserved));
}

const Mapping* MemoryMap::at(uint64_t address) const {
    const auto found = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& each) {
        return address >= each.range.begin && address < each.range.end;
    });
    return found == mappings_.end() ? nullptr : &*found;
}

std::vector<Mapping> MemoryMap::of_file(const std::string& path) const {
    std::vector<Mapping> found;
    std::copy_if(mappings_.begin(), mappings_.end(), std::back_inserter(found),
                 [&](const Mapping& each) { return each.path == path; });
    return found;
}

Result<Range> code_around(const MemoryMap& map, uint64_t entry) {
    const Mapping* const found = map.at(entry);
    if (!found)
        return Failure{"the program's entry is not mapped", ""};
    const uint64_t reach = arch::jump_reach();
    Range code = found->range;
    for (const Mapping& part : map.of_file(found->path))
        if (part.range.end + reach > entry && part.range.begin < entry + reach)
            code = {std::min(code.begin, part.range.begin), std::max(code.end, part.range.end)};
    return code;
}

std::optional<uint64_t> find_room(const MemoryMap& program, const MemoryMap& own, Range code,
                                  uint64_t bytes, uint64_t near_bytes) {
    constexpr uint64_t lowest = uint64_t{1} << 20, highest = uint64_t{1} << 47;
    // The heap grows upwards from the end of a program, and stacks and mappings downwards.
    constexpr uint64_t distance = uint64_t{16} << 20, for_heap = uint64_t{512} << 20;
    const uint64_t reach = arch::jump_reach() - (uint64_t{1} << 20);
    std::vector<uint64_t> candidates;
    if (code.begin > bytes + distance + lowest)
        candidates.push_back(code.begin - bytes - distance);
    candidates.push_back(code.end + for_heap);
    for (const MemoryMap* map : {&program, &own})
        for (const Mapping& each : map->all()) {
            if (each.range.begin > bytes + lowest)
                candidates.push_back(each.range.begin - bytes);
            candidates.push_back(each.range.end);
        }
    for (uint64_t candidate : candidates) {
        candidate &= ~(page - 1);
        // Behind the page of vsyscall, sums wrap around.
        if (candidate < lowest || candidate >= highest)
            continue;
        const Range room{candidate, candidate + bytes};
        const uint64_t first = std::min(candidate, code.begin);
        const uint64_t last = std::max(candidate + near_bytes, code.end);
        if (room.end < highest && last - first < reach && program.is_free(room) &&
            own.is_free(room))
            return candidate;
    }
    return std::nullopt;
}

} // namespace djstap::injection
