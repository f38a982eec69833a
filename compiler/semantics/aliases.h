// SPDX-License-Identifier: GPL-2.0-or-later
// Alias expansion: converts a probe of the text to the probe points that it stands for, in groups
// that share one body.
#pragma once
#include "semantics/names.h"
#include "semantics/points.h"
#include "semantics/program.h"

namespace djstap::semantics {

// A piece of a probe's body and the file in whose scope its names are resolved.
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

// Points of one `probe` that have the same body and the same conditions, and are all returns or all
// entries.
struct ProbeGroup {
    std::vector<const ast::ProbePoint*> points;
    std::vector<std::vector<std::string>> alias_names;
    std::vector<uint32_t> point_numbers;
    std::vector<program::Sufficient> sufficient;
    // prologues, the probe's own, epilogues: in the order in which they run
    std::vector<BodyPart> body;
    std::vector<ConditionPart> conditions;
    bool is_return = false;
};

// Returns the groups of a probe's points. Points that expansion creates are added to `made`, which
// owns them. Reports unknown names, unless the point is optional.
std::vector<ProbeGroup> expand(const ast::Probe& probe, const ast::File& file, Names& names,
                               const PointShapes& shapes,
                               std::vector<std::unique_ptr<ast::ProbePoint>>& made,
                               Diagnostics& diagnostics);

// Inserts a piece before the bodies of the points that report what a task does (PointTellsOfTask).
// Splits groups that contain other points, too.
void put_before(std::vector<ProbeGroup>& groups, const PointShapes& shapes, const BodyPart& part);

} // namespace djstap::semantics
