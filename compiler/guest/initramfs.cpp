// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/initramfs.h"

#include "arch/arch.h"
#include "guest/archive.h"
#include "guest/modules.h"
#include "guest/protocol.h"

#include <cstdlib>
#include <sstream>
#include <unistd.h>

// embedded.S
extern "C" const char djstap_guest_agent_begin[], djstap_guest_agent_end[];

namespace djstap::guest {

namespace {

// The modules for the connection to the host, the disk and the host's files. All of them are loaded
// before the guest is saved.
const std::vector<std::string> boot_modules = {"virtio_pci", "virtio_console", "virtio_blk",
                                               "virtiofs",   "overlay",        "ext4"};
// ext4 requests it by function if it is a module: no dependency table contains it.
const char* const checksums = "crc32c_generic";

std::string find_busybox() {
    for (const char* path :
         {"/bin/busybox", "/usr/bin/busybox", "/sbin/busybox", "/usr/sbin/busybox"})
        if (access(path, X_OK) == 0)
            return path;
    return "";
}

Status add_busybox(Archive& archive) {
    std::string busybox = find_busybox();
    if (busybox.empty())
        return Failure{"busybox is missing for the guest", "install the package busybox-static"};
    Result<std::string> elf = read_file(busybox);
    if (!elf)
        return system_failure("open", busybox);
    if (elf->find(arch::names().interpreter) != std::string::npos)
        return Failure{busybox + " is not linked statically", "install the package busybox-static"};
    Result<std::string> applets = output_of({busybox, "--list"});
    if (!applets)
        return applets.failure();
    if (Status added = archive.add({busybox, "/usr/bin/busybox", 0755, ""}); !added)
        return added;
    std::istringstream names(*applets);
    for (std::string name; std::getline(names, name);)
        if (name != "busybox")
            archive.add_link("/usr/bin/" + name, "busybox");
    return Done{};
}

// Adds the modules, and the list that gives the order of loading.
Status add_modules(Archive& archive, const GuestKernel& kernel) {
    std::vector<std::string> names = boot_modules;
    names.emplace_back(checksums);
    Result<std::vector<ModuleFile>> modules = modules_with_dependencies(kernel, names);
    if (!modules)
        modules = modules_with_dependencies(kernel, boot_modules);
    if (!modules)
        return modules.failure();
    std::string paths;
    for (ModuleFile& module : *modules) {
        std::string path = DJSTAP_GUEST_FOLDER "/" + module.name + ".ko";
        archive.add_text(path, std::move(module.bytes));
        paths += path + "\n";
    }
    archive.add_text(DJSTAP_GUEST_FOLDER "/modules.boot", paths);
    return Done{};
}

} // namespace

std::string_view agent_program() {
    return {djstap_guest_agent_begin,
            static_cast<size_t>(djstap_guest_agent_end - djstap_guest_agent_begin)};
}

Status write_initramfs(const GuestJob& job, int fd, const std::string& path) {
    Archive archive;
    for (const char* folder : {"/dev", "/etc", "/mnt", "/mnt/host", "/mnt/root", "/proc", "/root",
                               "/run", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64",
                               "/usr/local", "/usr/local/bin", "/usr/sbin", "/var"})
        archive.add_folder(folder);
    // As on the host, where /lib is a link: both paths of a library are then valid.
    for (const char* merged : {"bin", "sbin", "lib", "lib64"})
        archive.add_link(std::string("/") + merged, std::string("usr/") + merged);
    archive.add_folder(DJSTAP_GUEST_FOLDER);
    archive.add_link("/var/run", "/run");
    archive.add_link("/var/tmp", "/tmp");
    archive.add_link("/etc/mtab", "/proc/self/mounts");
    archive.add_text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
                                    "nobody:x:65534:65534:nobody:/:/bin/false\n");
    archive.add_text("/etc/group", "root:x:0:\nnogroup:x:65534:\n");
    archive.add_text("/etc/hosts", "127.0.0.1 localhost guest\n::1 localhost\n");
    archive.add_text("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
    archive.add_text("/init", std::string(agent_program()), 0755);
    if (Status added = add_busybox(archive); !added)
        return added;
    if (Status added = add_modules(archive, job.kernel); !added)
        return added;
    if (job.disk_mb)
        archive.add_text(DJSTAP_GUEST_DISK, "");
    for (bool more = true; more;) {
        std::string piece;
        Result<bool> next = archive.next(piece, 1 << 20);
        if (!next)
            return next.failure();
        more = *next;
        if (Status written = write_to(fd, piece, path); !written)
            return written;
    }
    return Done{};
}

} // namespace djstap::guest
