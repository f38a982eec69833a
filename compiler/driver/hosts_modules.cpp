// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/hosts_modules.h"

#include "driver/passes.h"
#include "hosts/agent.h"
#include "system/file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sys/utsname.h>
#include <utility>

namespace djstap::driver {

namespace {

constexpr int64_t snapshot_ms = 1000;

} // namespace

std::optional<std::string> HostsModules::any_release() const {
    for (size_t i = 0; i < fan_out_.size(); i++)
        if (fan_out_.host(i).stage() == hosts::Stage::Known)
            return fan_out_.host(i).facts().release;
    return std::nullopt;
}

// Compiles for the kernel of these hosts. Returns false if the script has errors.
bool HostsModules::compile_for(const std::vector<size_t>& group) {
    const hosts::AgentFacts& facts = fan_out_.host(group.front()).facts();
    const auto refuse = [&](const std::string& why) {
        for (const size_t host : group)
            fan_out_.host(host).give_up(why);
    };
    utsname here{};
    uname(&here);
    if (facts.machine != here.machine) {
        refuse("it has another architecture: " + facts.machine);
        return true;
    }
    auto files = find_kernel(facts.release);
    if (!files || files->release != facts.release) {
        refuse("the files of its kernel " + facts.release +
               " are not on this machine (apt-get install linux-headers-" + facts.release + ")");
        return true;
    }
    Options options = invocation_.options;
    options.hosts.clear();
    options.kernel = facts.release;
    options.last_pass = 4;
    options.side = SemanticsOptions::Side::Hosts;
    options.shown_every_ms = snapshot_ms;
    options.shown_whole = true;
    options.output_requests.clear();
    Invocation invocation(std::move(options));
    const auto kernel = invocation.images.kernel();
    if (!kernel) {
        refuse(kernel.failure().message);
        return true;
    }
    const std::string here_build_id = (*kernel)->build_id();
    if (!facts.build_id.empty() && !here_build_id.empty() && facts.build_id != here_build_id) {
        refuse("its kernel is another build of " + facts.release + " (build-id " + facts.build_id +
               ") than the files on this machine (" + here_build_id + ")");
        return true;
    }
    const auto module = make_module(invocation);
    invocation.show_diagnostics();
    if (!module) {
        refuse("the script cannot be compiled for its kernel " + facts.release);
        return false;
    }
    auto bytes = read_file(module->module_path);
    std::error_code ignored;
    std::filesystem::remove(module->module_path, ignored);
    if (!bytes) {
        refuse(bytes.failure().message);
        return true;
    }
    const auto shared =
        std::make_shared<const hosts::SharedFile>(hosts::shared_file(std::move(*bytes)));
    for (const size_t host : group)
        modules_[host] = shared;
    return true;
}

bool HostsModules::compile() {
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> kernels;
    for (size_t i = 0; i < fan_out_.size(); i++)
        if (fan_out_.host(i).stage() == hosts::Stage::Known) {
            const hosts::AgentFacts& facts = fan_out_.host(i).facts();
            kernels[{facts.release + " " + facts.machine, facts.build_id}].push_back(i);
        }
    bool is_right = true;
    for (const auto& [kernel, group] : kernels)
        is_right &= compile_for(group);
    return is_right;
}

bool HostsModules::empty() const {
    return std::ranges::none_of(modules_, [](const auto& module) { return !!module; });
}

void HostsModules::push() {
    const auto djrun = read_file(invocation_.places.djrun);
    const std::string sum = djrun ? hosts::cksum(*djrun) : "";
    std::optional<hosts::SharedFile> shared; // packed if any host needs it
    for (size_t i = 0; i < fan_out_.size(); i++) {
        hosts::Connection& host = fan_out_.host(i);
        if (host.stage() != hosts::Stage::Known || !modules_[i])
            continue;
        const bool has_it = host.facts().has_own_djrun || (djrun && host.facts().djrun == sum);
        if (!has_it && !djrun)
            host.give_up("it has no djrun, and this machine has none for it: " +
                         djrun.failure().message);
        else if (has_it)
            host.push(*modules_[i], nullptr, hosts::Connection::Clock::now());
        else {
            if (!shared)
                shared = hosts::shared_file(*djrun);
            host.push(*modules_[i], &*shared, hosts::Connection::Clock::now());
        }
    }
    modules_.clear();
    fan_out_.wait_for(hosts::Stage::Ready);
}

} // namespace djstap::driver
