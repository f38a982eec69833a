// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/host_info.h"

#include "pmda/metrics.h"
#include "session/module_loader.h"
#include "session/privilege.h"
#include "system/file.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>

namespace djstap::pmda {

namespace {

constexpr size_t longest_text = 1024 * 1024;

InfoFact program_fact(const char* name, const std::string& program) {
    const std::string path = find_program(program);
    return {name_component(name), !path.empty(), path.empty() ? "not installed" : path};
}

} // namespace

std::vector<InfoFact> own_facts(const Programs& programs) {
    const std::string privilege = missing_privilege(), demand = signature_demand();
    const Status possible = check_modules_possible();
    return {
        {"permission", privilege.empty(),
         privilege.empty() ? "to load modules and to read from them" : privilege},
        {"module_loading", static_cast<bool>(possible),
         possible ? "allowed" : possible.failure().message},
        {"signatures_of_modules", demand.empty(),
         demand.empty() ? "not required" : "required: this kernel " + demand},
        program_fact("djrun", programs.djrun),
        program_fact("djstap", programs.djstap),
    };
}

std::vector<InfoFact> facts_of_info(std::string_view json) {
    std::vector<InfoFact> facts;
    const auto told = nlohmann::json::parse(json, nullptr, false);
    if (!told.is_object() || !told.contains("chapters") || !told["chapters"].is_array())
        return facts;
    for (const auto& chapter : told["chapters"]) {
        if (!chapter.is_object() || !chapter.contains("facts") || !chapter["facts"].is_array() ||
            chapter.value("title", nlohmann::json()).dump().starts_with("\"Guests"))
            continue;
        for (const auto& fact : chapter["facts"]) {
            if (!fact.is_object())
                continue;
            const auto name = fact.value("name", nlohmann::json()),
                       present = fact.value("present", nlohmann::json()),
                       value = fact.value("value", nlohmann::json());
            if (name.is_string() && present.is_boolean() && value.is_string())
                facts.push_back({name_component(name.get<std::string>()), present.get<bool>(),
                                 value.get<std::string>()});
        }
    }
    return facts;
}

void InfoRun::start(const std::string& djstap) {
    auto output = Pipe::open();
    if (!output || find_program(djstap).empty())
        return;
    fcntl(output->reader.get(), F_SETFL, O_NONBLOCK);
    ProcessOptions options;
    options.input = ProcessOptions::none;
    options.output = output->writer.get();
    options.errors = ProcessOptions::none;
    options.bound = true;
    auto process = Process::start({djstap, "--info", "--output=json"}, options);
    if (!process)
        return;
    process_ = std::move(*process);
    output_ = std::move(output->reader);
}

std::optional<std::vector<InfoFact>> InfoRun::read() {
    std::array<char, 4096> bytes{};
    while (true) {
        const ssize_t size = read_some(output_.get(), bytes.data(), bytes.size());
        if (size < 0 && errno == EAGAIN)
            return std::nullopt;
        if (size > 0)
            text_.append(bytes.data(), static_cast<size_t>(size));
        if (size > 0 && text_.size() <= longest_text)
            continue;
        output_.reset();
        process_ = {};
        return facts_of_info(std::exchange(text_, {}));
    }
}

} // namespace djstap::pmda
