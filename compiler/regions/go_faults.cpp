// SPDX-License-Identifier: GPL-2.0-or-later
// Go's runtime makes a panic of a fault below the first page's end, where pointers that are nil
// lead; a fault anywhere else ends the program, whatever the runtime finds. (Unless the program
// asks for panics there, too: debug.SetPanicOnFault.) Linux maps nothing in the first 16 pages
// (vm.mmap_min_addr). So once memory less than a page above a register's value was accessed, the
// value is far above the first page, and so is another access less than a page above it.
//
// What Go's compiler has compiled keeps more rules: a pointer is nil or leads to memory, and
// pointers that may be nil are found by accesses less than a page above them, without an index.
#include "regions/go_faults.h"

#include "arch/instructions.h"
#include "regions/parallel.h"

#include <algorithm>
#include <array>

namespace djstap::regions {

namespace {

using arch::RegisterUse;
using IfZero = RegisterUse::IfZero;

bool asks_for_panics(const GoTable& go) {
    return std::any_of(go.functions.begin(), go.functions.end(), [](const GoFunction& each) {
        return each.name.ends_with("etPanicOnFault");
    });
}

// What a call leaves.
enum class Callee : uint8_t {
    Any,
    Allocates, // returns a pointer that is not nil
    KeepsAll,
    Restarts // the function that called it continues as at its entry
};

Callee callee_of(const GoFunction* function) {
    static constexpr std::array<std::pair<std::string_view, Callee>, 11> callees{
        {{"runtime.morestack", Callee::Restarts},
         {"runtime.gcWriteBarrier", Callee::KeepsAll},
         {"runtime.newobject", Callee::Allocates},
         {"runtime.makeslice", Callee::Allocates},
         {"runtime.growslice", Callee::Allocates},
         {"runtime.makemap", Callee::Allocates},
         {"runtime.makechan", Callee::Allocates},
         {"runtime.mapassign", Callee::Allocates},
         {"runtime.mapaccess1", Callee::Allocates},
         {"runtime.mallocgc", Callee::Allocates},
         {"runtime.convT", Callee::Allocates}}};
    if (function)
        for (const auto& [prefix, callee] : callees)
            if (function->name.starts_with(prefix))
                return callee;
    return Callee::Any;
}

struct Step {
    Index at = 0;
    RegisterUse use;
    Callee callee = Callee::Any;
    uint64_t before = ~uint64_t{0}; // registers whose value leads to memory
    bool reached = false;
    bool entered = false;         // from elsewhere than the function's own jumps
    std::optional<size_t> target; // of its jump, in the function
};

// A function's instructions, and what is known before each.
class PointerFlow {
  public:
    PointerFlow(Code& code, const FunctionRange& range, const GoTable& go,
                const std::vector<Index>& entered, arch::InstructionDecoder& decoder)
        : code_(code), range_(range), go_(go), decoder_(decoder) {
        const GoFunction* function = go.at(code.address(range.first));
        compiled_ = function && function->compiled;
        read(entered);
    }
    void run();

  private:
    void read(const std::vector<Index>& entered);
    uint64_t always() const { return compiled_ ? arch::go_registers().always : 0; }
    uint64_t at_entry() const {
        return compiled_ ? arch::go_registers().always | arch::go_registers().context : 0;
    }
    uint64_t after(const Step& step) const;
    bool propagate();
    bool meet(size_t into, uint64_t known);
    void clear() const;

