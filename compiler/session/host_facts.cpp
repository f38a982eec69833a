// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/host_facts.h"

#include "session/module_loader.h"
#include "system/file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

namespace djstap {

namespace {

// The member that says what the file is; its value grows when an older reader would misunderstand
// it.
constexpr const char* version_member = "djstap_facts";
constexpr int facts_version = 1;

// The members, in the order in which they are printed.
constexpr std::pair<const char*, std::string HostFacts::*> members[] = {
    {"host", &HostFacts::host},
    {"machine", &HostFacts::machine},
    {"distribution", &HostFacts::distribution},
    {"release", &HostFacts::release},
    {"version", &HostFacts::version},
    {"build_id", &HostFacts::build_id},
    {"refuses_modules", &HostFacts::refuses_modules},
    {"signatures", &HostFacts::signatures},
};

// The release becomes part of paths, and of the names of packages in messages.
bool is_word(std::string_view text) {
    return !text.empty() && text.front() != '.' && std::ranges::all_of(text, [](unsigned char c) {
        return isalnum(c) ||
               std::string_view("._+~-").find(static_cast<char>(c)) != std::string_view::npos;
    });
}

bool is_printable(std::string_view text) {
    return std::ranges::none_of(text, [](unsigned char c) { return iscntrl(c); });
}

std::string text_of(const char* path) {
    auto text = read_file(path);
    return text ? std::move(*text) : std::string();
}

std::string id_of_distribution() {
    for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
        std::istringstream lines(text_of(path));
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with("ID=")) {
                std::erase_if(line, [](char c) { return c == '"' || c == '\''; });
                return line.substr(3);
            }
    }
    return {};
}

Failure not_facts(const std::string& why) {
    return {"these are not the facts of a host: " + why, "djrun --facts prints them there"};
}

} // namespace

HostFacts read_host_facts() {
    utsname name{};
    uname(&name);
    HostFacts facts;
    facts.host = name.nodename;
    facts.machine = name.machine;
    facts.distribution = id_of_distribution();
    facts.release = name.release;
    facts.version = name.version;
    facts.build_id = build_id_of_notes(text_of("/sys/kernel/notes"));
    facts.processors = static_cast<uint64_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
    facts.calls_at_entries = trimmed(text_of("/proc/sys/kernel/ftrace_enabled")) != "0";
    if (const Status possible = check_modules_possible(); !possible)
        facts.refuses_modules = possible.failure().message;
    facts.signatures = signature_demand();
    return facts;
}

std::string to_json(const HostFacts& facts) {
    nlohmann::ordered_json object;
    object[version_member] = facts_version;
    for (const auto& [name, member] : members)
        object[name] = facts.*member;
    object["processors"] = facts.processors;
    object["calls_at_entries"] = facts.calls_at_entries;
    // A machine's name may contain any bytes.
    return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<HostFacts> parse_host_facts(std::string_view text) {
    const auto object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object())
        return not_facts("this is not an object of JSON");
    const auto version = object.find(version_member);
    if (version == object.end() || !version->is_number_unsigned())
        return not_facts(std::string("'") + version_member + "' is missing");
    if (*version != facts_version)
        return Failure{"the facts have version " + version->dump() + ", djstap reads version " +
                           std::to_string(facts_version),
                       "use djstap and djrun of one version"};
    HostFacts facts;
    for (const auto& [name, member] : members) {
        const auto value = object.find(name);
        if (value == object.end() || !value->is_string() ||
            !is_printable(value->get_ref<const std::string&>()))
            return not_facts("'" + std::string(name) + "' is not a text");
        facts.*member = value->get<std::string>();
    }
    const auto processors = object.find("processors");
    if (processors == object.end() || !processors->is_number_unsigned())
        return not_facts("'processors' is not a number");
    facts.processors = processors->get<uint64_t>();
    const auto calls = object.find("calls_at_entries");
    if (calls == object.end() || !calls->is_boolean())
        return not_facts("'calls_at_entries' is neither true nor false");
    facts.calls_at_entries = calls->get<bool>();
    if (!is_word(facts.release))
        return not_facts("'release' is not the release of a kernel");
    return facts;
}

} // namespace djstap
