// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/info.h"

#include "driver/caches.h"
#include "driver/machine.h"
#include "driver/version.h"
#include "image/debug_file.h"
#include "image/debuginfod.h"

#include <filesystem>
#include <sys/utsname.h>

namespace djstap::driver {

namespace {

Fact own_file(const char* name, const std::string& path) {
    std::error_code error;
    bool there = std::filesystem::exists(path, error);
    return {name,  there, there ? path : path + " does not exist", there ? "" : "reinstall djstap",
            false, false};
}

// Where the debug information of a kernel and of its modules is found, without asking servers.
std::vector<Fact> debuginfo_facts(const Kernel& kernel) {
    std::vector<Fact> facts;
    const DebugFileSearch search = find_debug_file(kernel, DebugServers::Ignore);
    std::string where = search.found ? "DWARF in " + search.found->origin : "no DWARF";
    for (const std::string& reason : search.refused)
        where += "; " + reason;
    facts.push_back({"debug information", search.found.has_value(), where, "", false, false});
    const DebugFolder modules = module_debug_folder(kernel.files());
    facts.push_back({"debug information of modules", modules.files > 0,
                     modules.files > 0
                         ? "for " + std::to_string(modules.files) + " modules in " + modules.path
                         : "none in " + modules.path + ": there is only what the modules contain",
                     "", false, false});
    const std::string servers = debuginfod_servers();
    facts.push_back({"debuginfod", !servers.empty(),
                     servers.empty() ? "no server is asked: DEBUGINFOD_URLS is not set" : servers,
                     "", false, false});
    return facts;
}

std::vector<FactChapter> gather(Invocation& invocation) {
    std::vector<FactChapter> chapters;
    struct utsname name = {};
    uname(&name);
    chapters.push_back(
        {"This machine, kernel " + std::string(name.release), running_facts(invocation.options)});
    std::string wanted = invocation.options.release();
    Result<KernelFiles> files = find_kernel(wanted);
    if (files) {
        chapters.push_back({"Compiling for kernel " + files->release, kernel_facts(*files)});
        if (Result<const Kernel*> kernel = invocation.images.kernel()) {
            std::vector<Fact>& facts = chapters.back().facts;
            facts.push_back({"build-id", !(*kernel)->build_id().empty(), (*kernel)->build_id(), "",
                             false, false});
            size_t sites = (*kernel)->fentry_site_count();
            facts.push_back({"function entries for direct calls", sites > 0, std::to_string(sites),
                             "", false, false});
            for (Fact& fact : debuginfo_facts(**kernel))
                facts.push_back(std::move(fact));
        }
    } else {
        chapters.push_back({"Compiling",
                            {{"kernel " + wanted, false, files.failure().message,
                              files.failure().hint, true, true}}});
    }
    FactChapter guests{"Guests (--guest=RELEASE)", guest_facts()};
    for (const std::string& release : installed_releases()) {
        Result<KernelFiles> each = find_kernel(release);
        if (!each || each->vmlinuz.empty())
            continue;
        bool whole = !each->modules.empty() && !each->build_dir.empty();
        guests.facts.push_back(
            {release, whole,
             whole ? each->vmlinux.empty() ? "without debug symbols" : "with debug symbols"
                   : "its headers or modules are not installed",
             whole ? "" : "apt-get install linux-headers-" + release, false, false});
    }
    chapters.push_back(std::move(guests));
    chapters.push_back({"djstap",
                        {own_file("tapsets", invocation.places.tapsets),
                         own_file("runtime", invocation.places.runtime),
                         own_file("djrun", invocation.places.djrun)}});
    CacheUse use = cache_use();
    chapters.back().facts.push_back({"cache", true,
                                     use.folder + ": " + std::to_string(use.files) + " files, " +
                                         std::to_string(use.bytes >> 20) + " MB",
                                     "", false, false});
    return chapters;
}

} // namespace

bool print_info(Invocation& invocation) {
    invocation.output().facts(DJSTAP_VERSION, version_text(), gather(invocation));
    return true;
}

} // namespace djstap::driver
