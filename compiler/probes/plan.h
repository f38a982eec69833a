// SPDX-License-Identifier: GPL-2.0-or-later
// The output of probes/: where each probe is placed, by which mechanism and why, and how its
// target variables are accessed there.
#pragma once
#include "debuginfo/debuginfo.h"
#include "image/image.h"
#include "probes/payload.h"
#include "semantics/program.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace djstap {

constexpr uint32_t no_index = UINT32_MAX;

// Equal to enum djs_mechanism, from the same rows.
enum class Mechanism : uint8_t {
#define DJS_MECHANISM(id, Id, ...) Id,
#include "include/mechanisms.def"
#undef DJS_MECHANISM
};
// Returns whether the mechanism has one of these (enum djs_capability).
bool mechanism_can(Mechanism mechanism, uint32_t capabilities);
std::string_view mechanism_name(Mechanism mechanism); // "djprobe", "kprobe-int3", …

enum class HandlerKind : uint8_t {
    Begin,
    End,
    Error,
    Timer,
    Entry,
    Return
}; // enum djs_handler_kind

// How to compute one value: a base, then steps on an accumulator.
struct AccessStep {
    enum class Kind : uint8_t {
        Add,      // += amount
        AddIndex, // += index * amount (bytes of an element)
        Load,     // = memory at the accumulator, `size` bytes
        Extend,   // keep `size` low bytes
        BitField, // take bit_size bits from bit_offset
        Widen     // the bits of a float become those of a double
    } kind = Kind::Add;
    int64_t amount = 0;
    const program::Expression* index = nullptr;
    uint8_t size = 8; // 1, 2, 4, 8
    bool is_signed = false;
    uint8_t bit_offset = 0, bit_size = 0;
};
struct Access {
    enum class Base : uint8_t {
        Register, // of the probed context
        Constant,
        Computed,     // what `operations` compute; their addresses are of images[image]
        PerCpu,       // link-time address `constant` of a variable that each CPU has
        ImageAddress, // link-time address `constant` of ProbePlan::images[image]
        Operand,      // the value of `operand` (@cast)
        ReturnValue,
        FileText,   // the content of a procfs file: a string
        PerfCounter // the counter number `constant`
    } base = Base::Register;
    PtReg reg{};
    uint64_t constant = 0;
    uint32_t image = 0;
    const program::Expression* operand = nullptr;
    std::vector<LocationOperation> operations;
    std::vector<AccessStep> steps;
    AddressSpace space = AddressSpace::Kernel; // of the addresses on the way
    TypeId type = 0;                           // of the result, for listings
};
// Returns whether a computation reads memory.
inline bool loads(const std::vector<LocationOperation>& operations) {
    return std::any_of(operations.begin(), operations.end(), [](const LocationOperation& each) {
        return each.kind == LocationOperation::Kind::Load;
    });
}
inline bool loads(const Access& access) {
    return loads(access.operations) ||
           std::any_of(access.steps.begin(), access.steps.end(),
                       [](const AccessStep& step) { return step.kind == AccessStep::Kind::Load; });
}
// Returns whether the address of something in `image` is needed.
inline bool uses_image_address(const Access& access) {
    return access.base == Access::Base::ImageAddress ||
           std::any_of(access.operations.begin(), access.operations.end(),
                       [](const LocationOperation& each) {
                           return each.kind == LocationOperation::Kind::Address;
                       });
}
// A target variable: a number, or a string composed of several ($x$, $$vars).
struct TargetAccess {
    Access value;         // the TargetValue's type is Long
    bool is_text = false; // the type is String: format and parts
    std::vector<program::FormatPiece> format;
    std::vector<Access> parts; // one for each conversion; for 's' an address of a C string
    // Pieces [first, end) of `format` that show one value: if a part of it cannot be read, they are
    // replaced by "ERROR".
    struct Shown {
        size_t first = 0, end = 0;
    };
    std::vector<Shown> shown; // ascending
};

using AccessMap = std::unordered_map<const program::Expression*, TargetAccess>;
using DefinedMap = std::unordered_map<const program::Expression*, bool>;

// The callers that a hit must have, as their return addresses on the stack tell.
struct CallerFrame {
    // The last frame: the return address follows a call in one of these.
    std::vector<CodeRange> code;
    // Any other frame: it is one of these, and that of the next frame is stored `next` bytes above,
    // or `next` bytes from where the frame pointer points to.
    struct Call {
        uint64_t return_address = 0;
        int64_t next = 0;
        bool by_frame_pointer = false;
        // The next frame's own frame pointer is stored that far from there; nothing: it is this
        // one's.
        std::optional<int64_t> frame_pointer;
    };
    std::vector<Call> calls;
};
struct Callers {
    // The memory at reg + offset holds the first return address.
    PtReg reg{};
    int64_t offset = 0;
    // The first frame's own frame pointer is stored that far from there; nothing: it is in the
    // register.
    std::optional<int64_t> frame_pointer;
    uint32_t image = no_index;       // of ProbePlan::images: contains all their code
    std::vector<CallerFrame> frames; // from the innermost one; empty: any callers
};

