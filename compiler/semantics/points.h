// SPDX-License-Identifier: GPL-2.0-or-later
// What is to be known of probe points before they are resolved: probes/ tells it of its families.
#pragma once
#include "ast/ast.h"

#include <cstdint>
#include <string>
#include <vector>

namespace djstap {

enum PointTrait : uint32_t {
    PointHasVariables = 1 << 0,  // code is probed, whose variables are target variables
    PointTellsOfTask = 1 << 1,   // hit while a task works in the kernel: the prologue's place
    PointHasFile = 1 << 2,       // $value is the text of a file, for its reader
    PointIsWritten = 1 << 3,     // … that a process wrote
    PointNeedsNoKernel = 1 << 4, // a program can hit it by itself
    PointIsNeverHit = 1 << 5,
    PointEndsSession = 1 << 6, // runs when all other probes are out
    PointEndsFailed = 1 << 7,  // the same, in its place after an error
    PointIsNotSupported = 1 << 8,
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
    // First components, each once.
    const std::vector<std::string>& roots() const { return roots_; }
    // "timer.s", "kernel.function": the names of the first two components, each once.
    const std::vector<std::string>& beginnings() const { return beginnings_; }
    // The traits of a point; of one that has no known shape, those that all with its first
    // component have.
    uint32_t traits(const ast::ProbePoint& point) const;
    // The name of a point of one component with a number that has the trait; "": there is none.
    std::string numbered(PointTrait trait) const;

  private:
    std::vector<PointShape> shapes_;
    std::vector<std::string> roots_, beginnings_;
};

// "kernel.function(STRING).call"
std::string shape_of(const ast::ProbePoint& point);
// "(STRING)", "(NUMBER)" or nothing.
std::string argument_of(const ast::PointComponent& component);

} // namespace djstap
