#include "guest/initramfs.h"

#include "guest/archive.h"
#include "guest/modules.h"
#include "guest/protocol.h"

#include <cstdlib>
#include <set>
#include <sstream>
#include <unistd.h>

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global djstap_guest_agent_begin, djstap_guest_agent_end\n"
        "djstap_guest_agent_begin:\n"
        ".incbin \"" DJSTAP_GUEST_AGENT "\"\n"
        "djstap_guest_agent_end:\n"
        ".byte 0\n"
        ".previous\n");
extern "C" const char djstap_guest_agent_begin[], djstap_guest_agent_end[];

namespace djstap::guest {

namespace {

// What reaches the host (boot) and its root (hostroot).
const std::vector<std::string> boot_modules = {"virtio_pci", "virtio_console"};
const std::vector<std::string> hostroot_modules = {"virtiofs", "overlay"};

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
        return Failure{"there is no busybox for the guest", "install the package busybox-static"};
    Result<std::string> elf = read_file(busybox);
    if (!elf)
        return elf.failure();
    if (elf->find("/ld-linux-x86-64.so") != std::string::npos)
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

// Adds the modules that are not in `present` yet, and the list to load them by.
Status add_modules(Archive& archive, const GuestKernel& kernel,
                   const std::vector<std::string>& names, const std::string& list,
                   std::set<std::string>& present) {
    Result<std::vector<ModuleFile>> modules = modules_with_dependencies(kernel, names);
    if (!modules)
        return modules.failure();
    std::string paths;
    for (ModuleFile& module : *modules) {
        if (!present.insert(module.name).second)
            continue;
        std::string path = DJSTAP_GUEST_FOLDER "/" + module.name + ".ko";
        archive.add_text(path, std::move(module.bytes));
        paths += path + "\n";
    }
    archive.add_text(DJSTAP_GUEST_FOLDER "/" + list, paths);
    return Done{};
}

} // namespace

std::string_view agent_program() {
    return {djstap_guest_agent_begin,
            static_cast<size_t>(djstap_guest_agent_end - djstap_guest_agent_begin)};
}

Status write_initramfs(const GuestKernel& kernel, int fd, const std::string& path) {
    Archive archive;
    for (const char* folder :
         {"/dev", "/etc", "/mnt", "/proc", "/root", "/run", "/sys", "/tmp", "/usr", "/usr/bin",
          "/usr/lib", "/usr/lib64", "/usr/local", "/usr/local/bin", "/usr/sbin", "/var"})
        archive.add_folder(folder);
    // As on the host, where /lib is a link: a library is then found by either of its paths.
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
    std::set<std::string> present;
    if (Status added = add_busybox(archive); !added)
        return added;
    if (Status added = add_modules(archive, kernel, boot_modules, "modules.boot", present); !added)
        return added;
    if (Status added = add_modules(archive, kernel, hostroot_modules, "modules.hostroot", present);
        !added)
        return added;
    for (bool more = true; more;) {
        std::string piece;
        Result<bool> next = archive.next(piece, 1 << 20);
        if (!next)
            return next.failure();
        more = *next;
        if (Status written = write_all(fd, piece, path); !written)
            return written;
    }
    return Done{};
}

} // namespace djstap::guest
