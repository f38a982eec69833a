// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/stack_samples.h"

#include "include/symbols.h"
#include "include/words.h"
#include "session/printed_values.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace djstap {

namespace {

constexpr size_t sample_overhead = 96; // of a std::map's node and a std::string
constexpr std::string_view other_stacks = "[other stacks]";

// A frame's name contains neither the separator of frames nor a line's end.
void add_frame(std::string& stack, std::string_view name) {
    if (!stack.empty())
        stack += ';';
    for (const char character : name)
        stack += character == ';' ? ':' : character == '\n' || character == '\r' ? ' ' : character;
}

// Adds the lines of a printed backtrace, the innermost function first, as frames.
void add_lines(std::string& stack, std::string_view text) {
    std::vector<std::string_view> names;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        if (const auto name = function_of(text.substr(0, end)); !name.empty())
            names.push_back(name);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    for (auto name = names.rbegin(); name != names.rend(); ++name)
        add_frame(stack, *name);
}

bool is_backtrace(char type) {
    return type == DJS_SYMBOLS_BACKTRACE || type == DJS_SYMBOLS_LINES;
}

} // namespace

std::string_view function_of(std::string_view symbol) {
    if (const size_t colon = symbol.find(" : "); colon != std::string_view::npos)
        symbol.remove_prefix(colon + 3);
    while (symbol.starts_with(' '))
        symbol.remove_prefix(1);
    symbol = symbol.substr(0, symbol.find('\n'));
    // "0xADDRESS [FILE+0xOFFSET]" of a program's code without symbols: the address means nothing
    // in another process.
    if (const size_t file = symbol.find(" ["); symbol.starts_with("0x") && file != symbol.npos)
        return symbol.substr(file + 1);
    // Names of C++ and Rust contain spaces and plus signs.
    symbol = symbol.substr(0, symbol.rfind(" ["));
    return symbol.substr(0, symbol.rfind("+0x"));
}

void StackOutput::note_time(const Event& event) {
    const uint64_t now = event.realtime_ns();
    if (!first_ns_)
        first_ns_ = now;
    last_ns_ = std::max(last_ns_, now);
}

// `addresses`: those of a StackArgument, the innermost function first.
void StackOutput::take_frames(std::string_view addresses, std::string& stack) {
    if (!symbols_)
        symbols_ = same_boot_ ? KernelSymbols::of_running_kernel() : KernelSymbols();
    for (size_t at = addresses.size(); at >= sizeof(uint64_t); at -= sizeof(uint64_t)) {
        uint64_t word;
        std::memcpy(&word, addresses.data() + at - sizeof word, sizeof word);
        const bool of_program = djs_is_user_word(word);
        const uint64_t address = djs_word_address(word);
        // All but the innermost are addresses to return to: the call precedes them.
        const bool innermost = at == sizeof address;
        const std::string_view name =
            of_program ? std::string_view() : symbols_->name_of(address - (innermost ? 0 : 1));
        if (!name.empty()) {
            add_frame(stack, name);
            continue;
        }
        (of_program ? unnamed_of_programs_ : unnamed_)++;
        char digits[2 + 16 + 1];
        std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(address));
        add_frame(stack, digits);
    }
}

void StackOutput::add(const std::string& stack, int64_t count) {
    found_++;
    if (count <= 0 || stack.empty()) {
        not_positive_++;
        return;
    }
    const auto sum = [&](int64_t& total) {
        if (__builtin_add_overflow(total, count, &total))
            total = INT64_MAX;
    };
    if (const auto known = samples_.find(stack); known != samples_.end())
        return sum(known->second);
    const size_t size = stack.size() + sample_overhead;
    if (bytes_ + size > most_bytes_ && !samples_.empty()) {
        if (!writes_in_parts()) {
            other_++;
            return sum(samples_[std::string(other_stacks)]);
        }
        write(samples_, false);
        samples_.clear();
        bytes_ = 0;
    }
    samples_.emplace(stack, count);
    bytes_ += size;
}

void StackOutput::print(const Event& event) {
    note_time(event);
    if (event.is_text())
        return;
    const ModuleMeta::Format& format = event.format;
    std::string stack;
    bool has_stack = false;
    std::vector<int64_t> numbers; // behind the stack
    Arguments arguments = event.values();
    for (size_t i = 0; arguments.left(); i++) {
        const auto argument = arguments.next();
        if (!argument)
            return;
        if (const auto* addresses = std::get_if<StackArgument>(&*argument)) {
            take_frames(addresses->bytes.substr(sizeof(uint64_t)), stack);
            has_stack = true;
        } else if (const auto* text = std::get_if<std::string_view>(&*argument)) {
            if (i < event.recorded_types.size() && is_backtrace(event.recorded_types[i])) {
                add_lines(stack, *text);
                has_stack = true;
            } else if (!has_stack || (!format.shows.empty() && i < format.keys)) {
                add_frame(stack, *text);
            }
        } else if (const auto* number = std::get_if<int64_t>(&*argument)) {
            if (!has_stack || (!format.shows.empty() && i < format.keys))
                add_frame(stack, std::to_string(*number));
            else
                numbers.push_back(*number);
        }
    }
    if (!has_stack)
        return;
    constexpr size_t sum_at = 3;
    const bool is_statistic = !format.shows.empty() && numbers.size() == statistic_numbers;
    add(stack, is_statistic ? numbers[sum_at] : numbers.empty() ? 1 : numbers.back());
}

bool StackOutput::print_stack(const Event& event, std::span<const std::string> lines) {
    note_time(event);
    std::string stack;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
        add_frame(stack, function_of(*line));
    add(stack, 1);
    return true;
}

void StackOutput::end() {
    write(samples_, true);
    if (!found_)
        tell(writer().name() + ": no call stack was printed: an array with backtrace() as a key, "
                               "print_backtrace() and "
                               "a print of backtrace() have some, and so have those of "
                               "ubacktrace()");
    if (not_positive_)
        tell(writer().name() + ": " + std::to_string(not_positive_) +
             (not_positive_ == 1 ? " stack was omitted: its count is"
                                 : " stacks were omitted: their "
                                   "counts are") +
             " not positive");
    if (unnamed_)
        tell(same_boot_
                 ? writer().name() +
                       ": functions are shown as addresses: the running kernel's symbols cannot "
                       "be read, or lack them (kernel.kptr_restrict)"
                 : writer().name() +
                       ": functions are shown as addresses: a crash dump has no symbols for the "
                       "keys of arrays; sprint_syms(backtrace()) records them");
    if (unnamed_of_programs_)
        tell(writer().name() + ": functions of programs are shown as addresses: only "
                               "print_ubacktrace(), print_usyms() and prints of "
                               "sprint_ubacktrace() record their symbols");
    if (other_)
        tell(writer().name() + ": " + std::to_string(other_) +
             " samples are counted as one stack " + std::string(other_stacks) +
             ": the others exceed the memory for stacks");
}

} // namespace djstap
