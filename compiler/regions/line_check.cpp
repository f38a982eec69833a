// SPDX-License-Identifier: GPL-2.0-or-later
// The line program beside the analysis.
#include "arch/instructions.h"
#include "regions/line_size.h"
#include "regions/state.h"

#include <algorithm>

namespace djstap::regions {

namespace {

// Which kinds of rows are at a byte.
enum Row : uint8_t { AnyRow = 1 << 0, StatementRow = 1 << 1, BlockRow = 1 << 2 };

std::vector<uint8_t> rows_by_index(const Code& code, const std::vector<LineRow>& rows,
                                   LineCheck& check) {
    std::vector<uint8_t> at(code.size());
    for (const LineRow& row : rows) {
        const std::optional<Index> index = row.end ? std::nullopt : code.index(row.address);
        if (!index)
            continue;
        at[*index] |= AnyRow | (row.statement ? StatementRow : 0) | (row.block ? BlockRow : 0);
        check.all.rows++;
        check.statements.rows += row.statement;
        check.blocks.rows += row.block;
    }
    return at;
}

} // namespace

LineCheck Analysis::check_lines(const std::vector<LineRow>& rows) const {
    const State& state = *state_;
    const Judge judge(state.code, state.options.model, state.spaces);
    const auto needed = static_cast<Index>(arch::planted_jump_bytes());
    LineCheck check;
    const std::vector<uint8_t> at_index = rows_by_index(state.code, rows, check);
    const std::array<std::pair<LineLeaders*, Row>, 3> kinds{
        {{&check.all, AnyRow}, {&check.statements, StatementRow}, {&check.blocks, BlockRow}}};
    std::vector<Leader> leaders;
    for (size_t i = 0; i < state.functions.size(); i++) {
        const Function& function = state.functions[i];
        const auto first = at_index.begin() + function.range.first;
        const auto end = at_index.begin() + function.range.end;
        // Written in assembler without debug information, or nobody would plant anything in it.
        if (!state.results[i].is_counted() || function.refused == Reason::NotDecoded ||
            std::none_of(first, end, [](uint8_t each) { return each != 0; }))
            continue;
        check.instructions += state.results[i].instructions;
        check.safe += state.results[i].safe;
        state.each_instruction(function, [&](Index at, const Scope*) {
            const bool entered = judge.entered(at) != Reason::None;
            if (entered) {
                leaders.push_back({state.code.address(at), state.results[i].address});
                for (const auto& [kind, bit] : kinds)
                    kind->missed += !(at_index[at] & bit);
                if ((state.code.entries[at] & ByTable) && !(at_index[at] & AnyRow))
                    check.tables.push_back(state.code.address(at));
            }
            Index region = at;
            if (judge.unmovable(at, function, region) != Reason::None)
                return;
            bool unsafe = function.refused != Reason::None;
            unsigned inside = 0;
            for (Index each = at + 1; each < at + needed; each++) {
                unsafe |= judge.entered(each) != Reason::None;
                inside |= at_index[each];
            }
            for (const auto& [kind, bit] : kinds) {
                kind->planted += !(inside & bit);
                kind->unsafe += !(inside & bit) && unsafe;
            }
        });
    }
    check.leaders = leaders.size();
    check.encoded = encoded_size(rows);
    check.encoded_with_blocks = encoded_size(with_blocks(rows, leaders));
    return check;
}

} // namespace djstap::regions
