// SPDX-License-Identifier: GPL-2.0-or-later
// Finds kernels and their files.
#include "arch/arch.h"
#include "diagnostics/suggest.h"
#include "image/elf_file.h"
#include "image/kernel.h"
#include "system/file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sys/utsname.h>
#include <unistd.h>

namespace djstap {

namespace fs = std::filesystem;

namespace {

std::string kernels_folder() {
    const char* value = std::getenv("DJSTAP_KERNELS");
    return value && *value ? value : "/var/lib/djstap/kernels";
}

std::string running_release() {
    struct utsname name = {};
    return uname(&name) == 0 ? name.release : "";
}

bool exists(const std::string& path) {
    return access(path.c_str(), F_OK) == 0;
}

bool readable(const std::string& path) {
    return access(path.c_str(), R_OK) == 0;
}

template <class Found> void each_entry(const std::string& folder, Found found) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        found(at->path().filename().string());
}

// Returns the first readable one.
std::string first_of(const std::vector<std::string>& places) {
    auto found = std::find_if(places.begin(), places.end(), readable);
    return found == places.end() ? std::string() : *found;
}

// Returns whether it is the kernel itself: header packages may contain a vmlinux with nothing but
// BTF.
bool is_vmlinux(const std::string& path) {
    if (!readable(path))
        return false;
    auto elf = ElfFile::open(path);
    return !elf || (*elf)->section(".text"); // a broken file is reported later
}

std::string first_vmlinux(const std::vector<std::string>& places, std::vector<std::string>& tried) {
    for (const std::string& place : places) {
        tried.push_back(place);
        if (is_vmlinux(place))
            return place;
    }
    return {};
}

// Debian installs a System.map of two lines that only names the real one.
std::string real_symbol_dump(const std::vector<std::string>& places) {
    for (const std::string& place : places) {
        std::error_code error;
        if (readable(place) && fs::file_size(place, error) > 4096 && !error)
            return place;
    }
    return {};
}

KernelFiles files_of(const std::string& release, const std::string& root) {
    KernelFiles files;
    files.release = release;
    files.root = root;
    std::vector<std::string> roots{root};
    if (!root.empty())
        roots.emplace_back();
    auto in_roots = [&](std::initializer_list<std::string> places) {
        std::vector<std::string> all;
        for (const std::string& each : roots) {
            for (const std::string& place : places)
                all.push_back(each + place);
        }
        return all;
    };
    const std::string modules = "/lib/modules/" + release;
    files.vmlinux = first_vmlinux(
        in_roots({"/usr/lib/debug/boot/vmlinux-" + release, "/usr/lib/debug" + modules + "/vmlinux",
                  modules + "/vmlinux", modules + "/build/vmlinux", "/boot/vmlinux-" + release}),
        files.looked_in);
    files.vmlinuz = first_of(in_roots({"/boot/vmlinuz-" + release, modules + "/vmlinuz"}));
    files.build_dir = first_of(in_roots({modules + "/build"}));
    files.modules = first_of(in_roots({modules + "/kernel", modules + "/modules.order", modules}));
    if (!files.modules.empty() && fs::path(files.modules).filename() != release)
        files.modules = fs::path(files.modules).parent_path();
    if (!files.build_dir.empty())
        files.config = first_of({files.build_dir + "/.config"});
    if (files.config.empty())
        files.config = first_of(in_roots({"/boot/config-" + release, modules + "/config"}));
    files.kallsyms =
        real_symbol_dump(in_roots({"/boot/kallsyms-" + release, "/boot/System.map-" + release,
                                   modules + "/System.map", modules + "/build/System.map"}));
    files.btf = first_of(in_roots({"/boot/btf-" + release, "/boot/vmlinux-" + release + ".btf"}));
    files.fentry_functions = first_of(in_roots({"/boot/available_filter_functions_addrs-" + release,
                                                "/boot/available_filter_functions-" + release}));
    files.syscall_formats = first_of(in_roots({"/boot/syscall_formats-" + release}));
    if (release == running_release()) {
        if (files.kallsyms.empty())
            files.kallsyms = first_of({"/proc/kallsyms"});
        if (files.btf.empty())
            files.btf = first_of({"/sys/kernel/btf/vmlinux"});
        if (files.fentry_functions.empty())
            files.fentry_functions =
                first_of({"/sys/kernel/tracing/available_filter_functions_addrs",
                          "/sys/kernel/debug/tracing/available_filter_functions_addrs",
                          "/sys/kernel/tracing/available_filter_functions",
                          "/sys/kernel/debug/tracing/available_filter_functions"});
        if (files.syscall_formats.empty())
            files.syscall_formats = first_of({"/sys/kernel/tracing/events/syscalls",
                                              "/sys/kernel/debug/tracing/events/syscalls"});
        files.kprobe_blacklist = first_of({"/sys/kernel/debug/kprobes/blacklist"});
        files.notes = "/sys/kernel/notes";
        files.banner = "/proc/version";
    }
    return files;
}

// `-r /DIR`: a kernel's build tree, or a folder laid out like a root file system that contains one
// kernel.
Result<KernelFiles> files_in_folder(const std::string& given) {
    std::error_code error;
    std::string folder = fs::canonical(given, error);
    if (error || !fs::is_directory(folder, error))
        return Failure{given + ": is not a readable folder", ""};
    if (auto text = read_file(folder + "/include/config/kernel.release")) {
        std::string release = text->substr(0, text->find('\n'));
        KernelFiles files = files_of(release, "");
        files.build_dir = folder;
        if (is_vmlinux(folder + "/vmlinux"))
            files.vmlinux = folder + "/vmlinux";
        if (readable(folder + "/.config"))
            files.config = folder + "/.config";
        if (std::string vmlinuz = folder + "/" + arch::names().boot_image; readable(vmlinuz))
            files.vmlinuz = vmlinuz;
        files.looked_in.insert(files.looked_in.begin(), folder + "/vmlinux");
        return files;
    }
    std::vector<std::string> releases;
    each_entry(folder + "/lib/modules", [&](const std::string& name) { releases.push_back(name); });
    if (releases.empty()) {
        each_entry(folder + "/boot", [&](const std::string& name) {
            if (name.starts_with("vmlinuz-"))
                releases.push_back(name.substr(strlen("vmlinuz-")));
        });
    }
    if (releases.size() == 1)
        return files_of(releases.front(), folder);
    if (releases.empty())
        return Failure{given + ": this folder contains no kernel",
                       "name a kernel's build tree, or a folder that contains lib/modules/RELEASE"};
    return Failure{given + ": this folder contains " + std::to_string(releases.size()) + " kernels",
                   "use a separate folder for each kernel"};
}

// Returns whether `release` continues `prefix` with something other than further digits of a
// number.
bool has_prefix(const std::string& release, std::string_view prefix) {
    return release.starts_with(prefix) &&
           (prefix.empty() || release.size() == prefix.size() ||
            !isdigit(static_cast<unsigned char>(release[prefix.size()])) ||
            !isdigit(static_cast<unsigned char>(prefix.back())));
}

// Returns whether one of the words between a release's dashes is `flavour`.
bool has_flavour(const std::string& release, std::string_view flavour) {
    const std::string words = release + "-";
    return words.find("-" + std::string(flavour) + "-") != std::string::npos;
}

} // namespace

