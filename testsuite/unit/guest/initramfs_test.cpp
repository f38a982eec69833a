// SPDX-License-Identifier: GPL-2.0-or-later
// The modules of a guest's first file system, for kernels that consist only of file names.
#include "guest/initramfs.h"
#include "support.h"
#include "system/file.h"

#include <fcntl.h>
#include <set>
#include <sstream>
#include <string>

namespace djstap {
namespace {

// What a kernel with these tables boots with: the list for loading modules, or the error.
struct MadeKernel {
    explicit MadeKernel(const std::string& dependencies, const std::string& builtin = "") {
        make_file(folder.path + "/modules.dep", dependencies);
        make_file(folder.path + "/modules.builtin", builtin);
        for (const char* name : {"virtio", "virtio_pci", "virtio_console", "virtio_blk", "virtiofs",
                                 "overlay", "ext4", "crc32c_generic"})
            make_file(folder.path + "/" + name + ".ko", "the module " + std::string(name));
    }

    std::string boots_with() const {
        GuestJob job;
        job.kernel = {"6.1.0-made", "", folder.path};
        const std::string path = folder.path + "/initramfs";
        const FileDescriptor file(open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600));
        if (const Status written = guest::write_initramfs(job, file.get(), path); !written)
            return written.failure().message;
        const std::string command = "cd " + folder.path +
                                    " && cpio -i --quiet --to-stdout '*modules.boot' < initramfs"
                                    " 2> /dev/null | sed 's|.*/||' | tr '\n' ' ' > list";
        EXPECT_EQ(system(command.c_str()), 0);
        const auto list = read_file(folder.path + "/list");
        return list ? *list : "";
    }

    TestFolder folder;
};

const std::string tables = "virtio.ko:\nvirtio_pci.ko: virtio.ko\nvirtio_console.ko: virtio.ko\n"
                           "virtio_blk.ko: virtio.ko\noverlay.ko:\next4.ko:\n";

// All that is in a guest's first file system, but busybox, its many names, and modules.
TEST(Initramfs, HasFoldersLinksAndTablesOfNames) {
    const MadeKernel kernel(tables + "virtiofs.ko: virtio.ko\ncrc32c_generic.ko:\n");
    kernel.boots_with();
    const std::string folder = kernel.folder.path;
    const std::string command =
        "cd " + folder +
        " && mkdir all && cd all && cpio -idm --quiet --no-absolute-filenames < ../initramfs"
        " 2> /dev/null && find . ! -lname busybox ! -name busybox ! -name '*.ko'"
        " ! -name modules.boot -printf '%P%y%l\\n' | sort | tr '\\n' ' ' > ../names";
    EXPECT_EQ(system(command.c_str()), 0);
    EXPECT_EQ(
        *read_file(folder + "/names"),
        "binlusr/bin d devd etc/groupf etc/hostsf etc/mtabl/proc/self/mounts "
        "etc/nsswitch.conff etc/passwdf etcd initf lib64lusr/lib64 liblusr/lib mnt/hostd "
        "mnt/rootd mntd procd rootd rund sbinlusr/sbin sysd tmpd usr/bind usr/lib/djstap/diskf "
        "usr/lib/djstapd usr/lib64d usr/libd usr/local/bind usr/locald usr/sbind usrd "
        "var/runl/run var/tmpl/tmp vard ");
    EXPECT_EQ(*read_file(folder + "/all/etc/hosts"), "127.0.0.1 localhost guest\n::1 localhost\n");
    EXPECT_EQ(std::filesystem::status(folder + "/all/init").permissions(),
              std::filesystem::perms(0755));
}

// The kernel makes no folder for a file that it unpacks.
TEST(Initramfs, HasEachFolderBeforeWhatIsInIt) {
    const MadeKernel kernel(tables + "virtiofs.ko: virtio.ko\ncrc32c_generic.ko:\n");
    kernel.boots_with();
    const std::string command =
        "cd " + kernel.folder.path + " && cpio -t --quiet < initramfs > names 2> /dev/null";
    ASSERT_EQ(system(command.c_str()), 0);
    std::istringstream names(*read_file(kernel.folder.path + "/names"));
    std::set<std::string> before{"/"};
    for (std::string name; std::getline(names, name);) {
        // /lib and its like are links to folders that have come before.
        const std::string parent = std::filesystem::path(name).parent_path();
        EXPECT_TRUE(before.contains(parent)) << name;
        before.insert(name);
    }
    EXPECT_GT(before.size(), 30u);
}

TEST(Initramfs, HasBusyboxUnderAllOfItsNames) {
    const MadeKernel kernel(tables + "virtiofs.ko: virtio.ko\ncrc32c_generic.ko:\n");
    kernel.boots_with();
    const std::string command =
        "cd " + kernel.folder.path +
        " && mkdir all && cd all && cpio -idm --quiet --no-absolute-filenames < ../initramfs"
        " 2> /dev/null && find usr/bin -lname busybox -printf '%f\\n' | sort > ../links &&"
        " usr/bin/busybox --list | grep -vx busybox | sort | diff - ../links > ../differences";
    EXPECT_EQ(system(command.c_str()), 0) << *read_file(kernel.folder.path + "/differences");
}

TEST(Initramfs, HasModulesAfterThoseThatTheyNeed) {
    EXPECT_EQ(MadeKernel(tables + "virtiofs.ko: virtio.ko\ncrc32c_generic.ko:\n").boots_with(),
              "virtio.ko virtio_pci.ko virtio_console.ko virtio_blk.ko virtiofs.ko overlay.ko "
              "ext4.ko crc32c_generic.ko ");
}

TEST(Initramfs, LeavesOutWhatIsPartOfTheKernel) {
    EXPECT_EQ(MadeKernel(tables + "crc32c_generic.ko:\n",
                         "kernel/fs/fuse/virtiofs.ko\nkernel/drivers/virtio/virtio.ko\n")
                  .boots_with(),
              "virtio_pci.ko virtio_console.ko virtio_blk.ko overlay.ko ext4.ko "
              "crc32c_generic.ko ");
}

TEST(Initramfs, DoesWithoutTheModuleOfChecksums) {
    EXPECT_EQ(MadeKernel(tables + "virtiofs.ko: virtio.ko\n").boots_with(),
              "virtio.ko virtio_pci.ko virtio_console.ko virtio_blk.ko virtiofs.ko overlay.ko "
              "ext4.ko ");
}

TEST(Initramfs, NamesAFileThatIsMissing) {
    const MadeKernel kernel(tables + "virtiofs.ko: virtio.ko\ncrc32c_generic.ko:\n");
    const std::string file = kernel.folder.path + "/overlay.ko";
    std::filesystem::remove(file);
    const std::string said = kernel.boots_with();
    EXPECT_TRUE(said.starts_with(file)) << said;
    EXPECT_TRUE(said.ends_with("No such file or directory")) << said;
}

TEST(Initramfs, NamesAModuleThatIsMissing) {
    EXPECT_EQ(MadeKernel(tables + "crc32c_generic.ko:\n").boots_with(),
              "kernel 6.1.0-made has no module virtiofs, which a guest needs");
}

} // namespace
} // namespace djstap
