// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/host_kernel.h"

#include "arch/arch.h"
#include "driver/machine.h"
#include "session/host_facts.h"
#include "system/file.h"

#include <algorithm>

namespace djstap::driver {

namespace {

// How distributions name the packages of a release. APT selects a version by "=VERSION".
struct PackageNames {
    std::string_view distributions; // their IDs in os-release(5), between spaces
    const char *headers, *headers_end, *symbols, *symbols_end;
    bool has_version; // uname -v contains that of the package
};
constexpr PackageNames package_names[] = {
    {" debian ", "linux-headers-", "", "linux-image-", "-dbg", true},
    {" ubuntu ", "linux-headers-", "", "linux-image-", "-dbgsym", false},
    {" fedora rhel centos rocky almalinux ol ", "kernel-devel-", "", "kernel-debuginfo-", "",
     false},
};

// Returns "6.1.192-1" of "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-10-31)". The kernel cuts
// the text off after 64 characters: a word that nothing follows may be half of one.
std::string package_version(std::string_view version) {
    constexpr std::string_view before = " Debian ";
    const size_t at = version.find(before);
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = version.substr(at + before.size());
    const size_t end = rest.find(' ');
    return end == std::string_view::npos ? "" : std::string(rest.substr(0, end));
}

std::string name_of(const HostFacts& host) {
    return host.host.empty() ? "the host" : host.host;
}

std::string to_install(const HostFacts& host, bool headers, bool symbols) {
    const std::string packages = kernel_packages(host, headers, symbols);
    return packages.empty()
               ? "install the packages of this kernel, or unpack them and name the folder by -r"
               : "install " + packages + ", or unpack them and name the folder by -r";
}

Result<HostFacts> read_facts(const std::string& path) {
    const auto text = read_file(path);
    if (!text)
        return Failure{text.failure().message, "djrun --facts > FILE writes them there"};
    auto facts = parse_host_facts(*text);
    if (!facts)
        return Failure{path + ": " + facts.failure().message, facts.failure().hint};
    if (facts->machine != arch::names().machine)
        return Failure{name_of(*facts) + " has the architecture " + facts->machine +
                           ", but this djstap compiles for " + arch::names().machine,
                       ""};
    return facts;
}

// Returns why the kernel that was found cannot stand for that of the host.
Status check_kernel(Invocation& invocation, const HostFacts& host) {
    const auto files = find_kernel(invocation.options.release());
    if (!files)
        return files.failure();
    if (files->release != host.release)
        return Failure{name_of(host) + " runs kernel " + host.release + ", not " + files->release,
                       "omit -r, or name a folder with this kernel"};
    const bool builds =
        invocation.options.action == Action::Compile && invocation.options.last_pass > 2;
    const bool headers = builds && files->build_dir.empty(),
               symbols = files->vmlinux.empty() && files->kallsyms.empty();
    if (headers || symbols)
        return Failure{"this machine has no " +
                           std::string(headers && symbols ? "headers and no symbols"
                                       : headers          ? "headers"
                                                          : "symbols") +
                           " of kernel " + host.release + ", which " + name_of(host) + " runs",
                       to_install(host, headers, symbols)};
    const auto kernel = invocation.images.kernel();
    if (!kernel)
        return kernel.failure();
    const std::string here = (*kernel)->build_id();
    if (host.build_id.empty() || here.empty() ? host.version != (*kernel)->version()
                                              : host.build_id != here)
        return Failure{"the kernel " + host.release + " of this machine is another build than " +
                           "that of " + name_of(host) + ": " +
                           (host.build_id.empty() || here.empty()
                                ? "its version is " + (*kernel)->version() + ", not " + host.version
                                : "its build-id is " + here + ", not " + host.build_id),
                       to_install(host, true, true)};
    return Done{};
}

} // namespace

std::string kernel_packages(const HostFacts& host, bool headers, bool symbols) {
    const auto names = std::ranges::find_if(package_names, [&](const PackageNames& each) {
        return each.distributions.find(" " + host.distribution + " ") != std::string_view::npos;
    });
    if (host.distribution.empty() || names == std::end(package_names))
        return {};
    std::string version = names->has_version ? package_version(host.version) : "";
    if (!version.empty())
        version.insert(0, "=");
    std::string packages;
    if (headers)
        packages = names->headers + host.release + names->headers_end + version;
    if (symbols)
        packages +=
            (headers ? " " : "") + (names->symbols + host.release) + names->symbols_end + version;
    return packages;
}

std::optional<Result<HostFacts>> settle_host(Options& options) {
    if (options.host_facts.empty())
        return std::nullopt;
    Result<HostFacts> facts = read_facts(options.host_facts);
    if (!facts)
        return facts;
    if (!options.kernel.empty())
        return facts;
    // A prefix of another release, or one that is only running, would be another kernel.
    const std::vector<std::string> releases = installed_releases();
    if (std::ranges::find(releases, facts->release) == releases.end())
        return Failure{"kernel " + facts->release + ", which " + name_of(*facts) +
                           " runs, is not on this machine",
                       to_install(*facts, true, true)};
    options.kernel = facts->release;
    if (options.guest && options.guest->empty())
        options.guest = facts->release;
    return facts;
}

bool check_host(Invocation& invocation) {
    if (!invocation.host)
        return true;
    if (!*invocation.host) {
        invocation.fail(DiagnosticKind::HostUnfit, invocation.host->failure());
        return false;
    }
    const HostFacts& host = **invocation.host;
    if (const Status fits = check_kernel(invocation, host); !fits) {
        invocation.fail(DiagnosticKind::HostUnfit, fits.failure());
        return false;
    }
    if (invocation.options.action != Action::Compile || invocation.options.last_pass < 4)
        return true;
    const auto warn = [&](const std::string& text, const std::string& hint) {
        invocation.diagnostics.report(DiagnosticKind::HostWarns, {}, {name_of(host) + ": " + text})
            .hint(hint);
    };
    if (!host.refuses_modules.empty())
        warn("no module can be loaded there: " + host.refuses_modules, "");
    if (!host.signatures.empty() && signing_key(invocation.options).empty())
        warn("its kernel " + host.signatures, "--sign-with KEY CERT signs the module");
    if (!host.calls_at_entries)
        warn(
            "kernel.ftrace_enabled is 0 there: entries of functions are probed by breakpoints, and "
            "returns not at all",
            "sysctl kernel.ftrace_enabled=1");
    return true;
}

} // namespace djstap::driver
