// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which the points of a program's probes are resolved, and what a point with `!`, once
// it is found, makes of those behind it.
#pragma once
#include "semantics/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace djstap {

// A point of a part of a `probe`; behind the part's points, what follows them.
struct Turn {
    program::Probe* probe;
    size_t point;

    uint32_t number() const {
        return point < probe->point_numbers.size() ? probe->point_numbers[point] : 0;
    }
};

// The parts of one `probe` of the text have points in turns. A sufficient one is known before
// those that it makes superfluous, which may be another part's.
inline std::vector<Turn> in_order_of_points(const program::Program& program) {
    std::vector<Turn> order;
    const auto& probes = program.probes;
    for (auto begin = probes.begin(); begin != probes.end();) {
        auto end = std::find_if(begin, probes.end(), [&](const auto& probe) {
            return probe->declaration != (*begin)->declaration;
        });
        const auto first = static_cast<std::ptrdiff_t>(order.size());
        for (auto probe = begin; probe != end; ++probe)
            for (size_t i = 0; i < (*probe)->points.size(); i++)
                order.push_back({probe->get(), i});
        std::stable_sort(order.begin() + first, order.end(),
                         [](const Turn& a, const Turn& b) { return a.number() < b.number(); });
        for (; begin != end; ++begin)
            order.push_back({begin->get(), (*begin)->points.size()});
    }
    return order;
}

// The sufficient points that were found.
class SufficientPoints {
  public:
    bool makes_superfluous(const program::Probe& probe, size_t point) const {
        auto known = found_.find(probe.declaration);
        return known != found_.end() && point < probe.point_numbers.size() &&
               std::any_of(
                   known->second.begin(), known->second.end(),
                   [number = probe.point_numbers[point]](const auto& found) {
                       return number >= found.last && number < found.until;
                   });
    }

    // A sufficient point that was found makes later points superfluous.
    void note_found(const program::Probe& probe, size_t point) {
        if (point >= probe.point_numbers.size())
            return;
        const uint32_t number = probe.point_numbers[point];
        for (const program::Sufficient& sufficient : probe.sufficient)
            if (number >= sufficient.first && number < sufficient.last)
                found_[probe.declaration].push_back(sufficient);
    }

  private:
    std::map<uint32_t, std::vector<program::Sufficient>> found_; // by declaration
};

} // namespace djstap
