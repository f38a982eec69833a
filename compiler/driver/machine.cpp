// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/machine.h"

#include "arch/arch.h"
#include "image/configuration.h"
#include "session/module_loader.h"
#include "session/privilege.h"
#include "system/file.h"
#include "system/process.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/utsname.h>
#include <unistd.h>

namespace djstap::driver {

namespace {

// Searches $PATH and the folders where Debian keeps administration tools.
std::string program(const char* name) {
    return find_program(name, {"/usr/sbin", "/sbin", "/usr/libexec", "/usr/lib/qemu"});
}

Fact present(const char* name, const std::string& value, std::string absent, std::string remedy) {
    Fact fact;
    fact.name = name;
    fact.present = !value.empty();
    if (fact.present) {
        fact.value = value;
    } else {
        fact.value = std::move(absent);
        fact.remedy = std::move(remedy);
    }
    return fact;
}

// Returns whether the kernel was built with this setting.
bool has_config(const KernelFiles& files, std::string_view line) {
    Result<std::string> text = read_file(files.config);
    return text && ("\n" + *text).find("\n" + std::string(line) + "\n") != std::string::npos;
}

Fact modules_fact() {
    Fact fact;
    fact.name = "module loading";
    fact.needed_to_run = true;
    Result<std::string> disabled = read_file("/proc/sys/kernel/modules_disabled");
    fact.present = disabled && trimmed(*disabled) == "0";
    fact.value = fact.present ? "allowed"
                 : disabled   ? "disabled until the next boot (kernel.modules_disabled)"
                              : "this kernel does not support modules";
    if (!fact.present && disabled)
        fact.remedy = "boot without the setting";
    return fact;
}

Fact signature_fact(const SigningKey& key) {
    Fact fact;
    fact.name = "signatures of modules";
    fact.needed_to_run = true;
    const std::string demand = signature_demand();
    fact.present = demand.empty() || !key.empty();
    fact.value = demand.empty() ? "not required"
                                : "required: this kernel " + demand +
                                      (key.empty() ? "" : "; modules are signed with " + key.key);
    if (!fact.present)
        fact.remedy = "djstap --enroll-key CERT, then --sign-with KEY CERT";
    return fact;
}

Fact root_fact() {
    Fact fact;
    fact.name = "permission";
    fact.needed_to_run = true;
    const std::string missing = missing_privilege();
    fact.present = missing.empty();
    fact.value = fact.present ? "to load modules and to read from them (CAP_SYS_MODULE, "
                                "CAP_SYS_ADMIN)"
                              : missing;
    if (!fact.present)
        fact.remedy = geteuid() == 0 ? "run it outside the container" : "sudo djstap …";
    return fact;
}

} // namespace

std::vector<Fact> kernel_facts(const KernelFiles& files) {
    std::vector<Fact> facts;
    std::string flavour = files.release;
    Fact headers = present("kernel headers", files.build_dir, "none for " + files.release,
                           "apt-get install linux-headers-" + files.release);
    headers.needed_to_compile = true;
    facts.push_back(headers);
    facts.push_back(present("debug symbols", files.vmlinux,
                            "none: statement probes and local variables are not available",
                            "apt-get install linux-image-" + files.release + "-dbg"));
    facts.push_back(present("BTF",
                            !files.btf.empty()      ? files.btf
                            : files.vmlinux.empty() ? ""
                                                    : "in " + files.vmlinux,
                            "none", ""));
    Fact symbols = present("symbols", files.vmlinux.empty() ? files.kallsyms : files.vmlinux,
                           "none: neither debug symbols nor kallsyms are readable",
                           "apt-get install linux-image-" + files.release + "-dbg");
    symbols.needed_to_compile = true;
    facts.push_back(symbols);
    facts.push_back(present("configuration", files.config, "none", ""));
    if (!files.config.empty()) {
        auto yes_no = [&](const char* name, const char* line, const char* absent) {
            facts.push_back(present(name, has_config(files, line) ? "yes" : "", absent, ""));
        };
        yes_no("direct calls at function entries", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS=y",
               "no: every function is probed with a kprobe");
        yes_no("kprobes", "CONFIG_KPROBES=y", "no: only function entries can be probed");
        const std::string landing_pads = "CONFIG_" + std::string(arch::landing_pad_option()) + "=y";
        yes_no("indirect branch tracking", landing_pads.c_str(), "no");
        yes_no("module signatures required", "CONFIG_MODULE_SIG_FORCE=y", "no");
        const std::vector<std::string> reasons =
            misfits([configuration = Configuration(files.config)](std::string_view name) {
                return configuration.value(name);
            });
        Fact known;
        known.name = "known to the runtime";
        known.needed_to_compile = true;
        known.present = reasons.empty();
        for (const std::string& reason : reasons)
            known.value += (known.value.empty() ? "" : "; ") + reason;
        if (known.present)
            known.value = "yes";
        else
            known.remedy = "use a kernel packaged by a distribution";
        facts.push_back(known);
    }
    return facts;
}

SigningKey signing_key(const Options& options) {
    return options.signing_key.empty()
               ? signing_key_from_environment()
               : SigningKey{options.signing_key, options.signing_certificate};
}

std::vector<Fact> running_facts(const Options& options) {
    return {root_fact(), modules_fact(), signature_fact(signing_key(options))};
}

std::vector<Fact> guest_facts() {
    std::vector<Fact> facts;
    facts.push_back(present("QEMU", program(arch::names().emulator), "none",
                            std::string("apt-get install ") + arch::names().emulator_package));
    facts.push_back(present("virtiofsd, for this machine's files in guests", program("virtiofsd"),
                            "none", "apt-get install virtiofsd"));
    return facts;
}

Result<KernelFiles> find_guest_kernel(const std::string& wanted) {
    std::string first_reason;
    for (const std::string& release : fitting_releases(wanted)) {
        Result<KernelFiles> files = find_kernel(release);
        if (!files)
            continue;
        const char* lacks = files->vmlinuz.empty()     ? "bootable image"
                            : files->modules.empty()   ? "modules"
                            : files->build_dir.empty() ? "headers"
                                                       : nullptr;
        if (!lacks)
            return files;
        if (first_reason.empty())
            first_reason = release + " has no " + lacks;
    }
    if (!wanted.empty()) {
        Result<KernelFiles> files = find_kernel(wanted);
        if (!files)
            return files.failure();
        if (first_reason.empty()) // a folder
            return files;
    }
    return Failure{"no kernel is available for a guest" +
                       (first_reason.empty() ? "" : ": " + first_reason),
                   "install one with its headers, e.g. linux-image-cloud-amd64 and "
                   "linux-headers-cloud-amd64, or "
                   "unpack it below /var/lib/djstap/kernels"};
}

GuestKernel guest_kernel(const KernelFiles& files) {
    auto resolved = [](const std::string& path) {
        std::error_code error;
        const auto real = std::filesystem::canonical(path, error);
        return error ? path : real.string();
    };
    return {files.release, resolved(files.vmlinuz), resolved(files.modules)};
}

MissingParts missing_parts(const KernelFiles& files, const Options& options) {
    MissingParts missing;
    auto add = [&](const std::string& what, const std::string& remedy) {
        missing.text += (missing.text.empty() ? "" : "; ") + what;
        if (!remedy.empty())
            missing.remedies += (missing.remedies.empty() ? "" : "; ") + remedy;
    };
    struct utsname name = {};
    uname(&name);
    if (files.release != name.release)
        add("it runs kernel " + std::string(name.release) + ", not " + files.release, "");
    for (const Fact& fact : kernel_facts(files))
        if (fact.needed_to_compile && !fact.present)
            add(fact.name + ": " + fact.value, fact.remedy);
    for (const Fact& fact : running_facts(options))
        if (fact.needed_to_run && !fact.present)
            add(fact.name + ": " + fact.value, fact.remedy);
    return missing;
}

bool check_machine(Invocation& invocation) {
    if (invocation.guest_kernel) {
        if (!*invocation.guest_kernel)
            invocation.fail(DiagnosticKind::GuestUnavailable, invocation.guest_kernel->failure());
        return static_cast<bool>(*invocation.guest_kernel);
    }
    const Result<KernelFiles> files = find_kernel(invocation.options.kernel);
    if (!files) {
        invocation.fail(DiagnosticKind::KernelUnusable, files.failure());
        return false;
    }
    const MissingParts missing = missing_parts(*files, invocation.options);
    if (missing.text.empty())
        return true;
    std::string guest = "--guest runs it in a throw-away virtual machine";
    invocation.diagnostics.report(DiagnosticKind::MachineLacks, {}, {missing.text})
        .hint(missing.remedies.empty() ? guest : guest + "; for this machine: " + missing.remedies);
    return false;
}

} // namespace djstap::driver