// One compiled handler: a probe's body with target variables that are resolved alike for all its
// sites.
struct Variant {
    const program::Probe* probe = nullptr;
    HandlerKind kind = HandlerKind::Entry;
    AccessMap accesses; // TargetValue nodes of the body, the condition and the entry values
    DefinedMap defined;
    uint32_t mechanisms = 0; // of its sites: 1 << Mechanism
    bool has(Mechanism mechanism) const {
        return mechanisms & 1u << static_cast<unsigned>(mechanism);
    }
    // Returns whether one of its mechanisms has one of these capabilities.
    bool has_any(uint32_t capabilities) const;
    // Returns whether each of them has one.
    bool has_only(uint32_t capabilities) const;
    bool syscall = false; // long_arg() is an argument of a system call, by kernel.function("sys_…")
    bool faults_again = false; // it can fail, and its sites are where the kernel handles that fault
    Payload payload;           // the parameters of its mechanism
    Callers callers;
};

// The trampoline of direct calls: a function can have only one, so it runs all the handlers that
// the script has there, in the script's order. Functions with the same handlers share a trampoline.
struct ProbePlan;
struct Trampoline {
    std::vector<uint32_t> variants;
    // Link-time addresses where its functions continue after their fentry sites.
    std::vector<uint64_t> functions;
    // It has return handlers, and its only function is in a module: the address where that
    // continues is known when the module is loaded.
    bool in_module = false;
    // Returns whether some handler runs at the return.
    bool returns(const ProbePlan& plan) const;
};
struct Site {
    uint32_t variant = 0;
    Mechanism mechanism = Mechanism::None;
    bool forced = false; // --mechanism
    // why this mechanism: "fentry site", "no fentry site", "not at a function's entry"
    std::string reason;
    std::string jump;     // of a kprobe, for listings: whether the kernel could make it a jump
    uint64_t address = 0; // link-time: fentry site or instruction
    uint64_t entry = 0;   // link-time: the function's symbol
    // djprobe: the instruction after the fentry site; return djprobe: the site.
    uint64_t fallback = 0;
    // enum djs_fentry: whether the address is an fentry site. The runtime does not find that out
    // from the text, which others may be changing.
    uint16_t fentry = 0;
    // The bytes of the file there. Of a kprobe-jump, those that the jump replaces, and as many
    // that are 0 where the loader of modules writes, else 0xff; of a program
    // that no build-id identifies, the first ones. Empty: unknown, or of no interest.
    std::string code;
    uint32_t maxactive = 0;
    uint32_t trampoline = no_index;     // of ProbePlan::trampolines: djprobes of both kinds
    uint32_t next = no_index;           // the site whose handler runs next at the same direct call
    uint32_t image = no_index;          // of ProbePlan::images: contains the code or tracepoint
    std::string point;                  // pp()
    std::string function;               // probefunc()
    std::string name;                   // pn(): pp(), or the alias that led to it
    std::string written;                // the point as written in the script, or its alias
    const FunctionInfo* info = nullptr; // of ProbePlan::functions; null for none
};

// An image that contains sites or values of a script.
struct ProbedImage {
    ImageKind kind = ImageKind::Kernel;
    std::string name;
    std::string file;
    std::string build_id; // hexadecimal
    uint64_t build_id_address = 0;
    std::vector<Segment> segments;
    static ProbedImage of(const Image& image);
};

struct ProbePlan {
    std::vector<Variant> variants;
    std::vector<ProbedImage> images;
    std::vector<Site> sites;
    std::vector<Trampoline> trampolines;
    AccessMap function_accesses; // TargetValue (@cast) nodes inside script functions
    DefinedMap function_defined;
    std::vector<std::unique_ptr<FunctionInfo>> functions;
    // What the script names in programs and jumps in the process do not reach, but uprobes do: a
    // sentence for each, with the reason.
    std::vector<std::string> unreached;
    // Returns whether the image may be loaded and unloaded while the script runs.
    bool is_in_module(const Site& site) const {
        return site.image != no_index && images[site.image].kind == ImageKind::Module;
    }
};

} // namespace djstap
