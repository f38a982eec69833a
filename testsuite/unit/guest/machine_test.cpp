// SPDX-License-Identifier: GPL-2.0-or-later
// How QEMU is called and talked to; a shell script stands for it.
#include "guest/machine.h"

#include "guest/facts.h"
#include "guest/protocol.h"
#include "support.h"
#include "system/file.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

namespace djstap {
namespace {

using guest::Machine;
using guest::MachineFiles;
using Values = std::vector<std::string>;

// The values that follow an option.
Values values_of(const std::string& option, const std::vector<std::string>& arguments) {
    Values values;
    for (size_t i = 0; i + 1 < arguments.size(); i++)
        if (arguments[i] == option)
            values.push_back(arguments[i + 1]);
    return values;
}

Values values_of(const std::string& option, const GuestJob& job) {
    return values_of(option, guest::machine_arguments(job));
}

const std::string command_line =
    "console=ttyS0 loglevel=5 oops=panic panic=-1 nokaslr unknown_nmi_panic tsc=reliable "
    "no_timer_check rdinit=/init";

// What stands for QEMU answers with what `answer` prints for a command in $line, and then runs
// `at_end`.
class FakeQemu : public testing::Test {
  protected:
    void serve(const std::string& answer, const std::string& at_begin = "",
               const std::string& greeting = "echo '{\"QMP\":{}}' >&$qmp") {
        make_file(folder.path + "/qemu-system-x86_64", R"(#!/bin/bash
cd )" + folder.path + R"(
printf '%s\n' "$@" > arguments
for argument; do
    case $argument in
    socket,id=qmp,fd=*) qmp=${argument##*=} ;;
    socket,id=agent,fd=*) agent=${argument##*=} ;;
    file,id=console,path=*) console=${argument##*=} ;;
    esac
done
)" + at_begin + "\n" + greeting + R"(
while read -r line <&$qmp; do
    echo "$line" >> commands
    reply='{"return":{}}'
)" + answer + R"(
    echo "$reply" >&$qmp
done
)",
                  true);
        path.emplace("PATH", folder.path + ":/usr/bin:/bin");
    }
    Result<Machine> start(const MachineFiles& more = {}) {
        MachineFiles files = more;
        files.memory = memory.get();
        files.initramfs = initramfs.get();
        return Machine::start(job, files);
    }
    std::string failure_of_start() {
        const auto machine = start();
        EXPECT_FALSE(machine);
        return machine ? "" : machine.failure().message;
    }
    std::vector<std::string> lines_of(const std::string& name) const {
        std::ifstream file(folder.path + "/" + name);
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);)
            lines.push_back(line);
        return lines;
    }
    // What was asked of QEMU: the commands' names, after the one that begins.
    std::vector<std::string> commands() const {
        std::vector<std::string> names;
        for (const std::string& line : lines_of("commands"))
            names.push_back(nlohmann::json::parse(line)["execute"]);
        return names;
    }
    static guest::Clock::time_point soon() {
        return guest::Clock::now() + std::chrono::seconds(20);
    }
    static guest::Clock::time_point now() { return guest::Clock::now(); }

    TestFolder folder;
    GuestJob job;
    FileDescriptor memory{memfd_create("memory", MFD_CLOEXEC)},
        initramfs{memfd_create("initramfs", MFD_CLOEXEC)};

  private:
    std::optional<Environment> path;
};

} // namespace

TEST(MachineArguments, AllCpusShareAThread) {
    GuestJob job;
    EXPECT_EQ(values_of("-accel", job), Values{"tcg,thread=single"});
    job.cpus = 1;
    EXPECT_EQ(values_of("-accel", job), Values{"tcg"});
}

TEST(MachineArguments, AnAcceleratorThatIsGivenIsTheOnlyOne) {
    GuestJob job;
    job.qemu_arguments = {"-accel", "tcg,thread=multi", "-smp", "4"};
    EXPECT_EQ(values_of("-accel", job), Values{"tcg,thread=multi"});
    EXPECT_EQ(values_of("-smp", job), (Values{"2", "4"})); // the last one counts
}

