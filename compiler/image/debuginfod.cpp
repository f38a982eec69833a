// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/debuginfod.h"

#include "system/descriptor.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <memory>

namespace djstap {

namespace {

using Clock = std::chrono::steady_clock;
// A server that sends nothing for so long is given up, or earlier if $DEBUGINFOD_TIMEOUT says so.
// It may need some time to find a file in its archives.
constexpr int longest_silence = 20; // seconds
constexpr auto between_reports = std::chrono::seconds(5);
// Until a server sends, libdebuginfod's progress is a count of its own steps.
constexpr long more_than_steps = 4096;

// libdebuginfod's functions.
struct Client {
    decltype(&debuginfod_begin) begin;
    decltype(&debuginfod_end) end;
    decltype(&debuginfod_find_debuginfo) find;
    decltype(&debuginfod_set_progressfn) set_progress;
    decltype(&debuginfod_set_user_data) set_user_data;
    decltype(&debuginfod_get_user_data) get_user_data;
};

// Stays loaded until the process ends.
std::optional<Client> load_client() {
    void* library = dlopen(DEBUGINFOD_SONAME, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return std::nullopt;
    Client client{};
    auto take = [&](auto& function, const char* name) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        return function != nullptr;
    };
    if (!take(client.begin, "debuginfod_begin") || !take(client.end, "debuginfod_end") ||
        !take(client.find, "debuginfod_find_debuginfo") ||
        !take(client.set_progress, "debuginfod_set_progressfn") ||
        !take(client.set_user_data, "debuginfod_set_user_data") ||
        !take(client.get_user_data, "debuginfod_get_user_data"))
        return std::nullopt;
    return client;
}

const std::optional<Client>& client() {
    static const std::optional<Client> loaded = load_client();
    return loaded;
}

// One request.
struct Transfer {
    std::string title;
    void (*progress)(const std::string&) = nullptr;
    Clock::time_point last_sign = Clock::now(), last_report = Clock::now();
    std::chrono::seconds patience{longest_silence};
    long received = 0;
    bool given_up = false;
};

// Called about once a second; a nonzero result ends the request.
int watch(debuginfod_client* handle, long done, long all) {
    auto& transfer = *static_cast<Transfer*>(client()->get_user_data(handle));
    const auto now = Clock::now();
    if ((all > 0 || done > more_than_steps) && done > transfer.received) {
        transfer.received = done;
        transfer.last_sign = now;
    }
    if (now - transfer.last_sign > transfer.patience) {
        transfer.given_up = true;
        return 1;
    }
    if (transfer.progress && transfer.received > 0 &&
        now - transfer.last_report > between_reports) {
        transfer.last_report = now;
        constexpr int megabyte = 20; // bits
        std::string of = all > 0 ? " of " + std::to_string(all >> megabyte) : "";
        transfer.progress("fetched " + std::to_string(transfer.received >> megabyte) + of +
                          " MB of the debug information of " + transfer.title);
    }
    return 0;
}

// The servers that did not answer in this process.
std::string& failed_servers() {
    static std::string servers;
    return servers;
}

std::chrono::seconds patience() {
    const char* text = std::getenv(DEBUGINFOD_TIMEOUT_ENV_VAR);
    const int wanted = text ? std::atoi(text) : 0;
    return std::chrono::seconds(wanted > 0 ? std::min(wanted, longest_silence) : longest_silence);
}

} // namespace

std::string debuginfod_servers() {
    const char* servers = std::getenv(DEBUGINFOD_URLS_ENV_VAR);
    return servers ? servers : "";
}

Result<std::optional<std::string>> fetch_debug_file(const std::string& build_id,
                                                    const std::string& title,
                                                    void (*progress)(const std::string&)) {
    const std::string servers = debuginfod_servers();
    if (servers.find_first_not_of(' ') == std::string::npos || build_id.empty() ||
        servers == failed_servers())
        return std::optional<std::string>();
    if (!client()) {
        failed_servers() = servers;
        return Failure{"DEBUGINFOD_URLS is set, but " DEBUGINFOD_SONAME " cannot be loaded",
                       "apt-get install libdebuginfod1"};
    }
    std::unique_ptr<debuginfod_client, decltype(client()->end)> handle(client()->begin(),
                                                                       client()->end);
    if (!handle) {
        failed_servers() = servers;
        return Failure{"libdebuginfod cannot be used", ""};
    }
    Transfer transfer;
    transfer.title = title;
    transfer.progress = progress;
    transfer.patience = patience();
    client()->set_user_data(handle.get(), &transfer);
    client()->set_progress(handle.get(), watch);
    if (progress)
        progress("asking " + servers + " for the debug information of " + title);
    char* path = nullptr;
    const int found = client()->find(
        handle.get(), reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &path);
    const FileDescriptor file(found >= 0 ? found : -1);
    std::unique_ptr<char, decltype(&std::free)> held(path, std::free);
    if (found >= 0 && path)
        return std::optional<std::string>(path);
    if (found == -ENOENT && !transfer.given_up)
        return std::optional<std::string>();
    failed_servers() = servers;
    return Failure{servers + ": no debug information of " + title + " was received: " +
                       (transfer.given_up ? "the server did not send anything for " +
                                                std::to_string(transfer.patience.count()) + " s"
                                          : std::string(strerror(-found))),
                   "unset DEBUGINFOD_URLS to ask no server"};
}

} // namespace djstap
