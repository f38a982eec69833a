// SPDX-License-Identifier: GPL-2.0-or-later
#include "debuginfo/type_names.h"

#include "debuginfo/qualified.h"
#include "diagnostics/suggest.h"

#include <algorithm>
#include <bit>

namespace djstap {

namespace {

constexpr int deepest = 32;     // of nested types: damaged debug information may contain cycles
constexpr int max_steps = 1000; // functions that take functions that take functions …

std::string write(TypeId type, std::string inner, const std::function<TypeStep(TypeId)>& step,
                  int depth, int& steps_left) {
    if (depth > deepest || --steps_left < 0)
        return "…";
    auto spaced = [&inner](std::string text) {
        return inner.empty() ? text : text.append(" ").append(inner);
    };
    TypeStep at = type ? step(type) : TypeStep{TypeStep::Form::Named, "void", 0, 0, {}, false};
    switch (at.form) {
    case TypeStep::Form::Named:
        return spaced(at.text);
    case TypeStep::Form::Qualified: {
        TypeStep target = at.base_type ? step(at.base_type) : TypeStep{};
        if (target.form == TypeStep::Form::Pointer)
            return write(at.base_type, spaced(at.text), step, depth + 1, steps_left);
        std::string written = write(at.base_type, inner, step, depth + 1, steps_left);
        return at.text + " " + written;
    }
    case TypeStep::Form::Pointer: {
        TypeStep target = at.base_type ? step(at.base_type) : TypeStep{};
        bool wraps =
            target.form == TypeStep::Form::Array || target.form == TypeStep::Form::Function;
        std::string star = at.text.empty() ? "*" : at.text; // or a reference
        star += inner;
        if (wraps)
            star.insert(0, "(").append(")");
        return write(at.base_type, star, step, depth + 1, steps_left);
    }
    case TypeStep::Form::Array:
        inner += '[';
        inner += (at.count ? std::to_string(at.count) : std::string());
        return write(at.base_type, inner + "]", step, depth + 1, steps_left);
    case TypeStep::Form::Function: {
        std::string list;
        for (TypeId parameter : at.parameters)
            list.append(list.empty() ? "" : ", ")
                .append(write(parameter, "", step, depth + 1, steps_left));
        if (at.varargs)
            list.append(list.empty() ? "..." : ", ...");
        return write(at.base_type, inner + "(" + (list.empty() ? "void" : list) + ")", step,
                     depth + 1, steps_left);
    }
    }
    return at.text;
}

std::optional<CMember> find_in(const DebugInfo& info, TypeId type, std::string_view name,
                               int depth) {
    if (depth > deepest)
        return std::nullopt;
    std::vector<CMember> members = info.members(type);
    for (const CMember& member : members) {
        if (member.name == name)
            return member;
    }
    for (const CMember& member : members) {
        if (!member.name.empty() || member.bit_size)
            continue;
        if (auto found = find_in(info, member.type, name, depth + 1)) {
            found->offset += member.offset;
            return found;
        }
    }
    return std::nullopt;
}

// Returns gcc's spelling of an integer type, or "" if the words do not form one.
std::string base_type_name(const std::vector<std::string_view>& words) {
    int longs = 0, shorts = 0, chars = 0, unsigneds = 0, signeds = 0;
    for (std::string_view word : words) {
        if (word == "int")
            continue;
        int* count = word == "long"       ? &longs
                     : word == "short"    ? &shorts
                     : word == "char"     ? &chars
                     : word == "unsigned" ? &unsigneds
                     : word == "signed"   ? &signeds
                                          : nullptr;
        if (!count)
            return {};
        ++*count;
    }
    std::string sign = unsigneds ? "unsigned " : "";
    if (chars)
        return unsigneds ? "unsigned char" : signeds ? "signed char" : "char";
    if (shorts)
        return unsigneds ? "short unsigned int" : "short int";
    if (longs)
        return std::string(longs > 1 ? "long long " : "long ") + sign + "int";
    return sign + "int";
}

// The arguments of a template may contain spaces.
size_t end_of_word(std::string_view text) {
    int depth = 0;
    for (size_t i = 0; i < text.size(); i++) {
        depth += text[i] == '<';
        depth -= text[i] == '>';
        if (depth <= 0 && std::string_view(" \t\n").find(text[i]) != std::string_view::npos)
            return i;
    }
    return text.size();
}

uint64_t letters_of(std::string_view name) {
    uint64_t letters = 0;
    for (unsigned char c : name)
        letters |= uint64_t(1) << (c & 63);
    return letters;
}

} // namespace

std::string write_type(TypeId type, const std::function<TypeStep(TypeId)>& step) {
    int steps_left = max_steps;
    return write(type, "", step, 0, steps_left);
}

std::optional<CMember> find_member(const DebugInfo& info, TypeId type, std::string_view name) {
    if (name.empty())
        return std::nullopt;
    return find_in(info, type, name, 0);
}

void place_bit_field(CMember& member, uint64_t bits, uint64_t storage) {
    member.offset = bits / (storage * 8) * storage;
    if (bits - member.offset * 8 + member.bit_size > storage * 8)
        member.offset = bits / 8;
    member.bit_offset = bits - member.offset * 8;
}

NamedType parse_type_name(std::string_view given) {
    const std::string named = without_anonymous_namespaces(given);
    std::string_view text = named;
    std::vector<std::string_view> words;
    while (!text.empty()) {
        size_t begin = text.find_first_not_of(" \t\n");
        if (begin == std::string_view::npos)
            break;
        text.remove_prefix(begin);
        std::string_view word = text.substr(0, end_of_word(text));
        text.remove_prefix(word.size());
        if (word != "const" && word != "volatile")
            words.push_back(word);
    }
    if (words.size() == 2 && (words[0] == "struct" || words[0] == "class"))
        return {NamedTypeKind::Struct, std::string(words[1])};
    if (words.size() == 2 && words[0] == "union")
        return {NamedTypeKind::Union, std::string(words[1])};
    if (words.size() == 2 && words[0] == "enum")
        return {NamedTypeKind::Enum, std::string(words[1])};
    if (words.empty())
        return {};
    std::string base = base_type_name(words);
    if (base.empty() && words.size() == 1)
        base = words[0];
    return {NamedTypeKind::Plain, base};
}

SimilarNames::SimilarNames(std::string_view name) : name_(name), letters_(letters_of(name)) {}

void SimilarNames::consider(std::string_view candidate) {
    constexpr size_t edits = 2;
    size_t longer = std::max(candidate.size(), name_.size()),
           shorter = std::min(candidate.size(), name_.size());
    // An edit changes at most two of the letters that occur.
    if (longer - shorter > edits ||
        std::popcount(letters_of(candidate) ^ letters_) > int(2 * edits) || candidate == name_)
        return;
    size_t distance = edit_distance(name_, candidate);
    if (distance <= edits && distance < name_.size())
        found_.emplace_back(distance, candidate);
}

std::vector<std::string> SimilarNames::take() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    std::vector<std::string> names;
    for (auto& each : found_)
        names.push_back(std::move(each.second));
    return names;
}

} // namespace djstap