TEST(MachineArguments, AreOfTheSizeThatIsAskedFor) {
    GuestJob job;
    job.kernel.vmlinuz = "/boot/vmlinuz";
    job.memory_mb = 300;
    job.cpus = 3;
    EXPECT_EQ(values_of("-m", job), Values{"300"});
    EXPECT_EQ(values_of("-smp", job), Values{"3"});
    EXPECT_EQ(values_of("-kernel", job), Values{"/boot/vmlinuz"});
    EXPECT_EQ(values_of("-device", job).size(), 3u);
    EXPECT_EQ(values_of("-device", job).back(),
              "virtio-blk-pci,drive=disk,werror=report,rerror=report");
    job.disk_mb = 0;
    EXPECT_EQ(values_of("-device", job).size(), 2u);
}

TEST(MachineArguments, TheKernelIsToldWhatIsMeasuredAndWanted) {
    GuestJob job;
    EXPECT_EQ(values_of("-append", job), Values{command_line});
    job.kernel_arguments = "quiet";
    EXPECT_EQ(values_of("-append", guest::machine_arguments(job, "rate=1")),
              Values{command_line + " rate=1 quiet"});
}

// The kernel knows no word against nokaslr.
TEST(MachineArguments, TheKernelIsWhereItWasLinkedUnlessToldOtherwise) {
    const auto is_fixed = [](const char* arguments) {
        GuestJob job;
        job.kernel_arguments = arguments;
        return values_of("-append", job)[0].find(" nokaslr ") != std::string::npos;
    };
    for (const char* arguments : {"", "quiet", "kaslr=1", "nokaslr", "xkaslr quiet"})
        EXPECT_TRUE(is_fixed(arguments)) << arguments;
    for (const char* arguments : {"kaslr", "kaslr quiet", "quiet kaslr", "a kaslr b"})
        EXPECT_FALSE(is_fixed(arguments)) << arguments;
}

TEST(BootArguments, TheRateOfTheClockUnlessInstructionsAreCounted) {
    GuestJob job;
    EXPECT_EQ(guest::boot_arguments(job).substr(0, 14), "tsc_early_khz=");
    job.qemu_arguments = {"-icount", "shift=auto"};
    EXPECT_EQ(guest::boot_arguments(job), "");
}

TEST_F(FakeQemu, IsGivenItsFiles) {
    serve("", "for file in $(grep -o '/proc/self/fd/[0-9]*' arguments); do "
              "[ -e /proc/$$/fd/${file##*/} ] || echo $file >> not-open; done");
    job.memory_mb = 300;
    const FileDescriptor disk(memfd_create("disk", MFD_CLOEXEC));
    MachineFiles files;
    files.disk = disk.get();
    {
        auto machine = start(files);
        ASSERT_TRUE(machine) << machine.failure().message;
    }
    const auto path = [](const FileDescriptor& file) {
        return "/proc/self/fd/" + std::to_string(file.get());
    };
    auto arguments = lines_of("arguments");
    EXPECT_EQ(
        values_of("-object", arguments),
        Values{"memory-backend-file,id=ram,size=300M,mem-path=" + path(memory) + ",share=on"});
    EXPECT_EQ(values_of("-initrd", arguments), Values{path(initramfs)});
    EXPECT_EQ(values_of("-blockdev", arguments),
              Values{"driver=raw,node-name=disk,discard=unmap,cache.no-flush=on,file.driver=file,"
                     "file.locking=off,file.filename=" +
                     path(disk)});
    EXPECT_EQ(values_of("-incoming", arguments), Values{});
    EXPECT_EQ(values_of("-append", arguments).front().substr(0, command_line.size() + 15),
              command_line + " tsc_early_khz=");
    files = {};
    files.memory_kept = false;
    files.restored = true;
    ASSERT_TRUE(start(files));
    arguments = lines_of("arguments");
    EXPECT_EQ(
        values_of("-object", arguments),
        Values{"memory-backend-file,id=ram,size=300M,mem-path=" + path(memory) + ",share=off"});
    EXPECT_EQ(values_of("-blockdev", arguments), Values{});
    EXPECT_EQ(values_of("-incoming", arguments), Values{"defer"});
    EXPECT_EQ(values_of("-append", arguments), Values{command_line});
    EXPECT_FALSE(std::filesystem::exists(folder.path + "/not-open"));
}

