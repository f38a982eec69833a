// SPDX-License-Identifier: GPL-2.0-or-later
#include "regions/decode.h"

#include "arch/arch.h"
#include "regions/parallel.h"

#include <algorithm>

namespace djstap::regions {

namespace {

using arch::Flow;
using arch::Instruction;
using arch::InstructionDecoder;

// Bytes that are decoded from an instruction boundary on.
struct Range {
    Index first = 0, end = 0;
    bool function = false;
};

// Consecutive ranges, and what was found in them.
struct Chunk {
    size_t first_range = 0, end_range = 0;
    std::vector<Edge> jumps;
    std::vector<Edge> jumps_between; // from code that belongs to no function
    std::vector<Index> called;
    std::vector<Index> returned_to; // by calls that the kernel shortens
    std::vector<IndirectJump> indirect_jumps;
    std::vector<Naming> named;
};

struct ThunkSymbol {
    uint64_t address = 0;
    arch::Thunk thunk{};
    size_t shorter_call = 0;
};

std::vector<ThunkSymbol> find_thunks(const Code& code, const std::vector<Symbol>& symbols) {
    std::vector<ThunkSymbol> thunks;
    auto add = [&](std::string_view name, uint64_t address) {
        if (const arch::Thunk thunk = arch::thunk_of(name); thunk != arch::Thunk::None)
            thunks.push_back({address, thunk, arch::shorter_call_bytes(name)});
    };
    for (const Symbol& symbol : symbols)
        add(symbol.name, symbol.address);
    // Those of a module are its kernel's.
    const ElfFile& file = code.file();
    for (const Elf64_Sym& symbol : file.symbols())
        if (symbol.st_shndx == SHN_ABS)
            add(file.symbol_name(symbol), symbol.st_value);
    std::stable_sort(thunks.begin(), thunks.end(),
                     [](const auto& a, const auto& b) { return a.address < b.address; });
    return thunks;
}

std::vector<Range> ranges_of(const Code& code, const std::vector<FunctionRange>& functions) {
    std::vector<Range> ranges;
    size_t next = 0;
    for (const CodeSection& section : code.sections()) {
        Index at = section.first;
        for (; next < functions.size() && functions[next].first < section.end(); next++) {
            if (functions[next].first > at)
                ranges.push_back({at, functions[next].first, false});
            ranges.push_back({functions[next].first, functions[next].end, true});
            at = functions[next].end;
        }
        if (at < section.end())
            ranges.push_back({at, section.end(), false});
    }
    return ranges;
}

std::vector<Chunk> chunks_of(const std::vector<Range>& ranges, Index size, unsigned threads) {
    // More than one for each thread, since some code is denser than other.
    const Index share = std::max<Index>(size / (threads * 16), 4096);
    std::vector<Chunk> chunks;
    for (size_t i = 0; i < ranges.size();) {
        Chunk chunk;
        chunk.first_range = i;
        for (Index bytes = 0; i < ranges.size() && bytes < share; i++)
            bytes += ranges[i].end - ranges[i].first;
        chunk.end_range = i;
        chunks.push_back(std::move(chunk));
    }
    return chunks;
}

// The address space of the file, for what instructions name.
class Loaded {
  public:
    explicit Loaded(const ElfFile& file) {
        for (const ElfSection& section : file.sections()) {
            if (!(section.flags & SHF_ALLOC) || section.size == 0)
                continue;
            low_ = std::min(low_, section.address);
            high_ = std::max(high_, section.address + section.size);
        }
        is_fixed_ = file.type() == ET_EXEC;
    }
    // A file that is loaded anywhere has no absolute addresses without relocations.
    bool holds(const arch::NamedAddress& name) const {
        return (is_fixed_ || name.use == arch::NamedAddress::Use::Computed) &&
               name.address >= low_ && name.address < high_;
    }

  private:
    uint64_t low_ = UINT64_MAX, high_ = 0;
    bool is_fixed_ = false;
};

class ChunkDecoder {
  public:
    ChunkDecoder(Code& code, const std::vector<ThunkSymbol>& thunks, const Loaded& loaded,
                 const DecodeOptions& options, InstructionDecoder& decoder, Chunk& chunk)
        : code_(code), thunks_(thunks), loaded_(loaded), options_(options), decoder_(decoder),
          chunk_(chunk) {}

    void run(const Range& range);

  private:
    void take(Index at, const Instruction& instruction, bool in_function);
    void take_direct(Index at, const Instruction& instruction, bool in_function);
    uint16_t traits_of(const Instruction& instruction) const;

