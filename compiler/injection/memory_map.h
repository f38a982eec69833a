// SPDX-License-Identifier: GPL-2.0-or-later
// What a process has mapped.
#pragma once
#include "diagnostics/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace djstap::injection {

struct Range {
    uint64_t begin = 0, end = 0;
    bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

// A file as the kernel knows it, whatever its name is now.
struct FileIdentity {
    uint64_t device = 0, inode = 0; // 0: no file
    bool operator==(const FileIdentity&) const = default;
};

struct Mapping {
    Range range;
    uint64_t offset = 0; // in the file
    bool writable = false, executable = false;
    std::string path; // empty: no file
    FileIdentity file;
};

class MemoryMap {
  public:
    // Reads /proc/PID/maps, or that of another thread. Fails if the process has no memory any more.
    static Result<MemoryMap> of(pid_t pid);
    // Reads the text of such a file, which a failure names.
    static Result<MemoryMap> parse(const std::string& text, const std::string& file);
    bool is_free(const Range& range) const;
    // Counts the pages of a range as mapped, for what is to be mapped later.
    void reserve(const Range& range);
    // Returns the mappings of a file.
    std::vector<Mapping> of_file(const std::string& path) const;
    // Returns the mapping of an address; null: there is none.
    const Mapping* at(uint64_t address) const;
    const std::vector<Mapping>& all() const { return mappings_; }

  private:
    std::vector<Mapping> mappings_;
};

// Returns what the program's file at the address has mapped within the reach of jumps, with what is
// between: elsewhere, the program may have mapped its file to read it.
Result<Range> code_around(const MemoryMap& map, uint64_t entry);

// Returns where `bytes` are free in both processes, within the reach of jumps to and from all of
// `code`: of the first `near_bytes` of them. Nothing: nowhere.
std::optional<uint64_t> find_room(const MemoryMap& program, const MemoryMap& own, Range code,
                                  uint64_t bytes, uint64_t near_bytes);

} // namespace djstap::injection