TEST_F(FakeQemu, ThatEndsIsAFailureWithItsWords) {
    serve("", "echo 'no such machine' >&2; exit 1");
    EXPECT_EQ(failure_of_start(),
              "QEMU ended unexpectedly: QEMU failed with status 1: no such machine");
    serve("", "exit 0");
    EXPECT_EQ(failure_of_start(), "QEMU ended unexpectedly: the guest was shut down or restarted "
                                  "from within");
    serve("", "kill -9 $$");
    EXPECT_EQ(failure_of_start(), "QEMU ended unexpectedly: QEMU was ended by signal 9");
}

TEST_F(FakeQemu, EndsByWhatTheGuestDidOrByItself) {
    const auto ended = [&](const std::string& how) {
        serve("", "",
              "echo '{\"QMP\":{}}' >&$qmp; read -r line <&$qmp; echo '{\"return\":{}}' >&$qmp\n" +
                  how);
        auto machine = start();
        EXPECT_TRUE(machine) << machine.failure().message;
        return machine->end();
    };
    auto end = ended("exit 3");
    EXPECT_TRUE(end.by_emulator);
    EXPECT_EQ(end.reason, "QEMU failed with status 3");
    // A shell's status for a process that a signal has ended is 128 more than the signal's number.
    EXPECT_EQ(ended("exit 128").reason, "QEMU failed with status 128");
    EXPECT_EQ(ended("kill -HUP $$").reason, "QEMU was ended by signal 1");
    end = ended("echo 'BUG: unable to handle' > $console; exit 3");
    EXPECT_FALSE(end.by_emulator);
    end = ended("echo 'qemu: fatal: Trying to execute code outside RAM or ROM at 0x0' >&2; exit 1");
    EXPECT_FALSE(end.by_emulator);
    EXPECT_EQ(end.reason, "QEMU failed with status 1: qemu: fatal: Trying to execute code outside "
                          "RAM or ROM at 0x0");
    end = ended("printf 'x\\nKernel panic - not syncing: why\\r\\nmore' > $console; exit 0");
    EXPECT_FALSE(end.by_emulator);
    EXPECT_EQ(end.reason, "the guest's kernel panicked: why");
    end = ended("exec sleep 30");
    EXPECT_FALSE(end.by_emulator);
    EXPECT_EQ(end.reason, "the guest closed its connection");
}

TEST_F(FakeQemu, SavesDevicesOnce) {
    serve("case $line in *query-migrate*) reply='{\"return\":{\"status\":\"completed\"}}' ;; esac");
    auto machine = start();
    ASSERT_TRUE(machine);
    const Status saved = machine->save(memory.get(), soon());
    EXPECT_TRUE(saved) << saved.failure().message;
    EXPECT_FALSE(machine->process().running());
    EXPECT_EQ(commands(), (Values{"qmp_capabilities", "migrate-set-capabilities", "getfd",
                                  "migrate", "query-migrate"}));
}

TEST_F(FakeQemu, AsksUntilItHasSaved) {
    serve("case $line in *query-migrate*)\n"
          "  status=active; [ $(grep -c query-migrate commands) = 3 ] && status=completed\n"
          "  reply='{\"return\":{\"status\":\"'$status'\"}}' ;; esac");
    auto machine = start();
    ASSERT_TRUE(machine);
    EXPECT_TRUE(machine->save(memory.get(), soon()));
    EXPECT_EQ(commands().size(), 7u);
}

