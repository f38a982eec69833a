// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/mechanisms.h"

#include "arch/arch.h"
#include "arch/instructions.h"
#include "image/elf_file.h"
#include "include/mechanisms.h"

#include <array>
#include <utility>

namespace djstap {

namespace {

MechanismChoice refuse(std::string why) {
    MechanismChoice choice;
    choice.refusal = std::move(why);
    return choice;
}

MechanismChoice refuse_any(std::string why) {
    MechanismChoice choice = refuse(std::move(why));
    choice.never = true;
    return choice;
}

// Determined by the function that contains the code, even if it was inlined there.
bool is_without_exceptions(const Image& image, uint64_t address, std::string_view symbol) {
    if (arch::runs_without_exceptions(symbol))
        return true;
    const auto whole = image.has_addresses() ? image.symbol_at(address) : std::nullopt;
    return whole && arch::runs_without_exceptions(whole->name);
}
constexpr const char* without_exceptions = "CPUs run it while they cannot take an exception";

constexpr const char* run_by_tracers =
    "the kernel's function tracers run it, and would hit the breakpoint again and again";

// Returns why no kprobe may be at an address; empty: one may. `symbol` as in choose_for_entry.
std::string no_kprobe(const Image& image, uint64_t address, std::string_view symbol) {
    const auto whole = image.has_addresses() ? image.symbol_at(address) : std::nullopt;
    if (arch::is_in_tracers(symbol) || (whole && arch::is_in_tracers(whole->name)))
        return run_by_tracers;
    return image.kprobe_forbidden(address) ? "the kernel forbids kprobes there" : "";
}

// "f.cold", "f.part.0.cold": returns f.
std::string_view whole_of_cold_part(std::string_view name) {
    constexpr std::string_view mark = ".cold";
    const size_t at = name.find(mark), end = at + mark.size();
    const bool is_part = at != std::string_view::npos && (end == name.size() || name[end] == '.');
    return is_part ? name.substr(0, at) : std::string_view();
}

// A return probe finds the address to which the function returns at the top of the stack. Returns a
// refusal where there is something else, or where another task returns; nothing for a function.
std::optional<MechanismChoice> refuse_return(const Image& image, uint64_t entry,
                                             std::string_view symbol) {
    const auto found = image.has_addresses() ? image.symbol_at(entry) : std::nullopt;
    const bool is_there = found && found->address == entry;
    for (std::string_view name : {symbol, is_there ? found->name : std::string_view()}) {
        if (const std::string_view whole = whole_of_cold_part(name); !whole.empty()) {
            MechanismChoice choice = refuse_any("it is a part of '" + std::string(whole) +
                                                "' that the compiler split off: nothing calls it");
            choice.hint = "probe the return of '" + std::string(whole) + "'";
            return choice;
        }
        if (arch::is_between_tasks(name))
            return refuse_any("it returns in another task than it was called in");
        if (arch::is_left_without_return(name))
            return refuse_any("it may be left without returning, by a task that goes on");
    }
    if (image.has_addresses() && image.fentry_site(entry))
        return std::nullopt;
    if (!arch::is_uncalled(symbol) &&
        !(is_there && (!found->function || arch::is_uncalled(found->name))))
        return std::nullopt;
    MechanismChoice choice =
        refuse_any("it is not a function, but assembler code that is not only called");
    choice.hint = "without .return, its beginning is probed";
    return choice;
}

// The kernel checks where a kprobe goes, but a uprobe replaces a byte of whatever is there. Line
// tables have rows within instructions. Nothing is known without the bytes, or where they cannot be
// decoded.
bool is_within_instruction(const Image& program, uint64_t address) {
    const auto symbol = program.symbol_at(address);
    thread_local const auto decoder = arch::InstructionDecoder::create();
    if (!symbol || !decoder)
        return false;
    const std::string_view bytes = program.bytes_at(symbol->address, symbol->size);
    const uint64_t wanted = address - symbol->address;
    uint64_t at = 0;
    while (at < wanted && at < bytes.size()) {
        const uint8_t length = decoder->decode(bytes.substr(at), symbol->address + at).length;
        if (length == 0)
            return false;
        at += length;
    }
    return at > wanted;
}

bool is_kprobe(Mechanism mechanism) {
    return mechanism_can(mechanism, DJS_IS_KPROBE);
}

// Returns the mechanisms that have one of these capabilities: 1 << Mechanism.
uint32_t mechanisms_with(uint32_t capabilities) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < DJS_MECHANISM_COUNT; i++)
        found |= static_cast<uint32_t>(djs_mechanism_can(i, capabilities)) << i;
    return found;
}

} // namespace

