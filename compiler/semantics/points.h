// SPDX-License-Identifier: GPL-2.0-or-later
// Properties of probe points that are known before they are resolved; probes/ provides those of its
// families.
#pragma once
#include "ast/ast.h"

#include <cstdint>
#include <string>
#include <vector>

namespace djstap {

enum PointTrait : uint32_t {
    PointHasVariables = 1 << 0,  // it probes code, whose variables are target variables
    PointTellsOfTask = 1 << 1,   // hit while a task works in the kernel: the prologue runs here
    PointHasFile = 1 << 2,       // $value is the content of a file, for its reader
    PointIsWritten = 1 << 3,     // … written by a process
    PointNeedsNoKernel = 1 << 4, // works without a kernel (--runtime=user)
    PointIsNeverHit = 1 << 5,
    PointEndsSession = 1 << 6, // runs after all other probes are detached
    PointEndsFailed = 1 << 7,  // the same, but instead of it after an error
    PointIsNotSupported = 1 << 8,
    PointIsMarker = 1 << 9,    // $name and $format are texts
    PointIsPeriodic = 1 << 10, // a timer with a period in milliseconds
    PointIsCounter = 1 << 11,  // it counts for other probes: its own body never runs
    PointInterrupts = 1 << 12, // hit anywhere in code: what it interrupted is known from registers
};

// One form of a probe point: "timer.s(NUMBER)".
struct PointShape {
    std::string shape;
    uint32_t traits = 0; // enum PointTrait
};

class PointShapes {
  public:
    PointShapes() = default;
    explicit PointShapes(std::vector<PointShape> shapes);

    const std::vector<PointShape>& all() const { return shapes_; }
    // The first components, each once.
    const std::vector<std::string>& roots() const { return roots_; }
    // "timer.s", "kernel.function": the names of the first two components, each once.
    const std::vector<std::string>& beginnings() const { return beginnings_; }
    // Returns the traits of a point; if its shape is unknown, those that all shapes with its first
    // component have.
    uint32_t traits(const ast::ProbePoint& point) const;
    // Returns the points of families that components with * or ** in their names match, in the
    // order of their shapes; nothing for components without.
    std::vector<std::vector<ast::PointComponent>>
    matching(const std::vector<ast::PointComponent>& components) const;
    // Returns the names of the components, separated by dots, of a point that has the trait and one
    // number, its last component's: "end", "timer.ms"; "": there is none.
    std::string numbered(PointTrait trait) const;

  private:
    std::vector<PointShape> shapes_;
    std::vector<std::string> roots_, beginnings_;
};

// Returns whether `name` matches `pattern`, in which * stands for any string without a dot.
bool matches_component(const std::string& pattern, const std::string& name);
// "kernel.function(STRING).call"; a chain of callee(STRING) is one of them.
std::string shape_of(const ast::ProbePoint& point);
// "(STRING)", "(NUMBER)" or nothing.
std::string argument_of(const ast::PointComponent& component);

} // namespace djstap