TEST_F(FakeQemu, SavingThatFailsIsAFailure) {
    for (const char* status : {"failed", "cancelled"}) {
        serve("case $line in *query-migrate*) reply='{\"return\":{\"status\":\"" +
              std::string(status) + "\",\"error-desc\":\"disk full\"}}' ;; esac");
        auto machine = start();
        ASSERT_TRUE(machine);
        const Status saved = machine->save(memory.get(), soon());
        ASSERT_FALSE(saved) << status;
        EXPECT_EQ(saved.failure().message, "QEMU could not save the guest: disk full");
    }
    for (const char* refused :
         {"migrate-set-capabilities", "getfd", "\"migrate\"", "query-migrate"}) {
        serve("case $line in *'" + std::string(refused) +
              "'*) reply='{\"error\":{\"desc\":\"no\"}}' ;; esac");
        auto machine = start();
        ASSERT_TRUE(machine);
        EXPECT_FALSE(machine->save(memory.get(), soon())) << refused;
    }
}

TEST_F(FakeQemu, IsRestoredWhenTheGuestAnswers) {
    // The agent's answer, as it comes through its port.
    serve("case $line in *migrate-incoming*) printf 'p\\0\\0\\0\\10\\0\\0\\0restored' >&$agent ;; "
          "esac");
    auto machine = start();
    ASSERT_TRUE(machine);
    const Status restored = machine->restore(memory.get(), soon());
    EXPECT_TRUE(restored) << restored.failure().message;
    EXPECT_EQ(commands(), (Values{"qmp_capabilities", "migrate-set-capabilities", "getfd",
                                  "migrate-incoming"}));
}

// An agent that answers only when it is asked.
TEST_F(FakeQemu, TheGuestIsAskedWhetherItIsRestored) {
    serve("case $line in *migrate-incoming*) { head -c 16 <&$agent > asked; "
          "printf 'p\\0\\0\\0\\10\\0\\0\\0restored' >&$agent; } & ;; esac");
    auto machine = start();
    ASSERT_TRUE(machine);
    const Status restored = machine->restore(memory.get(), soon());
    ASSERT_TRUE(restored) << restored.failure().message;
    EXPECT_EQ(*read_file(folder.path + "/asked"),
              std::string(1, GUEST_PING) + std::string("\0\0\0\10\0\0\0restored", 15));
}

TEST_F(FakeQemu, RestoringThatFailsIsAFailure) {
    for (const char* refused : {"migrate-set-capabilities", "getfd", "migrate-incoming"}) {
        serve("case $line in *" + std::string(refused) +
              "*) reply='{\"error\":{\"desc\":\"no\"}}' ;; esac");
        auto machine = start();
        ASSERT_TRUE(machine);
        const Status restored = machine->restore(memory.get(), soon());
        ASSERT_FALSE(restored) << refused;
        EXPECT_EQ(restored.failure().message, "QEMU rejected " + std::string(refused) + ": no");
    }
    serve("case $line in *migrate-incoming*) exit 0 ;; esac");
    auto machine = start();
    ASSERT_TRUE(machine);
    EXPECT_FALSE(machine->restore(memory.get(), soon()));
}

TEST_F(FakeQemu, SharesFilesThroughASocket) {
    serve("");
    auto machine = start();
    ASSERT_TRUE(machine);
    EXPECT_TRUE(machine->share_files(memory.get(), soon()));
    EXPECT_EQ(commands(), (Values{"qmp_capabilities", "getfd", "chardev-add", "device_add"}));
    serve("case $line in *device_add*) reply='{\"error\":{\"desc\":\"no\"}}' ;; esac");
    auto other = start();
    ASSERT_TRUE(other);
    EXPECT_EQ(other->share_files(memory.get(), soon()).failure().message,
              "QEMU rejected device_add: no");
}