std::string_view mechanism_name(Mechanism mechanism) {
    return djs_mechanism_name(static_cast<uint32_t>(mechanism));
}

bool mechanism_can(Mechanism mechanism, uint32_t capabilities) {
    return djs_mechanism_can(static_cast<uint32_t>(mechanism), capabilities);
}

bool Variant::has_any(uint32_t capabilities) const {
    return mechanisms & mechanisms_with(capabilities);
}

bool Variant::has_only(uint32_t capabilities) const {
    return !(mechanisms & ~mechanisms_with(capabilities));
}

std::optional<Mechanism> mechanism_by_name(std::string_view name) {
    for (uint32_t i = 0; i < DJS_MECHANISM_COUNT; i++)
        if (djs_mechanism_can(i, DJS_CAN_BE_FORCED) && djs_mechanism_name(i) == name)
            return static_cast<Mechanism>(i);
    return std::nullopt;
}

std::vector<std::string> mechanism_names() {
    std::vector<std::string> names{"auto"};
    for (uint32_t i = 0; i < DJS_MECHANISM_COUNT; i++)
        if (djs_mechanism_can(i, DJS_CAN_BE_FORCED))
            names.emplace_back(djs_mechanism_name(i));
    return names;
}

bool is_go(const Image& program) {
    const ElfFile* elf = program.elf();
    return elf && (elf->section(".gopclntab") || elf->section(".note.go.buildid"));
}

namespace {

MechanismChoice choose_in_program(const Image& image, uint64_t address, Mechanism mechanism,
                                  const char* reason, std::optional<Mechanism> forced) {
    if (forced)
        return refuse("code of programs is not probed by " + std::string(mechanism_name(*forced)));
    if (!image.in_text(address))
        return refuse_any("it is not in the code of the file");
    MechanismChoice choice;
    choice.mechanism = mechanism;
    choice.reason = reason;
    choice.address = address;
    return choice;
}

} // namespace

bool is_gone(const Image& image, uint64_t address) {
    return image.has_addresses() && !image.in_text(address);
}

MechanismChoice choose_for_entry(const Image& image, uint64_t entry,
                                 std::optional<Mechanism> forced, bool all_registers,
                                 std::string_view symbol) {
    if (image.kind() == ImageKind::Program)
        return choose_in_program(image, entry, Mechanism::Uprobe, "the entry of a function",
                                 forced);
    if (is_gone(image, entry))
        return refuse_any(gone);
    if (is_without_exceptions(image, entry, symbol))
        return refuse_any(without_exceptions);
    if (forced == Mechanism::Djprobe && all_registers)
        return refuse("its handler uses registers that a direct call does not preserve");
    std::optional<uint64_t> site = image.fentry_site(entry);
    // Where addresses are hidden, a site is only assumed.
    if (!image.has_addresses() && arch::is_in_tracers(symbol))
        return refuse_any(run_by_tracers);
    MechanismChoice choice;
    if (!forced || forced == Mechanism::Djprobe || forced == Mechanism::Ftrace) {
        if (site) {
            choice.mechanism =
                forced.value_or(all_registers ? Mechanism::Ftrace : Mechanism::Djprobe);
            choice.reason = forced          ? "forced"
                            : all_registers ? "its handler uses all registers"
                                            : "fentry site";
            choice.address = *site;
            if (image.knows_fentry_sites() && !arch::is_in_tracers(symbol))
                choice.fallback = *site + fentry_bytes;
            return choice;
        }
        if (forced)
            return refuse("it has no fentry site");
    }
    if (forced && !is_kprobe(*forced))
        return refuse("its entry cannot be probed by " + std::string(mechanism_name(*forced)));
    if (const std::string objection = no_kprobe(image, entry, symbol); !objection.empty())
        return refuse(objection);
    choice.mechanism = forced.value_or(Mechanism::Kprobe);
    choice.reason = forced ? "forced" : "no fentry site";
    choice.address = entry;
    // A jump or a breakpoint cannot be placed on the fentry site, which belongs to ftrace: the next
    // instruction sees the same registers.
    if (site && image.knows_fentry_sites() &&
        (choice.mechanism == Mechanism::KprobeInt3 || choice.mechanism == Mechanism::KprobeJump))
        choice.address = *site + fentry_bytes;
    else if (site)
        choice.address = *site;
    else if (choice.mechanism == Mechanism::KprobeFtrace)
        return refuse("it has no fentry site");
    return choice;
}