std::vector<std::string> installed_releases() {
    auto newer = [](const std::string& a, const std::string& b) {
        return strverscmp(a.c_str(), b.c_str()) > 0;
    };
    std::set<std::string, decltype(newer)> found(newer);
    std::error_code error;
    std::string kernels = kernels_folder();
    each_entry(kernels, [&](const std::string& name) {
        if (!name.starts_with('.') && fs::is_directory(kernels + "/" + name, error))
            found.insert(name);
    });
    each_entry("/lib/modules", [&](const std::string& name) { found.insert(name); });
    each_entry("/boot", [&](const std::string& name) {
        if (name.starts_with("vmlinuz-") && !name.ends_with(".old"))
            found.insert(name.substr(strlen("vmlinuz-")));
    });
    if (std::string running = running_release(); !running.empty())
        found.insert(running);
    return {found.begin(), found.end()};
}

std::vector<std::string> fitting_releases(std::string_view wanted) {
    const std::vector<std::string> installed = installed_releases();
    if (std::find(installed.begin(), installed.end(), wanted) != installed.end())
        return {std::string(wanted)};
    std::vector<std::string> found;
    const auto add = [&](const auto& fits) {
        std::copy_if(installed.begin(), installed.end(), std::back_inserter(found), fits);
    };
    for (const bool real_time : {false, true})
        add([&](const std::string& each) {
            return has_prefix(each, wanted) && has_flavour(each, "rt") == real_time;
        });
    const size_t dash = wanted.rfind('-');
    if (found.empty() && dash != std::string_view::npos)
        add([&](const std::string& each) {
            return has_prefix(each, wanted.substr(0, dash)) &&
                   has_flavour(each, wanted.substr(dash + 1));
        });
    return found;
}

Result<KernelFiles> find_kernel(std::string_view wanted) {
    if (wanted.find('/') != std::string_view::npos)
        return files_in_folder(std::string(wanted));
    std::string release(wanted);
    if (release.empty()) {
        release = running_release();
    } else {
        const std::vector<std::string> fitting = fitting_releases(wanted);
        if (fitting.empty()) {
            const std::vector<std::string> installed = installed_releases();
            std::string hint = did_you_mean(release, installed);
            std::string list;
            for (const std::string& each : installed)
                list.append(list.empty() ? "" : ", ").append(each);
            if (!hint.empty())
                hint += ' ';
            hint.append("installed: ").append(list);
            return Failure{"kernel '" + release + "' is not installed on this machine", hint};
        }
        release = fitting.front();
    }
    std::string root = kernels_folder() + "/" + release;
    return files_of(release, exists(root) ? root : "");
}

} // namespace djstap