TEST_F(FakeQemu, AFrameIsWaitedForAndOthersDropped) {
    serve(
        "",
        "printf '1\\0\\0\\0\\1\\0\\0\\0xd\\0\\0\\0\\2\\0\\0\\0okp\\0\\0\\0\\0\\0\\0\\0' >&$agent");
    auto machine = start();
    ASSERT_TRUE(machine);
    const auto done = machine->expect(GUEST_DONE, soon());
    ASSERT_TRUE(done) << done.failure().message;
    EXPECT_EQ(done->data, "ok");
    const auto any = machine->expect_any({GUEST_HELLO, GUEST_PONG}, soon());
    ASSERT_TRUE(any);
    EXPECT_EQ(any->type, GUEST_PONG);
}

TEST_F(FakeQemu, AFrameThatDoesNotComeIsAFailureWithTheLog) {
    serve("", "echo 'last words' > $console");
    auto machine = start();
    ASSERT_TRUE(machine);
    const auto late = machine->expect(GUEST_DONE, now());
    ASSERT_FALSE(late);
    EXPECT_EQ(late.failure().message, "the guest did not answer in time");
    EXPECT_EQ(late.failure().hint, "last words");
    serve("", "",
          "echo '{\"QMP\":{}}' >&$qmp; read -r line <&$qmp; echo '{\"return\":{}}' >&$qmp\n"
          "exit 7");
    auto gone = start();
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->expect(GUEST_DONE, soon()).failure().message, "QEMU failed with status 7");
}

// Whatever else has its end of the guest's port.
TEST_F(FakeQemu, ThatEndsIsNotWaitedFor) {
    serve("", "sleep 100 </dev/null >/dev/null 2>&1 & echo $! > other",
          "echo '{\"QMP\":{}}' >&$qmp; read -r line <&$qmp; echo '{\"return\":{}}' >&$qmp\n"
          "exit 7");
    auto machine = start();
    ASSERT_TRUE(machine);
    const auto gone = machine->expect(GUEST_DONE, soon());
    for (const std::string& process : lines_of("other"))
        kill(std::stoi(process), SIGKILL);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.failure().message, "QEMU failed with status 7");
}

TEST_F(FakeQemu, IsInterruptedUnlessItHasEnded) {
    serve("case $line in *inject-nmi*) exit 0 ;; esac");
    auto machine = start();
    ASSERT_TRUE(machine);
    machine->interrupt(soon());
    machine->end();
    EXPECT_FALSE(machine->process().running());
    EXPECT_EQ(commands().back(), "inject-nmi");
    machine->interrupt(soon());
    EXPECT_EQ(commands().size(), 2u);
}

// The tables that a guest's kernel shows go into the cache.
class Facts : public FakeQemu {
  protected:
    Facts() {
        job.kernel = {"6.1.0-made", make_file(folder.path + "/vmlinuz", "kernel"), folder.path};
    }
    // Frames as an agent sends them.
    static std::string frame(char type, const std::string& data) {
        std::string text(1, type);
        text += "\\0\\0\\0\\" + octal(data.size()) + "\\0\\0\\0" + data;
        return text;
    }
    static std::string octal(size_t number) {
        char text[8];
        snprintf(text, sizeof text, "%03zo", number);
        return text;
    }
    static std::string fact(const std::string& name, const std::string& bytes) {
        return frame('f', "") + frame('f', name) + frame('f', bytes);
    }
    Status dump(const std::string& frames) {
        serve("", "printf '" + frames + "' >&$agent");
        auto machine = start();
        EXPECT_TRUE(machine);
        return guest::dump_facts(*machine, job);
    }
    // The files of the one folder of facts, with their contents.
    std::map<std::string, std::string> kept() const {
        std::map<std::string, std::string> files;
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(folder.path + "/cache/guest"))
            if (entry.is_regular_file())
                files[entry.path().filename()] = *read_file(entry.path());
        return files;
    }
    std::string folder_of_facts() const {
        return std::filesystem::directory_iterator(folder.path + "/cache/guest")->path();
    }

    Environment cache{"DJSTAP_CACHE", folder.path + "/cache"};
};