MechanismChoice choose_for_return(const Image& image, uint64_t entry, const ReturnSafety& safety,
                                  std::optional<Mechanism> forced, std::string_view symbol) {
    if (image.kind() == ImageKind::Program && is_go(image))
        return refuse_any("the program is written in Go, which does not survive that its return "
                          "addresses are exchanged");
    if (image.kind() == ImageKind::Program)
        return choose_in_program(image, entry, Mechanism::Uretprobe, "the return of a function",
                                 forced);
    using Verdict = ReturnSafety::Verdict;
    if (is_gone(image, entry))
        return refuse_any(gone);
    if (is_without_exceptions(image, entry, symbol))
        return refuse_any(without_exceptions);
    if (auto refused = refuse_return(image, entry, symbol))
        return *refused;
    std::optional<uint64_t> site = image.fentry_site(entry);
    const std::string objection = no_kprobe(image, entry, symbol);
    MechanismChoice choice;
    choice.address = site.value_or(entry);
    if (forced == Mechanism::ReturnDjprobe) {
        if (!site)
            return refuse("it has no fentry site");
        if (safety.verdict == Verdict::Unsafe)
            return refuse(safety.reason);
    }
    if (forced == Mechanism::ReturnDjprobe ||
        (!forced && site && safety.verdict == Verdict::Safe)) {
        choice.mechanism = Mechanism::ReturnDjprobe;
        choice.reason = forced ? "forced" : safety.reason;
        choice.fallback = objection.empty() ? *site : 0;
        return choice;
    }
    if (forced && *forced != Mechanism::Kretprobe && !is_kprobe(*forced))
        return refuse("returns are probed by return-djprobe or kretprobe, not by " +
                      std::string(mechanism_name(*forced)));
    if (!objection.empty())
        return refuse(objection);
    choice.mechanism = Mechanism::Kretprobe;
    choice.reason = forced ? "forced" : site ? safety.reason : "no fentry site";
    return choice;
}

MechanismChoice choose_for_instruction(const Image& image, uint64_t address,
                                       std::optional<Mechanism> forced) {
    if (image.kind() == ImageKind::Program) {
        if (is_within_instruction(image, address))
            return refuse_any("no instruction begins there");
        return choose_in_program(image, address, Mechanism::Uprobe, "an instruction", forced);
    }
    if (is_gone(image, address))
        return refuse_any(gone);
    if (is_without_exceptions(image, address, {}))
        return refuse_any(without_exceptions);
    if (forced && !is_kprobe(*forced))
        return refuse("it is not at a function's entry, which " +
                      std::string(mechanism_name(*forced)) + " requires");
    if (forced == Mechanism::KprobeFtrace)
        return refuse("it is not an fentry site");
    if (const std::string objection = no_kprobe(image, address, {}); !objection.empty())
        return refuse(objection);
    MechanismChoice choice;
    choice.mechanism = forced.value_or(Mechanism::Kprobe);
    choice.reason = forced ? "forced" : "not at a function's entry";
    choice.address = address;
    return choice;
}

} // namespace djstap
