// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/regions.h"

#include "debuginfo/line_rows.h"
#include "regions/decode.h"
#include "regions/go_faults.h"
#include "regions/judge.h"
#include "regions/kernel_tables.h"
#include "regions/parallel.h"
#include "regions/sequences.h"
#include "regions/state.h"
#include "regions/targets.h"
#include "system/number.h"

#include <algorithm>
#include <cstdio>

namespace djstap::regions {

double Totals::percent(uint64_t part) const {
    return instructions ? 100.0 * static_cast<double>(part) / static_cast<double>(instructions) : 0;
}

namespace {

std::string hexadecimal(uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

// Returns the function that contains the index, or the end.
template <class Functions> auto function_with(Functions& functions, Index at) {
    auto after = std::upper_bound(
        functions.begin(), functions.end(), at,
        [](Index value, const Function& each) { return value < each.range.first; });
    if (after == functions.begin() || at >= (after - 1)->range.end)
        return functions.end();
    return after - 1;
}

unsigned thread_count(unsigned wanted) {
    constexpr unsigned most = 8;
    return wanted ? wanted : std::clamp(std::thread::hardware_concurrency(), 1U, most);
}

} // namespace

void Analysis::State::enter_by_symbols(const std::vector<FunctionRange>& ranges) {
    for (const Symbol& symbol : symbols)
        code.enter(symbol.address, BySymbol);
    for (const FunctionRange& range : ranges)
        code.entries[range.first] |= BySymbol;
}

// What follows a function up to the next one is never executed.
void Analysis::State::extend_over_fillers() {
    for (size_t i = 0; i < functions.size(); i++) {
        FunctionRange& range = functions[i].range;
        if (range.end == range.first)
            continue;
        Index limit = code.section_at(range.first).end();
        if (i + 1 < functions.size())
            limit = std::min(limit, functions[i + 1].range.first);
        Index at = range.end;
        while (at < limit && (code.traits[at] & Filler) && code.begins_instruction(at) &&
               !(code.entries[at] & BySymbol))
            at += code.lengths[at];
        range.filled_end = std::min(at, limit);
    }
}

// Between functions there are no-ops or breakpoints. Control does not reach them if the function
// before ends with an instruction that leaves it, and if nothing in the file leads there: a space
// ends before the first byte that is entered. Nobody writes there, either.
void Analysis::State::find_unused() {
    const auto needed = static_cast<Index>(arch::planted_jump_bytes());
    for (const Function& function : functions) {
        const FunctionRange& range = function.range;
        if (function.refused == Reason::NotDecoded || range.end == range.first)
            continue;
        Index last = range.end - 1; // the function's last instruction
        while (last > range.first && !code.begins_instruction(last))
            last--;
        if (last + code.lengths[last] != range.end || !(code.traits[last] & Leaves))
            continue;
        Index end = range.end;
        while (end < range.filled_end && !code.entries[end] && !code.written[end])
            end++;
        if (end - range.end >= needed)
            spaces.unused.push_back({range.end, end});
    }
}

namespace {

// The shares of the work that are done.
constexpr double after_decoding = 0.6, after_rooms = 0.8;

} // namespace

// Each room is a region by itself, of ten bytes. No two of them overlap.
void Analysis::State::find_rooms() {
    const Judge judge(code, options.model, spaces);
    constexpr size_t share = 256;
    std::vector<std::vector<Room>> parts((functions.size() + share - 1) / share);
    in_parallel(
        parts.size(), thread_count(options.threads),
        [&](size_t part) {
            const size_t end = std::min(functions.size(), (part + 1) * share);
            for (size_t i = part * share; i < end; i++) {
                Index free = 0;
                each_instruction(functions[i], [&](Index at, const Scope*) {
                    const auto room = at < free ? std::nullopt : judge.room(at, functions[i]);
                    if (!room)
                        return;
                    parts[part].push_back(*room);
                    free = room->end;
                });
            }
        },
        reporter(after_decoding, after_rooms));
    for (const std::vector<Room>& part : parts)
        spaces.rooms.insert(spaces.rooms.end(), part.begin(), part.end());
}

bool Analysis::State::has_label_inside(const FunctionRange& range) const {
    for (Index at = range.first + 1; at < range.end; at++)
        if (code.entries[at] & ByAddress)
            return true;
    return false;
}

void Analysis::State::find_unknown_jumps(const std::vector<bool>& leads_into) {
    for (const IndirectJump& jump : code.indirect_jumps) {
        auto function = function_with(functions, jump.at);
        if (function == functions.end() || jump.through_slot ||
            leads_into[static_cast<size_t>(function - functions.begin())] ||
            has_label_inside(function->range) || frames.stack_is_empty(code.address(jump.at)))
            continue;
        function->refused = Reason::UnknownTargets;
        unknown_jumps.push_back({code.address(jump.at), function->range.name});
    }
}

// Some compilers and assemblers mark where basic blocks begin: the targets of a jump are among
// them.
void Analysis::State::explain_by_blocks() {
    std::vector<uint64_t> jumps;
    for (const UnknownJump& jump : unknown_jumps)
        jumps.push_back(jump.address);
    if (jumps.empty())
        return;
    std::vector<bool> explained(functions.size());
    for (const uint64_t address : read_block_rows(code.file().path(), jumps)) {
        const std::optional<Index> at = code.instruction(address);
        const auto function = at ? function_with(functions, *at) : functions.end();
        if (function == functions.end() || function->refused != Reason::UnknownTargets)
            continue;
        code.entries[*at] |= ByBlock;
        // A row at the entry alone says nothing about the rest.
        if (*at != function->range.first)
            explained[static_cast<size_t>(function - functions.begin())] = true;
    }
    for (size_t i = 0; i < functions.size(); i++)
        if (explained[i])
            functions[i].refused = Reason::None;
    std::erase_if(unknown_jumps, [&](const UnknownJump& jump) {
        const auto function = function_with(functions, *code.index(jump.address));
        return function->refused != Reason::UnknownTargets;
    });
}

// Whether the function consists of instructions, and no jump leads into the middle of one. (A jump
// may skip a prefix.)
bool Analysis::State::is_decoded(const FunctionRange& range) const {
    Index at = range.first;
    while (at < range.end) {
        const Index length = code.lengths[at];
        if (length == 0 || at + length > range.end)
            return false;
        for (Index inside = 1; inside < length; inside++)
            if ((code.entries[at + inside] & ByJump) &&
                (inside > 1 || !(code.traits[at] & HasPrefix)))
                return false;
        at += length;
    }
    return true;
}

Status Analysis::State::collect() {
    const unsigned threads = thread_count(options.threads);
    symbols = code_symbols(code);
    if (form_of(code.file()) == ImageForm::Module)
        for (const Elf64_Sym& symbol : code.file().symbols())
            if (symbol.st_shndx == SHN_ABS)
                outside.try_emplace(symbol.st_value, code.file().symbol_name(symbol));
    frames = Frames::of(code.file());
    const GoTable go = read_go_table(code.file());
    const std::vector<FunctionRange> ranges = find_functions(code, symbols, frames, go);
    const ImageForm form = form_of(code.file());
    code.needs_landing_pads = form != ImageForm::Program;
    const KernelRule rule = options.rule                ? *options.rule
                            : form == ImageForm::Kernel ? KernelRule::of(code.file())
                                                        : KernelRule{};
    const auto named = decode(code, ranges, symbols,
                              {rule.newer, form == ImageForm::Program && !go.found, threads,
                               reporter(0, after_decoding)});
    if (!named)
        return named.failure();
    enter_by_symbols(ranges);
    if (form != ImageForm::Program)
        enter_by_kernel_tables(code, symbols);
    else
        mark_sequences(code);
    enter_by_data(code, patch_tables(code));
    for (uint64_t handler : frames.handlers(code.file()))
        code.enter(handler, ByException);
    for (const GoFunction& function : go.functions)
        if (function.resumed)
            code.enter(function.resumed, ByGo);
    const std::vector<bool> leads_into = enter_by_tables(code, ranges, *named);
    scopes = find_scopes(code, ranges, symbols, form, rule);
    for (const FunctionRange& range : ranges)
        functions.push_back({range,
                             go.found && !go.understood ? Reason::GoTable
                             : is_decoded(range)        ? Reason::None
                                                        : Reason::NotDecoded,
                             go.at(code.address(range.first)) != nullptr});
    extend_over_fillers();
    find_unknown_jumps(leads_into);
    explain_by_blocks();
    clear_harmless_accesses(code, ranges, go, threads);
    if (options.model == Model::Short) {
        spaces.states = go_states(code, go);
        find_unused();
        find_rooms();
    }
    return Done{};
}

const Scope* Analysis::State::scope_at(Index at) const {
    auto after =
        std::upper_bound(scopes.begin(), scopes.end(), at,
                         [](Index value, const Scope& each) { return value < each.first; });
    return after == scopes.begin() || at >= (after - 1)->end ? nullptr : &*(after - 1);
}

void Analysis::State::evaluate(size_t number) {
    const Judge judge(code, options.model, spaces);
    const Function& function = functions[number];
    FunctionResult& result = results[number];
    result.address = code.address(function.range.first);
    result.name = function.range.name.empty() ? "sub_" + hexadecimal(result.address).substr(2)
                                              : std::string(function.range.name);
    result.size = function.range.end - function.range.first;
    Index entry = function.range.first;
    if (code.entries[entry] & ByLandingPad)
        entry += code.lengths[entry];
    each_instruction(function, [&](Index at, const Scope* scope) {
        Planted planted;
        const Reason reason = judge.reason(at, function, planted);
        result.entry_safe |= at == entry && (reason == Reason::None || reason == Reason::Ftrace);
        result.instructions++;
        result.by_kernel += scope && judge.passes_kernel(at, *scope);
        result.safe += reason == Reason::None;
        if (reason != Reason::None)
            result.reasons[static_cast<size_t>(reason)]++;
    });
}

void Analysis::State::evaluate() {
    results.resize(functions.size());
    constexpr size_t share = 256;
    in_parallel((functions.size() + share - 1) / share, thread_count(options.threads),
                [&](size_t part) {
                    const size_t end = std::min(functions.size(), (part + 1) * share);
                    for (size_t i = part * share; i < end; i++)
                        evaluate(i);
                },
                reporter(after_rooms, 1));
}

Analysis::Analysis(std::unique_ptr<State> state) : state_(std::move(state)) {}
Analysis::Analysis(Analysis&&) noexcept = default;
Analysis& Analysis::operator=(Analysis&&) noexcept = default;
Analysis::~Analysis() = default;

Result<Analysis> Analysis::of(const ElfFile& file, const Options& options) {
    if (file.type() != ET_EXEC && file.type() != ET_DYN)
        return Failure{file.path() + ": is not a linked program, library or kernel image",
                       "link it first: the addresses in it are not final"};
    Result<Code> code = Code::of(file, options.live_text);
    if (!code)
        return code.failure();
    if (code->is_live() && form_of(file) == ImageForm::Program)
        return Failure{file.path() + ": is neither a kernel image nor a module",
                       "text from memory is a kernel's"};
    auto state = std::make_unique<State>(std::move(*code), options);
    if (Status collected = state->collect(); !collected)
        return collected.failure();
    state->evaluate();
    return Analysis(std::move(state));
}

const std::vector<FunctionResult>& Analysis::functions() const {
    return state_->results;
}

const std::vector<UnknownJump>& Analysis::unknown_jumps() const {
    return state_->unknown_jumps;
}

Totals Analysis::totals() const {
    Totals totals;
    double gains = 0;
    for (const FunctionResult& each : state_->results) {
        if (!each.is_counted())
            continue;
        totals.functions++;
        totals.instructions += each.instructions;
        totals.by_kernel += each.by_kernel;
        totals.safe += each.safe;
        totals.entries_safe += each.entry_safe;
        gains += (static_cast<double>(each.safe) - static_cast<double>(each.by_kernel)) /
                 each.instructions;
    }
    if (totals.functions)
        totals.average_gain_percent = 100 * gains / static_cast<double>(totals.functions);
    return totals;
}

std::optional<uint64_t> Analysis::address_of(std::string_view symbol) const {
    for (const Symbol& each : state_->symbols)
        if (each.name == symbol)
            return each.address;
    // As describe() names functions that have no symbol.
    for (const FunctionResult& each : state_->results)
        if (each.name == symbol)
            return each.address;
    return std::nullopt;
}

std::optional<size_t> Analysis::function(std::string_view name) const {
    const std::optional<uint64_t> address = address_of(name);
    return address ? function_at(*address) : std::nullopt;
}

std::optional<size_t> Analysis::function_at(uint64_t address) const {
    const auto at = state_->code.index(address);
    if (!at)
        return std::nullopt;
    const auto found = function_with(state_->functions, *at);
    if (found == state_->functions.end())
        return std::nullopt;
    return static_cast<size_t>(found - state_->functions.begin());
}

std::vector<Place> Analysis::places(size_t function) const {
    const State& state = *state_;
    const Judge judge(state.code, state.options.model, state.spaces);
    const Function& of = state.functions[function];
    std::vector<Place> places;
    bool returned_to = false;
    state.each_instruction(of, [&](Index at, const Scope* scope) {
        Place place;
        Planted planted;
        place.address = state.code.address(at);
        place.length = state.code.lengths[at];
        place.reason = judge.reason(at, of, planted);
        place.region = static_cast<uint8_t>(planted.end - at);
        if (planted.space)
            place.space = state.code.address(*planted.space);
        if (planted.room)
            place.room = state.code.address(*planted.room);
        place.leader = returned_to || judge.entered(at) != Reason::None;
        place.by_kernel = scope && judge.passes_kernel(at, *scope);
        returned_to = state.code.traits[at] & Calls;
        places.push_back(place);
    });
    return places;
}

std::optional<Place> Analysis::place(uint64_t address) const {
    const std::optional<size_t> number = function_at(address);
    if (!number)
        return std::nullopt;
    for (const Place& each : places(*number))
        if (each.address == address)
            return each;
    return std::nullopt;
}

std::optional<Place> Analysis::entry(uint64_t address) const {
    const std::optional<Place> first = place(address);
    const auto at = state_->code.index(address);
    const bool is_pad = first && at && state_->code.entries[*at] & ByLandingPad;
    if (!is_pad)
        return first;
    std::optional<Place> behind = place(address + first->length);
    // It would be taken for another call.
    if (behind && behind->safe() && behind->leader)
        behind->reason = Reason::Jump;
    return behind;
}

std::string_view Analysis::bytes(const Place& place) const {
    const auto at = state_->code.index(place.address);
    return at ? state_->code.bytes(*at).substr(0, place.length) : std::string_view{};
}

ReplacedBytes Analysis::replaced_bytes(const Place& place) const {
    const Code& code = state_->code;
    const auto first = code.index(place.address);
    if (!first)
        return {};
    ReplacedBytes replaced;
    auto& [bytes, known] = replaced;
    bytes = code.bytes(*first).substr(0, place.region);
    for (Index at = *first; at < *first + bytes.size(); at += code.lengths[at]) {
        if (!code.begins_instruction(at))
            return {};
        if (code.traits[at] & ReturnThunk) {
            bytes.resize(at - *first);
            bytes += arch::return_instruction();
            known.resize(bytes.size(), '\xff');
            return replaced;
        }
        for (Index each = at; each < at + code.lengths[at]; each++)
            known += code.written[each] & ByLoader ? '\0' : '\xff';
    }
    return replaced;
}

std::vector<UnsafePlace> Analysis::unsafe() const {
    const State& state = *state_;
    const Judge judge(state.code, Model::Kernel, state.spaces);
    std::vector<UnsafePlace> found;
    for (const Function& function : state.functions)
        state.each_instruction(function, [&](Index at, const Scope* scope) {
            if (!scope || !judge.passes_kernel(at, *scope))
                return;
            for (Index inside = at + 1; inside < at + arch::planted_jump_bytes(); inside++)
                if (const Reason reason = judge.entered(inside); reason != Reason::None) {
                    UnsafePlace place;
                    place.address = state.code.address(at);
                    place.reason = reason;
                    place.entered_at = state.code.address(inside);
                    for (const Edge& edge : state.code.jumps)
                        if (edge.to == inside) {
                            place.entered_from = state.code.address(edge.from);
                            break;
                        }
                    found.push_back(place);
                    return;
                }
        });
    return found;
}

std::string Analysis::describe(uint64_t address) const {
    const std::optional<size_t> number = function_at(address);
    if (!number) {
        const auto outside = state_->outside.find(address);
        return outside == state_->outside.end() ? hexadecimal(address)
                                                : std::string(outside->second);
    }
    const FunctionResult& function = state_->results[*number];
    const uint64_t offset = address - function.address;
    return offset ? function.name + "+" + hexadecimal(offset) : function.name;
}

} // namespace djstap::regions