TEST_F(Facts, AreKeptAsTheGuestSendsThem) {
    const Status dumped =
        dump(fact("kallsyms", "abc") + frame('f', "def") + fact("notes", "n") + frame('d', ""));
    ASSERT_TRUE(dumped) << dumped.failure().message;
    auto files = kept();
    EXPECT_EQ(files.size(), 3u);
    EXPECT_EQ(files["kallsyms"], "abcdef");
    EXPECT_EQ(files["notes"], "n");
    EXPECT_EQ(nlohmann::json::parse(files["sizes.json"]),
              nlohmann::json({{"kallsyms", 6}, {"notes", 1}}));
    const auto facts = guest_kernel_facts(job.kernel, {});
    ASSERT_TRUE(facts) << facts.failure().message;
    EXPECT_EQ(facts->kallsyms, folder_of_facts() + "/kallsyms");
    EXPECT_EQ(facts->notes, folder_of_facts() + "/notes");
    EXPECT_EQ(facts->btf, "");
}

TEST_F(Facts, AreAskedFor) {
    serve("", "{ head -c 8 <&$agent > asked; printf '" + fact("kallsyms", "abc") + frame('d', "") +
                  "' >&$agent; } &");
    job.boot_timeout = std::chrono::seconds(20);
    auto machine = start();
    ASSERT_TRUE(machine);
    const Status dumped = guest::dump_facts(*machine, job);
    ASSERT_TRUE(dumped) << dumped.failure().message;
    EXPECT_EQ(*read_file(folder.path + "/asked"),
              std::string(1, GUEST_FACTS) + std::string(7, '\0'));
    EXPECT_EQ(kept()["kallsyms"], "abc");
}

TEST_F(Facts, WithoutSymbolsAreAskedForAgain) {
    ASSERT_TRUE(dump(fact("notes", "n") + frame('d', "")));
    EXPECT_TRUE(dump(fact("kallsyms", "abc") + frame('d', "")));
    EXPECT_EQ(kept()["kallsyms"], "abc");
}

TEST_F(Facts, ThatAreThereAreNotAskedForAgain) {
    ASSERT_TRUE(dump(fact("kallsyms", "abc") + frame('d', "")));
    EXPECT_TRUE(dump(fact("kallsyms", "other") + frame('d', "")));
    EXPECT_EQ(kept()["kallsyms"], "abc");
}

TEST_F(Facts, ThatAreBrokenAreReplaced) {
    ASSERT_TRUE(dump(fact("kallsyms", "abc") + frame('d', "")));
    std::filesystem::resize_file(folder_of_facts() + "/kallsyms", 2);
    EXPECT_TRUE(dump(fact("kallsyms", "other") + frame('d', "")));
    EXPECT_EQ(kept()["kallsyms"], "other");
}

TEST_F(Facts, AreNotWrittenOutsideOfTheirFolder) {
    ASSERT_TRUE(dump(fact("../../x/kallsyms", "abc") + frame('d', "")));
    EXPECT_EQ(kept()["kallsyms"], "abc");
    EXPECT_FALSE(std::filesystem::exists(folder.path + "/cache/x"));
    std::filesystem::remove_all(folder_of_facts());
    const Status parent = dump(fact("..", "abc") + frame('d', ""));
    ASSERT_FALSE(parent);
    EXPECT_TRUE(parent.failure().message.starts_with("cannot create ")) << parent.failure().message;
}

TEST_F(Facts, OfAGuestThatEndsAreNotKept) {
    serve("", "printf '" + fact("kallsyms", "abc") + "' >&$agent",
          "echo '{\"QMP\":{}}' >&$qmp; read -r line <&$qmp; echo '{\"return\":{}}' >&$qmp; exit 1");
    auto machine = start();
    ASSERT_TRUE(machine);
    EXPECT_FALSE(guest::dump_facts(*machine, job));
    EXPECT_TRUE(kept().empty());
    EXPECT_TRUE(std::filesystem::is_empty(folder.path + "/cache/guest"));
}

} // namespace djstap