    Code& code_;
    const std::vector<ThunkSymbol>& thunks_;
    const Loaded& loaded_;
    const DecodeOptions& options_;
    InstructionDecoder& decoder_;
    Chunk& chunk_;
};

void ChunkDecoder::run(const Range& range) {
    const CodeSection& section = code_.section_at(range.first);
    bool called = false;
    for (Index at = range.first; at < range.end;) {
        const std::string_view bytes = section.bytes.substr(at - section.first, range.end - at);
        const Instruction instruction =
            decoder_.decode(bytes, section.address + (at - section.first));
        if (instruction.length == 0) {
            at++;
            called = false;
            continue;
        }
        take(at, instruction, range.function);
        if (called && options_.is_program && instruction.flow == Flow::Trap &&
            !instruction.breakpoint)
            code_.traits[at] |= TrapAfterCall;
        called = instruction.is_call();
        at += instruction.length;
    }
}

uint16_t ChunkDecoder::traits_of(const Instruction& instruction) const {
    unsigned traits = 0;
    auto set = [&](unsigned trait, bool holds) { traits |= holds ? trait : 0; };
    set(FixedTrap, instruction.fixed == arch::Fixed::Trap);
    set(FixedRelative, instruction.fixed == arch::Fixed::Relative);
    set(FixedAdjacent, instruction.fixed == arch::Fixed::Adjacent);
    set(Calls, instruction.is_call());
    set(Leaves, instruction.flow == Flow::Jump || instruction.flow == Flow::IndirectJump ||
                    instruction.flow == Flow::Return || instruction.flow == Flow::Trap);
    set(Filler, instruction.filler);
    set(Breakpoint, instruction.breakpoint);
    set(HasPrefix, instruction.prefixes > 0);
    set(Accesses, instruction.accesses);
    set(KernelRefuses,
        !(options_.newer_kernel ? instruction.newer_kernel_copies : instruction.kernel_copies));
    return static_cast<uint16_t>(traits);
}

void ChunkDecoder::take(Index at, const Instruction& instruction, bool in_function) {
    code_.lengths[at] = instruction.length;
    code_.traits[at] = traits_of(instruction);
    if (instruction.landing_pad)
        code_.entries[at] |= ByLandingPad;
    if (instruction.target)
        take_direct(at, instruction, in_function);
    if (instruction.flow == Flow::IndirectJump)
        chunk_.indirect_jumps.push_back({at, instruction.jumps_through_slot, false});
    for (const arch::NamedAddress& name : instruction.named())
        if (loaded_.holds(name))
            chunk_.named.push_back({at, name.use, name.address});
}

void ChunkDecoder::take_direct(Index at, const Instruction& instruction, bool in_function) {
    auto thunk = std::lower_bound(
        thunks_.begin(), thunks_.end(), instruction.target,
        [](const ThunkSymbol& each, uint64_t address) { return each.address < address; });
    if (thunk != thunks_.end() && thunk->address == instruction.target) {
        if (thunk->thunk == arch::Thunk::Return && instruction.flow == Flow::Jump)
            code_.traits[at] |= ReturnThunk;
        else if (thunk->thunk == arch::Thunk::Indirect && instruction.is_direct_jump())
            chunk_.indirect_jumps.push_back({at, false, true});
        else if (thunk->shorter_call && instruction.flow == Flow::Call)
            chunk_.returned_to.push_back(at + static_cast<Index>(thunk->shorter_call));
    }
    const std::optional<Index> to = code_.index(instruction.target);
    if (!to)
        return;
    if (instruction.flow == Flow::Call)
        chunk_.called.push_back(*to);
    else if (in_function)
        chunk_.jumps.push_back({at, *to});
    else
        chunk_.jumps_between.push_back({at, *to});
}

template <class T> void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

} // namespace

Result<std::vector<Naming>> decode(Code& code, const std::vector<FunctionRange>& functions,
                                   const std::vector<Symbol>& symbols,
                                   const DecodeOptions& options) {
    const std::vector<ThunkSymbol> thunks = find_thunks(code, symbols);
    const Loaded loaded(code.file());
    const std::vector<Range> ranges = ranges_of(code, functions);
    std::vector<Chunk> chunks = chunks_of(ranges, code.size(), options.threads);
    if (!InstructionDecoder::create())
        return Failure{"this build of djstap cannot decode instructions", ""};
    in_parallel(
        chunks.size(), options.threads,
        [&](size_t i) {
            // One for each thread: it costs more than to decode a small file.
            thread_local std::unique_ptr<InstructionDecoder> decoder = InstructionDecoder::create();
            ChunkDecoder chunk(code, thunks, loaded, options, *decoder, chunks[i]);
            for (size_t range = chunks[i].first_range; range < chunks[i].end_range; range++)
                chunk.run(ranges[range]);
        },
        [&](double share) {
            if (options.progress)
                options.progress(share);
        });
    std::vector<Naming> named;
    for (const Chunk& chunk : chunks) {
        append(code.jumps, chunk.jumps);
        append(code.indirect_jumps, chunk.indirect_jumps);
        append(named, chunk.named);
        for (const Edge& edge : chunk.jumps)
            code.entries[edge.to] |= ByJump;
        // What is there may be data: its jumps say nothing about where instructions begin.
        for (const Edge& edge : chunk.jumps_between)
            code.entries[edge.to] |= ByOtherJump;
        for (Index to : chunk.called)
            code.entries[to] |= ByCall;
        for (Index to : chunk.returned_to)
            if (to < code.size())
                code.entries[to] |= ByPatchedCall;
    }
    return named;
}

} // namespace djstap::regions
