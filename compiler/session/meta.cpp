// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/meta.h"

#include "include/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace djstap {

using nlohmann::json;

namespace {

// Readers that only know version 1 would take the fields of events for arguments.
constexpr int64_t plain_version = 1, version_with_fields = 2;

constexpr EventFieldName field_names[] = {
#define FIELD(name, bit) {#name, bit},
    DJS_EVENT_FIELDS(FIELD)
#undef FIELD
};

// Reads members of an object and remembers the first one that has the wrong type.
class Reader {
  public:
    std::string text(const json& object, const char* name, bool required = false) {
        const auto member = object.find(name);
        if (member == object.end()) {
            if (required)
                blame(name, "is missing");
            return {};
        }
        if (!member->is_string()) {
            blame(name, "is not a string");
            return {};
        }
        return member->get<std::string>();
    }

    // Of a format: its text byte by byte, if it is not UTF-8.
    std::string format_text(const json& format) {
        if (format.find("bytes") == format.end())
            return text(format, "text", true);
        std::string out;
        for (const json& byte : list(format, "bytes")) {
            if (!byte.is_number_unsigned() || byte.get<uint64_t>() > UINT8_MAX) {
                blame("bytes", "is not a list of bytes");
                return {};
            }
            out.push_back(static_cast<char>(byte.get<uint8_t>()));
        }
        return out;
    }

    uint64_t number(const json& object, const char* name, uint64_t instead) {
        const auto member = object.find(name);
        if (member == object.end())
            return instead;
        if (!member->is_number_unsigned()) {
            blame(name, "is not a number");
            return instead;
        }
        return member->get<uint64_t>();
    }

    int64_t signed_number(const json& object, const char* name) {
        const auto member = object.find(name);
        if (member == object.end())
            return 0;
        if (!member->is_number_integer()) {
            blame(name, "is not a number");
            return 0;
        }
        return member->get<int64_t>();
    }

    const json& list(const json& object, const char* name) {
        static const json none = json::array();
        const auto member = object.find(name);
        if (member == object.end())
            return none;
        if (!member->is_array()) {
            blame(name, "is not a list");
            return none;
        }
        return *member;
    }

    std::vector<std::string> texts(const json& object, const char* name) {
        std::vector<std::string> out;
        for (const json& element : list(object, name)) {
            if (element.is_string())
                out.push_back(element.get<std::string>());
            else
                blame(name, "contains an element that is not a string");
        }
        return out;
    }

    bool is_object(const json& value, const char* name) {
        if (!value.is_object())
            blame(name, "contains an element that is not an object");
        return value.is_object();
    }

    void blame(const char* name, const char* what) {
        if (problem.empty())
            problem = std::string("'").append(name).append("' ").append(what);
    }

    std::string problem;
};

ModuleMeta read_meta(const json& root, Reader& reader) {
    ModuleMeta meta;
    meta.name = reader.text(root, "name", true);
    meta.release = reader.text(root, "release");
    meta.build_id = reader.text(root, "build_id");
    meta.script = reader.text(root, "script");
    meta.takes_input = reader.number(root, "takes_input", 0) != 0;
    meta.lines = reader.number(root, "lines", 0) != 0;
    meta.max_speculations = reader.number(root, "max_speculations", meta.max_speculations);
    for (const json& format : reader.list(root, "formats"))
        if (reader.is_object(format, "formats"))
            meta.formats.push_back({reader.format_text(format), reader.text(format, "types"),
                                    reader.text(format, "shows"), reader.number(format, "keys", 0),
                                    reader.number(format, "in_snapshot", 0) != 0});
    for (const json& probe : reader.list(root, "probes"))
        if (reader.is_object(probe, "probes"))
            meta.probes.push_back(
                {reader.text(probe, "point", true), reader.text(probe, "mechanism")});
    for (const json& global : reader.list(root, "globals"))
        if (reader.is_object(global, "globals"))
            meta.globals.push_back(
                {reader.text(global, "name", true), reader.text(global, "value", true),
                 reader.number(global, "keys", 0), reader.number(global, "histogram", 0) != 0,
                 reader.text(global, "description"), reader.number(global, "adds_up", 0) != 0,
                 reader.signed_number(global, "initial")});
    meta.places = reader.texts(root, "places");
    for (const std::string& name : reader.texts(root, "fields")) {
        const auto* const field = std::ranges::find(field_names, name, &EventFieldName::name);
        if (field == std::end(field_names))
            reader.blame("fields", "contains an unknown field");
        else
            meta.fields |= field->bit;
    }
    meta.points = reader.texts(root, "points");
    return meta;
}

} // namespace

std::span<const EventFieldName> event_field_names() {
    return field_names;
}

Result<ModuleMeta> parse_meta(std::string_view text) {
    // The parser ends at a NUL.
    const json root = json::parse(text, nullptr, false);
    if (!root.is_object())
        return Failure{"the module's description cannot be read",
                       "rebuild the module with djstap -p4"};
    const auto version = root.find("version");
    if (version == root.end() || !version->is_number_integer() ||
        (version->get<int64_t>() != plain_version &&
         version->get<int64_t>() != version_with_fields))
        return Failure{"the module's description has a version that this program does not support",
                       "use djstap and djrun of the same release"};
    Reader reader;
    ModuleMeta meta = read_meta(root, reader);
    if (!reader.problem.empty())
        return Failure{"the module's description is damaged: " + reader.problem,
                       "rebuild the module with djstap -p4"};
    return meta;
}

} // namespace djstap
