// SPDX-License-Identifier: GPL-2.0-or-later
// Which kernel a guest has, and runs that end before there is a guest.
#include "../surroundings.h"
#include "driver/guest_run.h"
#include "driver/machine.h"
#include "parsed_options.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <optional>

namespace djstap::driver {
namespace {

namespace fs = std::filesystem;

// Kernels that are made up, each in a folder like a root file system.
class KernelsOfGuests : public testing::Test {
  protected:
    void boots(const std::string& release) const {
        folder.write(release + "/boot/vmlinuz-" + release, "image");
    }
    void has_modules(const std::string& release) const {
        fs::create_directories(folder.file(release + "/lib/modules/" + release + "/kernel"));
    }
    void has_headers(const std::string& release) const {
        fs::create_directories(folder.file(release + "/lib/modules/" + release + "/build"));
    }
    static std::string found(const std::string& wanted) {
        const auto files = find_guest_kernel(wanted);
        return files ? files->release : files.failure().message;
    }

    const test::TestFolder folder;

  private:
    const test::Environment kernels_{"DJSTAP_KERNELS", folder.path};
};

TEST_F(KernelsOfGuests, AreThoseThatHaveAllFiles) {
    const std::string none = "no kernel is available for a guest: 9.9.2-own has no ";
    fs::create_directory(folder.file("9.9.2-own"));
    EXPECT_EQ(found("9.9"), none + "bootable image");
    boots("9.9.2-own");
    EXPECT_EQ(found("9.9"), none + "modules");
    has_modules("9.9.2-own");
    EXPECT_EQ(found("9.9"), none + "headers");
    // An older one is taken in its place; of those that lack something, the first one is told.
    fs::create_directory(folder.file("9.9.1-own"));
    EXPECT_EQ(found("9.9"), none + "headers");
    boots("9.9.1-own");
    has_modules("9.9.1-own");
    has_headers("9.9.1-own");
    EXPECT_EQ(found("9.9"), "9.9.1-own");
    has_headers("9.9.2-own");
    EXPECT_EQ(found("9.9"), "9.9.2-own");
    EXPECT_EQ(found("9.9.1"), "9.9.1-own");
    EXPECT_TRUE(found("9.9.9-none").starts_with("kernel '9.9.9-none' is not installed"));
}

TEST_F(KernelsOfGuests, AreFixedWhenTheRunBegins) {
    for (const char* release : {"9.9.1-own", "9.9.2-own"}) {
        boots(release);
        has_modules(release);
        has_headers(release);
    }
    const Invocation invocation(accept({"--guest=9.9", "-e", "x"}));
    ASSERT_TRUE(invocation.guest_kernel && *invocation.guest_kernel);
    EXPECT_EQ((*invocation.guest_kernel)->release, "9.9.2-own");
    EXPECT_EQ(invocation.options.guest, "9.9.2-own");
    EXPECT_EQ(invocation.options.release(), "9.9.2-own");
    // A folder stays what it is: its kernel may have the release of another one.
    const std::string path = folder.file("9.9.1-own");
    const Invocation of_folder(accept({"--guest=" + path, "-e", "x"}));
    ASSERT_TRUE(of_folder.guest_kernel && *of_folder.guest_kernel);
    EXPECT_EQ((*of_folder.guest_kernel)->release, "9.9.1-own");
    EXPECT_EQ(of_folder.options.guest, path);
    EXPECT_FALSE(Invocation(accept({"-e", "x"})).guest_kernel);
}

// A guest is saved for each kernel: several paths to one lead to the same.
TEST_F(KernelsOfGuests, HaveTheirFilesWhereLinksLead) {
    boots("9.9.1-own");
    has_modules("9.9.1-own");
    fs::create_symlink("9.9.1-own/boot/vmlinuz-9.9.1-own", folder.file("image"));
    fs::create_symlink("9.9.1-own/lib/modules", folder.file("modules"));
    KernelFiles files;
    files.release = "9.9.1-own";
    files.vmlinuz = folder.file("image");
    files.modules = folder.file("modules");
    const std::string real = fs::canonical(folder.path);
    GuestKernel kernel = guest_kernel(files);
    EXPECT_EQ(kernel.release, "9.9.1-own");
    EXPECT_EQ(kernel.vmlinuz, real + "/9.9.1-own/boot/vmlinuz-9.9.1-own");
    EXPECT_EQ(kernel.modules, real + "/9.9.1-own/lib/modules");
    files.vmlinuz = folder.file("none");
    EXPECT_EQ(guest_kernel(files).vmlinuz, folder.file("none"));
}

// A run whose kernel has no image: what is refused before that is told before.
class RunsInNoGuest : public testing::Test {
  protected:
    std::optional<FinishedRun> run(const std::string& command = "",
                                   GuestFiles guest_files = GuestFiles::None) {
        Words words{"--guest=/none/such", "-e", "x"};
        if (!output.empty())
            words.insert(words.begin(), {"-o", output});
        invocation = std::make_unique<Invocation>(accept(std::move(words)));
        invocation->options.command = command;
        KernelFiles files;
        files.release = "9.9.1-own";
        files.vmlinuz = folder.file("vmlinuz");
        invocation->guest_kernel = Result<KernelFiles>(files);
        invocation->places.djrun = reader;
        RunnableScript runnable;
        runnable.module_path = folder.write("module.ko", "module");
        runnable.settings.guest_files = guest_files;
        return run_in_guest(*invocation, runnable);
    }
    const Diagnostic& last() const { return invocation->diagnostics.all().back(); }

    const test::TestFolder folder;
    std::string reader = "/bin/true", output;
    std::unique_ptr<Invocation> invocation;

  private:
    const test::Environment report_{"DJSTAP_REPORT"}, qemu_{"DJSTAP_QEMU_ARGUMENTS"};
};

TEST_F(RunsInNoGuest, NeedTheReader) {
    reader = folder.file("no-djrun");
    EXPECT_FALSE(run());
    ASSERT_EQ(invocation->diagnostics.error_count(), 1u);
    EXPECT_EQ(last().kind, DiagnosticKind::GuestUnavailable);
    EXPECT_TRUE(last().message.starts_with("djrun, the reader in the guest: ")) << last().message;
}

TEST_F(RunsInNoGuest, NeedTheCommand) {
    EXPECT_FALSE(run("/none/such-program", GuestFiles::Copied));
    ASSERT_EQ(invocation->diagnostics.error_count(), 1u);
    EXPECT_EQ(last().kind, DiagnosticKind::GuestUnavailable);
    EXPECT_TRUE(last().message.starts_with("-c: ")) << last().message;
}

// They are opened here, before a guest is started.
TEST_F(RunsInNoGuest, NeedTheirOutputs) {
    output = folder.file("none/output");
    EXPECT_FALSE(run());
    ASSERT_EQ(invocation->diagnostics.error_count(), 1u);
    EXPECT_EQ(last().kind, DiagnosticKind::WorkFiles);
    EXPECT_EQ(last().message, output + ": No such file or directory");
}

TEST_F(RunsInNoGuest, NeedTheKernel) {
    EXPECT_FALSE(run());
    ASSERT_EQ(invocation->diagnostics.error_count(), 1u);
    EXPECT_EQ(last().kind, DiagnosticKind::GuestUnavailable);
    EXPECT_NE(last().message.find("the kernel " + folder.file("vmlinuz")), std::string::npos)
        << last().message;
    EXPECT_TRUE(last().message.ends_with("No such file or directory")) << last().message;
    EXPECT_EQ(last().hint_text, "scripts/kernels fetches kernels for guests");
}

} // namespace
} // namespace djstap::driver
