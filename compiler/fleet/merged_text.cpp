// SPDX-License-Identifier: GPL-2.0-or-later
// Merged globals as text.
#include "diagnostics/plain_text.h"
#include "fleet/merge.h"

#include <algorithm>
#include <cstdio>

namespace djstap::fleet {

namespace {

// A string literal of a script. For a std::string, quoted() would be std::quoted() wherever
// <iomanip> is included.
std::string as_literal(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out.append(1, '\\').append(1, c);
        else if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else if (is_control(c)) {
            char octal[8];
            snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned>(c));
            out += octal;
        } else
            out += c;
    }
    return out + "\"";
}

// name, name@host, name["key",1]
std::string name_of(const std::string& name, const std::string& keys) {
    if (keys.empty())
        return name;
    std::string text = name;
    const auto parts = keys_of(keys);
    if (!parts)
        return name + "[?]";
    for (const ElementKey& key : *parts) {
        text += &key == parts->data() ? "[" : ",";
        if (const auto* number = std::get_if<int64_t>(&key))
            text += std::to_string(*number);
        else
            text += as_literal(std::get<std::string_view>(key));
    }
    return text + "]";
}

std::string line_of(const std::string& name, const GlobalElement& element) {
    const std::string head = name_of(name, element.keys);
    const auto& numbers = element.numbers;
    if (element.has == 0)
        return head + "=" + as_literal(element.text) + "\n";
    if (element.has == 1)
        return head + "=" + std::to_string(numbers[0]) + "\n";
    return head + " @count=" + std::to_string(numbers[GlobalElement::Count]) +
           " @min=" + std::to_string(numbers[GlobalElement::Min]) +
           " @max=" + std::to_string(numbers[GlobalElement::Max]) +
           " @sum=" + std::to_string(numbers[GlobalElement::Sum]) +
           " @avg=" + std::to_string(numbers[GlobalElement::Average]) + "\n";
}

// The buckets from the first to the last that is not empty.
std::string histogram_of(const HistogramShape& shape, const std::vector<int64_t>& buckets) {
    size_t first = 0, end = buckets.size();
    while (first < end && !buckets[first])
        first++;
    while (end > first && !buckets[end - 1])
        end--;
    std::string text;
    for (size_t i = first; i < end; i++)
        text += "  " + bucket_text(shape, static_cast<uint32_t>(i)) + ": " +
                std::to_string(buckets[i]) + "\n";
    return text;
}

// As a script prints an array at its end: the largest value first.
std::vector<const GlobalElement*> ordered(const std::vector<GlobalElement>& elements) {
    std::vector<const GlobalElement*> all;
    for (const GlobalElement& element : elements)
        all.push_back(&element);
    std::ranges::stable_sort(all, [](const GlobalElement* a, const GlobalElement* b) {
        return a->numbers[0] > b->numbers[0];
    });
    return all;
}

} // namespace

std::string text_of(const std::vector<MergedGlobal>& globals) {
    std::string text;
    for (const MergedGlobal& global : globals) {
        for (const GlobalElement* element : ordered(global.elements)) {
            text += line_of(global.description.name, *element);
            if (global.shape && !element->buckets.empty())
                text += histogram_of(*global.shape, element->buckets);
        }
        for (const HostValues& of : global.by_host)
            for (const GlobalElement* element : ordered(of.elements))
                text += line_of(global.description.name + "@" + of.host, *element);
    }
    return text;
}

std::string text_of(const std::vector<Missing>& missing) {
    std::string text;
    for (const Missing& each : missing)
        text += each.host + ": " + each.what + "\n";
    return text;
}

} // namespace djstap::fleet
