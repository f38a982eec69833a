// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/regions_output.h"

#include "arch/instructions.h"
#include "debuginfo/line_lookup.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace djstap::driver {

namespace {

using Json = nlohmann::ordered_json;
using regions::Analysis;
using regions::FunctionResult;
using regions::Place;
using regions::Reason;

constexpr size_t reason_count = static_cast<size_t>(Reason::Count);

__attribute__((format(printf, 2, 3))) void add(std::string& text, const char* format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (size > 0)
        text.append(line, std::min(static_cast<size_t>(size), sizeof line - 1));
}

std::string tag(Reason reason) {
    return std::string(regions::reason_tag(reason));
}

std::vector<std::pair<Reason, uint64_t>> reasons_of(const std::vector<FunctionResult>& functions) {
    std::array<uint64_t, reason_count> counts{};
    for (const FunctionResult& each : functions)
        if (each.is_counted())
            for (size_t i = 0; i < reason_count; i++)
                counts[i] += each.reasons[i];
    std::vector<std::pair<Reason, uint64_t>> sorted;
    for (size_t i = 0; i < reason_count; i++)
        if (counts[i])
            sorted.emplace_back(static_cast<Reason>(i), counts[i]);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return sorted;
}

// ", by a short jump to …", or nothing.
std::string space_text(const Place& place) {
    if (!place.space)
        return {};
    std::string text = ", by a short jump to " + hexadecimal(place.space);
    if (place.room)
        text += ", for which the instructions from " + hexadecimal(place.room) + " on are moved";
    return text;
}

std::string verdict(const Place& place) {
    return place.safe() ? "" : std::string(regions::reason_text(place.reason));
}

Json place_json(const Analysis& analysis, const Place& place) {
    Json json = {{"address", hexadecimal(place.address)},
                 {"place", analysis.describe(place.address)},
                 {"length", place.length},
                 {"leader", place.leader},
                 {"kernel", place.by_kernel},
                 {"safe", place.safe()},
                 {"reason", tag(place.reason)}};
    if (place.space)
        json["space"] = hexadecimal(place.space);
    if (place.room)
        json["room"] = hexadecimal(place.room);
    return json;
}

Json totals_json(const Analysis& analysis) {
    const regions::Totals totals = analysis.totals();
    return {{"functions", totals.functions},
            {"entries", totals.entries_safe},
            {"instructions", totals.instructions},
            {"K_percent", totals.percent(totals.by_kernel)},
            {"B_percent", totals.percent(totals.safe)},
            {"overall_gain_percent", totals.overall_gain_percent()},
            {"average_gain_percent", totals.average_gain_percent}};
}

std::string byte_text(std::string_view bytes) {
    std::string text;
    for (unsigned char byte : bytes)
        add(text, "%s%02x", text.empty() ? "" : " ", byte);
    return text;
}

// As an assembler writes it, with the function that it calls or jumps to.
std::string instruction_text(const Analysis& analysis, arch::InstructionDecoder* decoder,
                             const Place& place, std::string_view bytes) {
    if (!decoder)
        return {};
    std::string text = decoder->text(bytes, place.address);
    if (const uint64_t target = decoder->decode(bytes, place.address).target)
        text += " <" + analysis.describe(target) + ">";
    return text;
}

// JSON that need not be valid UTF-8: names come from the file.
std::string printed(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace

std::string hexadecimal(uint64_t address) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

std::string functions_as_text(const Analysis& analysis) {
    std::string text;
    add(text, "%8s %8s %8s  %s\n", "I", "K", "B", "function: refusals");
    for (const FunctionResult& each : analysis.functions()) {
        add(text, "%8u %8u %8u  ", each.instructions, each.by_kernel, each.safe);
        text += each.name;
        const char* separator = ": ";
        for (size_t i = 0; i < reason_count; i++) {
            if (each.reasons[i] == 0)
                continue;
            text += separator + tag(static_cast<Reason>(i)) + " " + std::to_string(each.reasons[i]);
            separator = ", ";
        }
        text += "\n";
    }
    return text + "\n" + totals_as_text(analysis);
}

std::string totals_as_text(const Analysis& analysis) {
    std::string text;
    const regions::Totals totals = analysis.totals();
    add(text, "%llu function%s, of which %llu can be patched at the entry, %llu instructions\n",
        static_cast<unsigned long long>(totals.functions), totals.functions == 1 ? "" : "s",
        static_cast<unsigned long long>(totals.entries_safe),
        static_cast<unsigned long long>(totals.instructions));
    add(text, "K %.2f %%, B %.2f %%, overall gain %.2f %%, average gain %.2f %%\n",
        totals.percent(totals.by_kernel), totals.percent(totals.safe),
        totals.overall_gain_percent(), totals.average_gain_percent);
    const auto reasons = reasons_of(analysis.functions());
    if (!reasons.empty())
        text += "\nRefused:\n";
    for (const auto& [reason, count] : reasons)
        add(text, "%8llu %6.2f %%  %-20s %s\n", static_cast<unsigned long long>(count),
            totals.percent(count), tag(reason).c_str(),
            std::string(regions::reason_text(reason)).c_str());
    if (!analysis.unknown_jumps().empty())
        text += "\nIndirect jumps with unknown targets:\n";
    for (const regions::UnknownJump& jump : analysis.unknown_jumps())
        text += "  " + hexadecimal(jump.address) + "  " + analysis.describe(jump.address) + "\n";
    return text;
}

std::string functions_as_json(const Analysis& analysis) {
    Json functions = Json::array();
    for (const FunctionResult& each : analysis.functions()) {
        Json reasons = Json::object();
        for (size_t i = 0; i < reason_count; i++)
            if (each.reasons[i])
                reasons[tag(static_cast<Reason>(i))] = each.reasons[i];
        functions.push_back({{"name", each.name},
                             {"address", hexadecimal(each.address)},
                             {"I", each.instructions},
                             {"K", each.by_kernel},
                             {"B", each.safe},
                             {"entry", each.entry_safe},
                             {"reasons", std::move(reasons)}});
    }
    return printed({{"functions", std::move(functions)}, {"totals", totals_json(analysis)}});
}

std::string totals_as_json(const Analysis& analysis) {
    return printed({{"totals", totals_json(analysis)}});
}

std::string unsafe_as_text(const Analysis& analysis) {
    std::string text;
    const std::vector<regions::UnsafePlace> places = analysis.unsafe();
    for (const regions::UnsafePlace& each : places) {
        text += hexadecimal(each.address) + "  " + analysis.describe(each.address) + ": " +
                std::string(regions::reason_text(each.reason)) + " at " +
                analysis.describe(each.entered_at);
        if (each.entered_from)
            text += ", from " + analysis.describe(*each.entered_from);
        text += "\n";
    }
    add(text, "%s%zu place%s\n", text.empty() ? "" : "\n", places.size(),
        places.size() == 1 ? "" : "s");
    return text;
}

std::string unsafe_as_json(const Analysis& analysis) {
    Json places = Json::array();
    for (const regions::UnsafePlace& each : analysis.unsafe()) {
        Json place = {{"address", hexadecimal(each.address)},
                      {"place", analysis.describe(each.address)},
                      {"reason", tag(each.reason)},
                      {"entered_at", hexadecimal(each.entered_at)}};
        if (each.entered_from)
            place["entered_from"] = analysis.describe(*each.entered_from);
        places.push_back(std::move(place));
    }
    return printed({{"unsafe", std::move(places)}});
}

std::string places_as_text(const Analysis& analysis, const std::vector<AskedPlace>& places) {
    std::string text;
    for (const AskedPlace& each : places) {
        text += hexadecimal(each.address) + "  " + analysis.describe(each.address) + ": ";
        if (!each.place)
            text += "no instruction of a function begins here\n";
        else
            text += std::string("K ") + (each.place->by_kernel ? "yes" : "no") + ", B " +
                    (each.place->safe() ? "yes" : "no: " + verdict(*each.place)) +
                    space_text(*each.place) + "\n";
    }
    return text;
}

std::string places_as_json(const Analysis& analysis, const std::vector<AskedPlace>& places) {
    Json out = Json::array();
    for (const AskedPlace& each : places)
        out.push_back(each.place ? place_json(analysis, *each.place)
                                 : Json{{"address", hexadecimal(each.address)},
                                        {"place", analysis.describe(each.address)},
                                        {"reason", "no-instruction"}});
    return printed({{"places", std::move(out)}});
}

std::string function_as_text(const Analysis& analysis, const std::string& debug_file,
                             size_t function) {
    const FunctionResult& of = analysis.functions()[function];
    const LineLookup lines(debug_file);
    const auto decoder = arch::InstructionDecoder::create();
    std::string text = of.name + " at " + hexadecimal(of.address);
    add(text, ", %u instructions, K %u, B %u\n", of.instructions, of.by_kernel, of.safe);
    text += "> control may enter, + a jump may be planted, s a short one, k only the kernel's rule "
            "allows one\n";
    std::string line;
    for (const Place& place : analysis.places(function)) {
        const std::string here = lines.at(place.address);
        if (!here.empty() && here != line)
            text += here + "\n";
        line = here;
        const std::string_view bytes = analysis.bytes(place);
        std::string row;
        add(row, "%c%c +%-5llx %-31s ", place.leader ? '>' : ' ',
            place.space       ? 's'
            : place.safe()    ? '+'
            : place.by_kernel ? 'k'
                              : ' ',
            static_cast<unsigned long long>(place.address - of.address), byte_text(bytes).c_str());
        const std::string instruction = instruction_text(analysis, decoder.get(), place, bytes);
        add(row, place.safe() ? "%s" : "%-40s", instruction.c_str());
        if (!place.safe())
            row += " " + verdict(place);
        text += row + "\n";
    }
    return text;
}

std::string function_as_json(const Analysis& analysis, const std::string& debug_file,
                             size_t function) {
    const LineLookup lines(debug_file);
    const auto decoder = arch::InstructionDecoder::create();
    Json places = Json::array();
    for (const Place& place : analysis.places(function)) {
        Json one = place_json(analysis, place);
        const std::string_view bytes = analysis.bytes(place);
        one["bytes"] = byte_text(bytes);
        one["instruction"] = instruction_text(analysis, decoder.get(), place, bytes);
        one["line"] = lines.at(place.address);
        places.push_back(std::move(one));
    }
    const FunctionResult& of = analysis.functions()[function];
    return printed(
        {{"name", of.name}, {"address", hexadecimal(of.address)}, {"places", std::move(places)}});
}

} // namespace djstap::driver
