// SPDX-License-Identifier: GPL-2.0-or-later
// Alias expansion: a probe of the text → the probe points that it stands for, in groups that share
// one body.
#pragma once
#include "semantics/names.h"
#include "semantics/points.h"

namespace djstap::semantics {

// A piece of a probe's body and the file in whose scope it is read.
struct BodyPart {
    const ast::Block* block = nullptr;
    const ast::File* file = nullptr;
    bool own = false; // the probe's own block
};
struct ConditionPart {
    const ast::Expression* expression = nullptr;
    const ast::File* file = nullptr;
    bool operator==(const ConditionPart&) const = default;
};

// Points of one `probe` that have the same body, the same conditions, and are all returns or all
// not.
struct ProbeGroup {
    std::vector<const ast::ProbePoint*> points;
    std::vector<std::vector<std::string>> alias_names;
    std::vector<uint32_t> point_numbers;
    std::vector<BodyPart> body; // prologues, the probe's own, epilogues: in the order of running
    std::vector<ConditionPart> conditions;
    bool is_return = false;
};

// Points made by expansion are added to `made`, which owns them. Unknown names are reported, unless
// the point is optional.
std::vector<ProbeGroup> expand(const ast::Probe& probe, const ast::File& file, Names& names,
                               const PointShapes& shapes,
                               std::vector<std::unique_ptr<ast::ProbePoint>>& made,
                               Diagnostics& diagnostics);

// Puts a piece before the bodies of the points that tell what a task does (PointTellsOfTask).
// Groups that have others, too, are split.
void put_before(std::vector<ProbeGroup>& groups, const PointShapes& shapes, const BodyPart& part);

} // namespace djstap::semantics
