// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/machine.h"

#include "arch/arch.h"

#include <algorithm>
#include <arch_reader.h>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>

namespace djstap::guest {

using nlohmann::json;

namespace {

std::string fd_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

int milliseconds_until(Clock::time_point deadline) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

// Creates a socket pair: one end for this process, one for QEMU.
bool socket_pair(FileDescriptor& ours, FileDescriptor& theirs) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return false;
    ours = FileDescriptor(pair[0]);
    theirs = FileDescriptor(pair[1]);
    int size = 4 << 20;
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return true;
}

// Returns the rate of this machine's time-stamp counter, which a guest sees as its own.
unsigned long host_clock_khz() {
    struct Sample {
        uint64_t cycles;
        Clock::time_point time;
    };
    auto sample = [] {
        // Uses the fastest of a few readings: nothing interrupted it between its two halves.
        Sample best{};
        uint64_t least = UINT64_MAX;
        for (int i = 0; i < 20; ++i) {
            uint64_t before = arch::cycles();
            Clock::time_point now = Clock::now();
            uint64_t after = arch::cycles();
            if (after - before >= least)
                continue;
            least = after - before;
            best = {before + least / 2, now};
        }
        return best;
    };
    Sample from = sample();
    usleep(20'000);
    Sample to = sample();
    auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(to.time - from.time);
    return static_cast<unsigned long>(static_cast<double>(to.cycles - from.cycles) * 1e6 /
                                      static_cast<double>(time.count()));
}

} // namespace

Result<std::string> find_qemu() {
    return find_tool(arch::names().emulator, arch::names().emulator_package);
}

std::string boot_arguments(const GuestJob& job) {
    // With instruction counting the guest's clock counts instructions, and its own measurement is
    // exact.
    for (const std::string& argument : job.qemu_arguments)
        if (argument.find("icount") != std::string::npos)
            return "";
    return "tsc_early_khz=" + std::to_string(host_clock_khz());
}

bool at_random_address(const GuestJob& job) {
    return (" " + job.kernel_arguments + " ").find(" kaslr ") != std::string::npos;
}

std::vector<std::string> machine_arguments(const GuestJob& job, const std::string& measured) {
    // tsc=reliable: after a restore the kernel would consider its clock broken and read the HPET,
    // which is a hundred times slower here. no_timer_check: a kernel that is not scheduled for a
    // while at the wrong moment considers its timer broken, and panics. loglevel=5: the kernel's
    // warnings are on the console, where complaints() searches.
    std::string command_line = std::string("console=ttyS0 loglevel=5 oops=panic panic=-1 ") +
                               (at_random_address(job) ? "" : "nokaslr ") +
                               "unknown_nmi_panic tsc=reliable no_timer_check "
                               "rdinit=/init";
    if (!measured.empty())
        command_line += " " + measured;
    if (!job.kernel_arguments.empty())
        command_line += " " + job.kernel_arguments;
    std::vector<std::string> arguments = {
        "-name",
        "djstap-guest",
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-vga",
        "none",
        "-no-reboot",
        "-machine",
        "pc,memory-backend=ram",
        "-cpu",
        "max",
        "-smp",
        std::to_string(job.cpus),
        "-m",
        std::to_string(job.memory_mb),
        "-kernel",
        job.kernel.vmlinuz,
        "-append",
        command_line,
        "-serial",
        "chardev:console",
        "-device",
        "virtio-serial-pci,max_ports=2",
        "-device",
        "virtserialport,name=" DJSTAP_GUEST_PORT ",chardev=agent",
        "-mon",
        "chardev=qmp,mode=control",
    };
    // If the host's disk is full, the guest gets an error; otherwise QEMU would stop it.
    if (job.disk_mb)
        arguments.insert(arguments.end(),
                         {"-device", "virtio-blk-pci,drive=disk,werror=report,rerror=report"});
    // A kernel patches its text while its other CPUs run it; QEMU's parallel translation does not
    // provide the guarantees of hardware for this, so all CPUs share one thread. Of several
    // accelerators QEMU uses the first.
    if (std::find(job.qemu_arguments.begin(), job.qemu_arguments.end(), "-accel") ==
        job.qemu_arguments.end())
        arguments.insert(arguments.end(), {"-accel", job.cpus > 1 ? "tcg,thread=single" : "tcg"});
    arguments.insert(arguments.end(), job.qemu_arguments.begin(), job.qemu_arguments.end());
    return arguments;
}

Result<Machine> Machine::start(const GuestJob& job, const MachineFiles& files) {
    Result<std::string> qemu = find_qemu();
    if (!qemu)
        return qemu.failure();
    Machine machine;
    FileDescriptor agent, agent_theirs, qmp, qmp_theirs;
    machine.console_ = FileDescriptor(memfd_create("console", MFD_CLOEXEC));
    machine.messages_ = FileDescriptor(memfd_create("messages", MFD_CLOEXEC));
    if (!machine.console_ || !machine.messages_ || !socket_pair(agent, agent_theirs) ||
        !socket_pair(qmp, qmp_theirs))
        return system_failure("make", "the sockets of a guest");

    std::vector<std::string> words =
        machine_arguments(job, files.restored ? "" : boot_arguments(job));
    words.insert(words.begin(), *qemu);
    auto add = [&](const std::string& option, const std::string& value) {
        words.push_back(option);
        words.push_back(value);
    };
    add("-object", "memory-backend-file,id=ram,size=" + std::to_string(job.memory_mb) +
                       "M,mem-path=" + fd_path(files.memory) +
                       ",share=" + (files.memory_kept ? "on" : "off"));
    add("-initrd", fd_path(files.initramfs));
    if (files.disk >= 0)
        // The disk is discarded at the end: neither the order of writes nor their completion
        // matters.
        add("-blockdev", "driver=raw,node-name=disk,discard=unmap,cache.no-flush=on,"
                         "file.driver=file,file.locking=off,file.filename=" +
                             fd_path(files.disk));
    add("-chardev", "file,id=console,path=" + fd_path(machine.console_.get()));
    add("-chardev", "socket,id=agent,fd=" + std::to_string(agent_theirs.get()));
    add("-chardev", "socket,id=qmp,fd=" + std::to_string(qmp_theirs.get()));
    if (files.restored)
        add("-incoming", "defer");
    ProcessOptions options = helper_options(machine.messages_.get());
    options.inherited = {files.memory, files.initramfs, machine.console_.get(), agent_theirs.get(),
                         qmp_theirs.get()};
    if (files.disk >= 0)
        options.inherited.push_back(files.disk);
    Result<Process> process = Process::start(words, options);
    if (!process)
        return process.failure();
    machine.process_ = std::move(*process);
    machine.channel_ = Channel(std::move(agent));
    machine.qmp_ = Qmp(std::move(qmp));
    qmp_theirs.reset();
    agent_theirs.reset();
    if (Status opened = machine.qmp_.open(Clock::now() + job.restore_timeout); !opened)
        return Failure{opened.failure().message + ": " + machine.end().reason, ""};
    return machine;
}

Result<Frame> Machine::expect_any(std::initializer_list<char> types, Clock::time_point deadline) {
    for (;;) {
        while (std::optional<Frame> frame = channel_.next())
            if (std::find(types.begin(), types.end(), frame->type) != types.end())
                return std::move(*frame);
        bool there = channel_.flush();
        pollfd polled[] = {{channel_.descriptor(),
                            static_cast<short>(POLLIN | (channel_.queued() ? POLLOUT : 0)), 0},
                           {process_.descriptor(), POLLIN, 0}};
        int ready = poll(polled, 2, milliseconds_until(deadline));
        if (ready == 0)
            return Failure{"the guest did not answer in time", log_tail(console())};
        if (polled[0].revents)
            there = channel_.fill() && there;
        if (!there || (polled[1].revents && !(polled[0].revents & POLLIN)))
            return Failure{end().reason, log_tail(console())};
    }
}

Status Machine::save(int devices, Clock::time_point deadline) {
    json shared = {{"capabilities", {{{"capability", "x-ignore-shared"}, {"state", true}}}}};
    // The guest is not stopped first: one that was saved while it ran resumes on its own when
    // restored.
    for (const auto& [command, arguments, fd] :
         {std::tuple<const char*, json, int>{"migrate-set-capabilities", shared, -1},
          {"getfd", {{"fdname", "devices"}}, devices},
          {"migrate", {{"uri", "fd:devices"}}, -1}})
        if (Result<json> answer = qmp_.run(command, arguments, deadline, fd); !answer)
            return answer.failure();
    for (;;) {
        Result<json> answer = qmp_.run("query-migrate", json::object(), deadline);
        if (!answer)
            return answer.failure();
        std::string status = answer->value("status", std::string());
        if (status == "completed")
            break;
        if (status == "failed" || status == "cancelled")
            return Failure{"QEMU could not save the guest: " +
                               answer->value("error-desc", std::string("no reason given")),
                           "free some space, or set DJSTAP_CACHE to a folder with more of it"};
        usleep(5000);
    }
    process_.kill();
    return Done{};
}

Status Machine::restore(int devices, Clock::time_point deadline) {
    json shared = {{"capabilities", {{{"capability", "x-ignore-shared"}, {"state", true}}}}};
    if (Result<json> answer = qmp_.run("migrate-set-capabilities", shared, deadline); !answer)
        return answer.failure();
    if (Result<json> answer = qmp_.run("getfd", {{"fdname", "devices"}}, deadline, devices);
        !answer)
        return answer.failure();
    if (Result<json> answer = qmp_.run("migrate-incoming", {{"uri", "fd:devices"}}, deadline);
        !answer)
        return answer.failure();
    // Once it answers, its whole state has been loaded and it runs.
    channel_.queue(GUEST_PING, "restored");
    Result<Frame> answer = expect(GUEST_PONG, deadline);
    if (!answer)
        return answer.failure();
    return Done{};
}

Status Machine::share_files(int socket, Clock::time_point deadline) {
    const json address = {{"type", "fd"}, {"data", {{"str", DJSTAP_GUEST_SHARE}}}};
    const json backend = {{"type", "socket"}, {"data", {{"addr", address}, {"server", false}}}};
    for (const auto& [command, arguments, fd] :
         {std::tuple<const char*, json, int>{"getfd", {{"fdname", DJSTAP_GUEST_SHARE}}, socket},
          {"chardev-add", {{"id", DJSTAP_GUEST_SHARE}, {"backend", backend}}, -1},
          {"device_add",
           {{"driver", "vhost-user-fs-pci"},
            {"id", DJSTAP_GUEST_SHARE},
            {"chardev", DJSTAP_GUEST_SHARE},
            {"tag", DJSTAP_GUEST_SHARE},
            {"queue-size", 1024}},
           -1}})
        if (Result<json> answer = qmp_.run(command, arguments, deadline, fd); !answer)
            return answer.failure();
    return Done{};
}

void Machine::interrupt(Clock::time_point deadline) {
    if (!process_.running())
        return;
    if (!qmp_.run("inject-nmi", json::object(), deadline))
        return;
    pollfd ended = {process_.descriptor(), POLLIN, 0};
    poll(&ended, 1, milliseconds_until(deadline));
}

Machine::End Machine::end() {
    if (process_.running()) {
        pollfd ended = {process_.descriptor(), POLLIN, 0};
        if (poll(&ended, 1, 1000) <= 0)
            return {false, "the guest closed its connection"};
        status_ = exit_status(process_.wait());
    }
    std::string log = console();
    std::string_view mark = "Kernel panic - not syncing: ";
    if (size_t at = log.find(mark); at != std::string::npos) {
        at += mark.size();
        return {false, "the guest's kernel panicked: " +
                           log.substr(at, log.find_first_of("\r\n", at) - at)};
    }
    if (status_ == 0)
        return {false, "the guest was shut down or restarted from within"};
    std::string said = messages();
    while (!said.empty() && said.back() == '\n')
        said.pop_back();
    // QEMU exits if a guest jumps to an unmapped address; this is not QEMU's fault.
    bool by_guest = said.find("Trying to execute code outside RAM or ROM") != std::string::npos ||
                    !complaints(log).empty();
    std::string how = status_ > 128 ? "QEMU was ended by signal " + std::to_string(status_ - 128)
                                    : "QEMU failed with status " + std::to_string(status_);
    return {!by_guest, how + (said.empty() ? "" : ": " + said)};
}

} // namespace djstap::guest
