// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/name.h"

#include "module/module.h"

#include <cstring>

namespace djstap {

namespace {
// MODULE_NAME_LEN is 64 - sizeof(unsigned long), including the NUL.
constexpr size_t longest_name = 55;
} // namespace

Status check_module_name(std::string_view name) {
    const std::string quoted = "'" + std::string(name.substr(0, 80)) + "'";
    if (name.empty())
        return Failure{"the module name is empty", ""};
    for (char c : name) {
        bool allowed =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!allowed)
            return Failure{quoted + " is not a valid module name",
                           "use only letters, digits and _"};
    }
    if (name.size() > longest_name)
        return Failure{quoted + " is too long for a module name: " + std::to_string(name.size()) +
                           " characters",
                       "use at most " + std::to_string(longest_name)};
    return Done{};
}

namespace module {

static_assert(name_placeholder.size() == longest_name);

Result<std::vector<size_t>> find_placeholders(std::string_view file, const ElfObject& module) {
    std::vector<size_t> places;
    bool in_struct = false, in_modinfo = false;
    for (const ObjectSection& section : module.sections()) {
        if (!section.allocated() || section.bytes.empty())
            continue;
        std::string_view bytes = section.bytes;
        for (size_t at = 0; (at = bytes.find(name_placeholder, at)) != std::string_view::npos;
             at += name_placeholder.size()) {
            std::string_view before = bytes.substr(0, at);
            size_t end = at + name_placeholder.size();
            bool ends = end < bytes.size() && bytes[end] == '\0';
            bool is_info = section.name == ".modinfo" && before.ends_with("name=") &&
                           (at == strlen("name=") || before[at - strlen("name=") - 1] == '\0');
            bool starts = at == 0 || before.back() == '\0' || is_info;
            if (!starts || !ends)
                return Failure{"the runtime uses the module name inside a longer string, in " +
                                   std::string(section.name),
                               "build such strings from THIS_MODULE->name at run time"};
            in_modinfo |= is_info;
            in_struct |= section.name == ".gnu.linkonce.this_module";
            places.push_back(bytes.data() - file.data() + at);
        }
    }
    if (!in_struct || !in_modinfo)
        return Failure{"the module has no place for its name", ""};
    return places;
}

void put_name(std::string& file, const std::vector<size_t>& places, std::string_view name) {
    std::string padded(name);
    padded.resize(name_placeholder.size(), '\0');
    for (size_t place : places)
        file.replace(place, padded.size(), padded);
}

} // namespace module

} // namespace djstap
