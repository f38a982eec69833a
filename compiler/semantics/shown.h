// SPDX-License-Identifier: GPL-2.0-or-later
// Prints that the compiler adds to a script: of globals, for unread.cpp, timing.cpp and
// monitor.cpp.
#pragma once
#include "semantics/points.h"
#include "semantics/program.h"

#include <string>
#include <vector>

namespace djstap::semantics {

// Builds the statements of a synthetic probe, in which it declares local variables.
class GlobalPrinter {
  public:
    // `in_snapshot`: the prints are for --monitor alone.
    explicit GlobalPrinter(program::Probe& probe, bool in_snapshot = false)
        : probe_(probe), in_snapshot_(in_snapshot) {}

    // Prints a line for the global, or for each element, largest value first: NAME[KEYS]=VALUE.
    // `limit`: the number of elements that are printed; 0: all. An empty statistic is not shown.
    program::StatementPtr show(const program::Global& global, int64_t limit = 0);

    // Prints a line for the global, or for each element in any order, and one with the histogram
    // where the script has one of it. If it is taken (Global::is_taken), deletes what was printed.
    program::StatementPtr show_whole(const program::Global& global);

    // The parts of which such a line consists.
    static program::StatementPtr evaluate(std::unique_ptr<program::Print> print);
    std::unique_ptr<program::Print> begin_print(SourceRange range) const;
    static void convert(program::Print& print, char conversion, program::ExpressionPtr argument);
    program::ExpressionPtr read(const program::Global& global, const std::vector<uint32_t>& keys,
                                ast::StatOp op);
    // The statement, if the statistic is not empty; otherwise the other one, which may be null.
    program::StatementPtr unless_empty(const program::Global& statistic,
                                       program::StatementPtr statement,
                                       program::StatementPtr otherwise = nullptr);

  private:
    program::ExpressionPtr value(const program::Global& global, const std::vector<uint32_t>& keys);
    static program::ExpressionPtr key(const program::Global& global, uint32_t local, size_t index);
    static void head(program::Print& print, const program::Global& global,
                     const std::vector<uint32_t>& keys);
    program::StatementPtr line(const program::Global& global, const std::vector<uint32_t>& keys);
    program::StatementPtr take(const program::Global& global, program::StatementPtr shown,
                               const std::vector<uint32_t>& keys);
    program::StatementPtr each(const program::Global& global,
                               std::unique_ptr<program::Foreach> loop, bool whole);
    program::StatementPtr whole(const program::Global& global, const std::vector<uint32_t>& keys);
    program::StatementPtr histogram_line(const program::Global& global,
                                         const std::vector<uint32_t>& keys);
    program::StatementPtr statistic_line(const program::Global& global,
                                         const std::vector<uint32_t>& keys,
                                         std::unique_ptr<program::Print> print);

    program::Probe& probe_;
    bool in_snapshot_;
};

// Returns a number and a text as expressions.
program::ExpressionPtr number_of(int64_t value, SourceRange range);
program::ExpressionPtr text_of(std::string text, SourceRange range);

// Returns a probe with an empty body that the compiler adds.
std::unique_ptr<program::Probe> synthetic_probe(SourceRange range);
// Adds a point of the shape with this trait to a probe, "end(NUMBER)" or "timer.ms(NUMBER)".
void add_point(program::Program& program, program::Probe& probe, const PointShapes& points,
               PointTrait trait, int64_t number);
// Adds the probe to the program.
void add_probe(program::Program& program, std::unique_ptr<program::Probe> probe);
// The same with points that are reached when the session ends: after every other end
// probe, and after the script's error probes, which run instead of end probes after an error.
void add_last_probe(program::Program& program, std::unique_ptr<program::Probe> probe,
                    const PointShapes& points);

} // namespace djstap::semantics
