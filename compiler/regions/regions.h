// SPDX-License-Identifier: GPL-2.0-or-later
// Which instructions of a program or a kernel may be replaced by a jump that takes more bytes than
// they do: nothing may enter the replaced bytes other than at their beginning, and the instructions
// in them must be able to run elsewhere.
#pragma once
#include "debuginfo/line_rows.h"
#include "image/elf_file.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::regions {

// What runs elsewhere.
enum class Model : uint8_t {
    Kernel,   // what the kernel's optimizer of kprobes copies
    Relocate, // what can be encoded again: also calls and jumps
    Short     // the same; also by a short jump to one nearby: in unused space between functions, or
              // where other instructions are moved away for it
};

enum class Reason : uint8_t {
    None,
#define DJS_REASON(name, tag, text) name,
#include "regions/reasons.def"
#undef DJS_REASON
    Count
};

std::string_view reason_tag(Reason reason);
std::string_view reason_text(Reason reason);
// True if control may enter the replaced bytes other than at their beginning. Whatever instructions
// the kernel has put there since, no jump may be planted.
bool is_entered(Reason reason);

// How a kernel decides which of its kprobes become jumps.
struct KernelRule {
    bool refuses_indirect_jumps = true; // for the whole function
    bool newer = false;                 // it copies more instructions

    // Returns that of a kernel image, by what is in it.
    static KernelRule of(const ElfFile& vmlinux);
};

struct Options {
    Model model = Model::Relocate;
    unsigned threads = 0; // 0: as many as there are CPUs
    // Of a kernel that runs at its link-time addresses: the bytes that are in memory of its section
    // .text; of a module: the same, as module_text() returns them. They must outlive the analysis.
    // Empty: the file's.
    std::string_view live_text = {};
    // That of a module's kernel, which the module does not tell. Nothing: the file's own, and for a
    // module the older rule.
    std::optional<KernelRule> rule = {};
    // Receives the share of the work that is done, now and then, in the thread that asked for it.
    std::function<void(double)> progress = {};
};

// The answer for one instruction.
struct Place {
    uint64_t address = 0;
    uint8_t length = 0;           // of the instruction
    uint8_t region = 0;           // bytes of the instructions that a jump would replace; 0: unknown
    bool leader = false;          // control may enter here
    bool by_kernel = false;       // the kernel's way of looking for jumps finds nothing against it
    Reason reason = Reason::None; // None: a jump may be planted
    uint64_t space = 0;           // a short jump, to one in the space there; 0: a long one
    uint64_t room = 0;            // the first of the instructions that make this space; 0: unused

    bool safe() const { return reason == Reason::None; }
};

struct FunctionResult {
    std::string name;
    uint64_t address = 0, size = 0;
    uint32_t instructions = 0; // I
    uint32_t by_kernel = 0;    // K
    uint32_t safe = 0;         // B
    // The entry can be patched: a jump may be planted at the first instruction behind a landing
    // pad, or ftrace patches it.
    bool entry_safe = false;
    std::array<uint32_t, static_cast<size_t>(Reason::Count)> reasons{};

    // Whether it is part of the totals: not if it has one instruction, or if no probe is allowed
    // anywhere in it.
    bool is_counted() const {
        return instructions > 1 && reasons[static_cast<size_t>(Reason::NoProbes)] < instructions;
    }
};

// Where a function returns to its caller.
struct Exits {
    struct Return {
        uint64_t address = 0;
        // Where a jump could be planted that replaces the return, too; those that are safe come
        // first, of these the nearest one; those that only the function's end forbids, last.
        std::vector<Place> places;
    };
    std::vector<Return> returns;
    std::string_view refusal; // why the function may end elsewhere; empty: it does not

    // Returns why the returns cannot be patched; empty if they can.
    std::string_view objection() const;
};

// An indirect jump whose targets are unknown.
struct UnknownJump {
    uint64_t address = 0;
    std::string_view function;
};

// A place where the kernel would plant a jump and must not.
struct UnsafePlace {
    uint64_t address = 0;
    Reason reason{};
    uint64_t entered_at = 0;              // where control enters the region
    std::optional<uint64_t> entered_from; // a jump to there
};

// `known` has 0xff for each of the bytes, and 0 for those that a module's loader writes.
struct ReplacedBytes {
    std::string bytes, known;
};

// Of all functions that count.
struct Totals {
    uint64_t functions = 0, instructions = 0, by_kernel = 0, safe = 0;
    uint64_t entries_safe = 0; // whose entry can be patched
    double average_gain_percent = 0;

    double percent(uint64_t part) const;
    double overall_gain_percent() const { return percent(safe) - percent(by_kernel); }
};

// What one knows who only believes a kind of rows of the line program: that control enters where
// they are, and nowhere else.
struct LineLeaders {
    uint64_t rows = 0;
    uint64_t missed = 0;  // places where control enters, without a row
    uint64_t planted = 0; // instructions at which a jump would be planted
    uint64_t unsafe = 0;  // of these, where control may enter the region
};

struct LineCheck {
    LineLeaders all, statements, blocks;
    uint64_t leaders = 0;                // where control enters, in functions that have rows
    uint64_t instructions = 0, safe = 0; // of these functions
    std::vector<uint64_t> tables;        // targets of jump tables without a row
    // Of the line programs' instructions: as a usual assembler encodes them, and with a basic_block
    // row for each leader.
    uint64_t encoded = 0, encoded_with_blocks = 0;
};

class Analysis {
  public:
    // Fails if the file is not linked (for a module: link_module_code) or contains no code. The
    // file must outlive the object.
    static Result<Analysis> of(const ElfFile& file, const Options& options);
    Analysis(Analysis&&) noexcept;
    Analysis& operator=(Analysis&&) noexcept;
    ~Analysis();

    const std::vector<FunctionResult>& functions() const;
    const std::vector<UnknownJump>& unknown_jumps() const;
    Totals totals() const;
    // Returns the number of the function with this name or alias, or that contains the address.
    std::optional<size_t> function(std::string_view name) const;
    std::optional<size_t> function_at(uint64_t address) const;
    std::optional<uint64_t> address_of(std::string_view symbol) const;
    // Returns the answers for all instructions of a function.
    std::vector<Place> places(size_t function) const;
    // Returns nothing if no instruction of a function begins at the address.
    std::optional<Place> place(uint64_t address) const;
    // Returns where a function with this entry is patched: at its first instruction, or behind a
    // landing pad, which stays where it is, as indirect calls lead there.
    std::optional<Place> entry(uint64_t address) const;
    // Returns where the function with this entry returns, also in parts that were split off. Not to
    // be called by several threads at the same time.
    Exits exits(uint64_t address) const;
    // Returns the bytes of a place's instruction.
    std::string_view bytes(const Place& place) const;
    // Returns what the instructions of a place's region are in a kernel that runs: a return is
    // where the compiler wrote a jump to a thunk.
    ReplacedBytes replaced_bytes(const Place& place) const;
    // Always about what the kernel copies, whatever the model.
    std::vector<UnsafePlace> unsafe() const;
    // Compares the rows of the file's line program with what was found.
    LineCheck check_lines(const std::vector<LineRow>& rows) const;
    // Returns "function+0x12", or the address if it is in no function.
    std::string describe(uint64_t address) const;

  private:
    struct State;
    explicit Analysis(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace djstap::regions
