// SPDX-License-Identifier: GPL-2.0-or-later
// Generates the same numbers for the same seed everywhere.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace djstap::differential {

class Random {
  protected:
    // SplitMix64 advances by a constant: seeds are spread first, so that none is another one's next
    // state.
    explicit Random(uint64_t seed) : state_(seed) { state_ = next() ^ seed << 32; }

    uint64_t next() { // SplitMix64
        uint64_t x = state_ += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }
    uint64_t below(uint64_t limit) { return next() % limit; }
    bool one_in(uint64_t n) { return below(n) == 0; }
    template <class List> const auto& pick(const List& list) {
        return list[below(std::size(list))];
    }

  private:
    uint64_t state_;
};

} // namespace djstap::differential
