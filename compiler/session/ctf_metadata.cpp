// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/ctf_metadata.h"

#include "include/record.h"
#include "include/symbols.h"
#include "session/printed_values.h"

#include <cctype>
#include <cstdio>

namespace djstap::ctf {

namespace {

constexpr uint64_t ns_in_second = 1'000'000'000;

std::string quoted_text(std::string_view text) {
    std::string out = "\"";
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\')
            out.append("\\").append(1, character);
        else
            out += byte < ' ' || byte >= 0x7f ? '?' : character;
    }
    return out + "\"";
}

// The first _ of a name does not belong to it; it keeps the name from being a keyword.
std::string field_name(std::string_view name) {
    std::string out = "_";
    for (const char character : name)
        out += std::isalnum(static_cast<unsigned char>(character)) ? character : '_';
    return out;
}

std::string event_begin(uint32_t id, const std::string& name) {
    return "event {\n\tid = " + std::to_string(id) + ";\n\tname = " + quoted_text(name) +
           ";\n\tstream_id = 0;\n\tfields := struct {\n";
}
constexpr const char* event_end = "\t};\n};\n\n";

} // namespace

std::string metadata_head(const ModuleMeta& meta, const Uuid& uuid, uint64_t offset_ns) {
    std::string id;
    for (size_t i = 0; i < uuid.size(); i++) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", uuid[i]);
        id.append(i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "").append(digits);
    }
    std::string out =
        "/* CTF 1.8 */\n\n"
        "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
        "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
        "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
        "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
        "typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
        "typealias integer { size = 64; align = 8; signed = false; base = hex; } := address_t;\n\n"
        "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"" +
        id +
        "\";\n\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t "
        "uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n\nenv {\n\ttracer_name = \"djstap\";\n"
        "\tmodule = " +
        quoted_text(meta.name) + ";\n\tkernel_release = " + quoted_text(meta.release) +
        ";\n};\n\nclock {\n\tname = monotonic;\n\tdescription = \"CLOCK_MONOTONIC; its offset "
        "makes it CLOCK_REALTIME\";\n\tfreq = " +
        std::to_string(ns_in_second) +
        ";\n\toffset_s = " + std::to_string(offset_ns / ns_in_second) +
        ";\n\toffset = " + std::to_string(offset_ns % ns_in_second) +
        ";\n};\n\ntypealias integer { size = 64; align = 8; signed = false; map = "
        "clock.monotonic.value; } := clock_t;\n\nstruct bucket {\n\tint64_t least;\n\tint64_t "
        "most;\n\tint64_t count;\n};\n\nstream {\n\tid = 0;\n\tpacket.context := struct {\n"
        "\t\tclock_t timestamp_begin;\n\t\tclock_t timestamp_end;\n\t\tuint64_t content_size;\n"
        "\t\tuint64_t packet_size;\n\t\tuint64_t events_discarded;\n\t};\n\tevent.header := struct "
        "{\n\t\tuint32_t id;\n\t\tclock_t timestamp;\n\t};\n\tevent.context := struct {\n"
        "\t\tuint32_t _cpu_id;\n";
    if (meta.fields & DJS_EVENT_PID)
        out += "\t\tint32_t _pid;\n";
    if (meta.fields & DJS_EVENT_TID)
        out += "\t\tint32_t _tid;\n";
    if (meta.fields & DJS_EVENT_PROBE)
        out += "\t\tstring _probe;\n";
    return out + "\t};\n};\n\n";
}

std::string metadata_of(uint32_t id, const ModuleMeta::Format& format) {
    std::string out = event_begin(id, format_title(format));
    const auto names = argument_names(format);
    for (size_t i = 0; i < names.size(); i++) {
        const std::string name = field_name(names[i]);
        const char type = format.types[i];
        if (type == 's' || type == 'n' || djs_is_symbols(type))
            out += "\t\tstring " + name + ";\n";
        else if (type == 'k')
            out += "\t\tuint32_t _" + name + "_length;\n\t\taddress_t " + name + "[_" + name +
                   "_length];\n";
        else if (type == 'h')
            out += "\t\tuint32_t _" + name + "_length;\n\t\tstruct bucket " + name + "[_" + name +
                   "_length];\n";
        else
            out += "\t\tint64_t " + name + ";\n";
    }
    return out + event_end;
}

std::string metadata_of_texts(uint32_t id, const std::string& name,
                              std::initializer_list<const char*> texts) {
    std::string out = event_begin(id, name);
    for (const char* text : texts)
        out += "\t\tstring _" + std::string(text) + ";\n";
    return out + event_end;
}

} // namespace djstap::ctf
