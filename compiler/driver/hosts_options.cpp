// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/hosts_options.h"

#include "hosts/remote_shell.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace djstap::driver {

namespace {

// Returns what makes no sense on many machines.
std::optional<Failure> conflict(const Options& options) {
    const auto with = [](const std::string& option, std::string hint) {
        return Failure{option + " and --hosts exclude each other", std::move(hint)};
    };
    if (options.action != Action::Compile)
        return Failure{"--hosts runs a script and cannot be combined with listings and --info",
                       "-r RELEASE lists what a host's kernel has, if this machine has its files"};
    if (options.guest)
        return with("--guest", "a guest is one machine");
    if (options.user_space)
        return with("--runtime", "on hosts, scripts run as kernel modules");
    if (options.recorder)
        return with("-F", "on each host, djrun -F leaves a module of -p4 loaded");
    if (options.traced_pid)
        return with("-x", "processes have other IDs on each host");
    if (!options.command.empty())
        return with("-c", "-T or Ctrl-C ends the run; start the command on the hosts meanwhile");
    if (std::ranges::any_of(options.library_values,
                            [](const auto& each) { return each.first == "__target_namespaces"; }))
        return with("--target-namespaces", "processes have other IDs on each host");
    if (!options.kernel.empty())
        return with("-r", "the kernel of each host is found out");
    if (!options.host_facts.empty())
        return with("--kernel-from", "the kernel of each host is found out");
    if (options.last_pass < 5)
        return with("-p", "-r RELEASE compiles for a kernel without running the script");
    if (!options.module_name.empty())
        return with("-m", "the module has a name of its own on each host");
    for (const OutputRequest& request : options.output_requests)
        if (!request.kind->has.for_hosts)
            return Failure{"--output=" + std::string(request.kind->name) +
                               ": what is merged of many hosts is written as text or JSON",
                           std::string(request.kind->has.stack_depth || request.kind->has.is_binary
                                           ? "hosts show what they print and their globals, "
                                             "without the records that this needs"
                                           : "--output=json has all values")};
    if (options.output_requests.size() > 1)
        return Failure{"--hosts writes one output", "omit the others"};
    if (options.event_fields)
        return with("--event-fields", "hosts show what they print with its time");
    return std::nullopt;
}

} // namespace

std::optional<Failure> take_hosts(const HostsWords& words, Options& options) {
    if (words.set.empty()) {
        if (!words.shell.empty() || !words.timeout.empty())
            return Failure{(words.shell.empty() ? "--host-timeout" : "--remote-shell") +
                               std::string(" requires --hosts"),
                           "--hosts names the hosts"};
        return std::nullopt;
    }
    auto nodes = hosts::parse_node_set(words.set);
    if (!nodes)
        return Failure{"--hosts: " + nodes.failure().message, nodes.failure().hint};
    options.hosts = std::move(*nodes);
    if (!words.shell.empty()) {
        auto shell = hosts::split_words(words.shell);
        if (!shell)
            return Failure{"--remote-shell: " + shell.failure().message,
                           "it is a command such as 'ssh -i KEY'"};
        options.remote_shell = std::move(*shell);
    }
    if (!words.timeout.empty()) {
        constexpr double ms_a_second = 1000, longest = 86'400;
        char* end = nullptr;
        const double seconds = strtod(words.timeout.c_str(), &end);
        if (*end || !(seconds > 0) || seconds > longest)
            return Failure{"--host-timeout=" + words.timeout +
                               ": expected a number of seconds up to 86400",
                           ""};
        options.host_timeout =
            std::chrono::milliseconds(static_cast<int64_t>(std::ceil(seconds * ms_a_second)));
    }
    return conflict(options);
}

} // namespace djstap::driver