    Code& code_;
    const FunctionRange& range_;
    const GoTable& go_;
    arch::InstructionDecoder& decoder_;
    bool compiled_ = false;
    std::vector<Step> steps_;
};

// `entered`: where jumps of other functions lead, in order.
void PointerFlow::read(const std::vector<Index>& entered) {
    for (Index at = range_.first; at < range_.end; at += std::max<Index>(code_.lengths[at], 1)) {
        if (!code_.begins_instruction(at))
            continue;
        Step step{at, {}, Callee::Any, ~uint64_t{0}, false, false, {}};
        const std::string_view bytes = code_.bytes(at).substr(0, code_.lengths[at]);
        step.use = decoder_.registers(bytes, code_.address(at));
        if (compiled_ && (code_.traits[at] & Calls))
            step.callee = callee_of(go_.at(decoder_.decode(bytes, code_.address(at)).target));
        const bool follows =
            !steps_.empty() && steps_.back().at + code_.lengths[steps_.back().at] == at;
        // What no jump leads to behind one is reached in a way that is not known.
        const bool hidden =
            follows && (code_.traits[steps_.back().at] & Leaves) && !code_.entries[at];
        step.entered = !follows || hidden || (code_.entries[at] & ~unsigned{ByJump | ByOwnJump}) ||
                       std::binary_search(entered.begin(), entered.end(), at);
        steps_.push_back(step);
    }
    const auto [first, end] = code_.jumps_from(range_.first, range_.end);
    auto step_at = [&](Index at) {
        return std::lower_bound(steps_.begin(), steps_.end(), at,
                                [](const Step& each, Index value) { return each.at < value; });
    };
    for (const Edge* edge = first; edge != end; edge++) {
        const auto from = step_at(edge->from), to = step_at(edge->to);
        if (from != steps_.end() && to != steps_.end() && to->at == edge->to)
            from->target = static_cast<size_t>(to - steps_.begin());
    }
}

uint64_t PointerFlow::after(const Step& step) const {
    const RegisterUse& use = step.use;
    uint64_t known = step.before;
    if (code_.traits[step.at] & Calls) {
        switch (step.callee) {
        case Callee::Any:
            return always();
        case Callee::Allocates:
            return always() | arch::go_registers().result;
        case Callee::KeepsAll:
            return known;
        case Callee::Restarts:
            return at_entry();
        }
    }
    if (use.base && use.always)
        known |= uint64_t{1} << *use.base;
    const bool leads = use.to && (use.is_there || (use.from && (known >> *use.from & 1)));
    known &= ~use.written;
    if (leads)
        known |= uint64_t{1} << *use.to;
    return known | always();
}

bool PointerFlow::meet(size_t into, uint64_t known) {
    Step& step = steps_[into];
    const uint64_t before = step.before;
    step.before &= known;
    const bool is_new = !step.reached;
    step.reached = true;
    return is_new || step.before != before;
}

// Returns whether anything changed.
bool PointerFlow::propagate() {
    bool changed = false;
    for (size_t i = 0; i < steps_.size(); i++) {
        const Step& step = steps_[i];
        if (step.entered)
            changed |= meet(i, i == 0 ? at_entry() : always());
        if (!step.reached)
            continue;
        const uint64_t known = after(step);
        // Behind a comparison with zero, one way is for pointers that are not nil.
        uint64_t not_nil = 0;
        if (compiled_ && i > 0 && !code_.entries[step.at] && steps_[i - 1].use.compared)
            not_nil = uint64_t{1} << *steps_[i - 1].use.compared;
        if (step.target)
            changed |=
                meet(*step.target, known | (step.use.if_zero == IfZero::Continues ? not_nil : 0));
        if (i + 1 < steps_.size() && !(code_.traits[step.at] & Leaves))
            changed |= meet(i + 1, known | (step.use.if_zero == IfZero::Branches ? not_nil : 0));
    }
    return changed;
}

void PointerFlow::clear() const {
    for (const Step& step : steps_) {
        if (!step.reached)
            continue;
        const bool is_memory = step.use.base && (step.before >> *step.use.base & 1);
        if (is_memory || (compiled_ && step.use.accesses_elsewhere))
            code_.traits[step.at] &= static_cast<uint16_t>(~Accesses);
    }
}

void PointerFlow::run() {
    // Each round takes what is known to the ends of one more jump back.
    constexpr int most_rounds = 64;
    for (int round = 0; round < most_rounds; round++)
        if (!propagate()) {
            clear();
            return;
        }
}

// Where jumps from one function to another lead, in order.
std::vector<Index> entered_from_elsewhere(const Code& code,
                                          const std::vector<FunctionRange>& ranges) {
    std::vector<Index> found;
    size_t next = 0;
    for (const Edge& edge : code.jumps) {
        while (next < ranges.size() && ranges[next].end <= edge.from)
            next++;
        if (next == ranges.size() || edge.from < ranges[next].first ||
            edge.to < ranges[next].first || edge.to >= ranges[next].end)
            found.push_back(edge.to);
    }
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace

void clear_harmless_accesses(Code& code, const std::vector<FunctionRange>& ranges,
                             const GoTable& go, unsigned threads) {
    if (!go.understood || asks_for_panics(go))
        return;
    const std::vector<Index> entered = entered_from_elsewhere(code, ranges);
    constexpr size_t share = 256;
    in_parallel((ranges.size() + share - 1) / share, threads, [&](size_t part) {
        thread_local std::unique_ptr<arch::InstructionDecoder> decoder =
            arch::InstructionDecoder::create();
        const size_t end = std::min(ranges.size(), (part + 1) * share);
        for (size_t i = part * share; i < end; i++)
            if (decoder && go.at(code.address(ranges[i].first)))
                PointerFlow(code, ranges[i], go, entered, *decoder).run();
    });
}

} // namespace djstap::regions
