// SPDX-License-Identifier: GPL-2.0-or-later
// What speculate() recorded, until the script commits or discards it.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>

namespace djstap {

class Speculations {
  public:
    // Keeps `limit` strings, at least 1; after that each new one replaces the oldest.
    explicit Speculations(uint64_t limit) : limit_(limit) {}

    struct Text {
        uint32_t cpu = 0;      // where it was recorded
        uint64_t cycles = 0;   // when it was recorded
        std::string arguments; // the record's
    };

    void add(int64_t id, Text text);
    // Passes all strings of `id` to `print` in their order and forgets them.
    void commit(int64_t id, const std::function<void(const Text&)>& print);
    void discard(int64_t id);
    // The number of strings that were replaced.
    uint64_t dropped() const { return dropped_; }

  private:
    struct Kept {
        int64_t id;
        Text text;
    };
    using Texts = std::list<Kept>;
    uint64_t limit_;
    uint64_t dropped_ = 0;
    Texts texts_; // oldest first
    std::unordered_map<int64_t, std::list<Texts::iterator>> by_id_;
};

} // namespace djstap
