// SPDX-License-Identifier: GPL-2.0-or-later
// The throw-away guest: a stock kernel under QEMU, booted once and saved, restored for every run.
#pragma once
#include "diagnostics/result.h"
#include "system/descriptor.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// A kernel that a guest can run.
struct GuestKernel {
    std::string release;
    std::string vmlinuz; // bootable image
    std::string modules; // …/lib/modules/RELEASE
};

// One file of the host, wanted in the guest. Folders above it are made.
struct FileToCopy {
    std::string host_path;
    std::string guest_path;  // absolute
    unsigned mode = 0;       // permission bits; 0: those of the host's file
    std::string link_target; // not empty: a symbolic link to this instead; host_path is not read
};

struct GuestJob {
    GuestKernel kernel;
    std::vector<FileToCopy> files;
    std::vector<std::string> modules;     // names: the guest's modprobe finds them (not: host_root)
    std::vector<std::string> command;     // argv, run as root, with this process's umask and limits
    std::vector<std::string> environment; // NAME=value; empty: PATH, HOME, USER and TERM alone
    std::string directory = "/root";      // where the command runs; made when missing
    int input = -1;                       // descriptor of its standard input; -1: that is empty
    unsigned memory_mb = 512;
    unsigned disk_mb = 8192; // of an ext4 that holds what the command writes; 0: memory does
    unsigned cpus = 2;
    std::string kernel_arguments; // added to the kernel's command line
    bool host_root = false;       // the host's files, below a writable overlay, are the guest's
    std::vector<std::string> qemu_arguments;
    std::chrono::milliseconds boot_timeout{120'000};   // until a booted guest is ready
    std::chrono::milliseconds restore_timeout{30'000}; // until a restored guest is ready
    std::chrono::milliseconds command_timeout{0};      // for the command; 0: none
    std::chrono::milliseconds silence_timeout{
        60'000}; // a guest that answers nothing for so long is lost
};

// Trace: what the command writes to guest_trace_file.
enum class GuestStream { Output, Errors, Trace };
extern const char* const guest_trace_file;

struct GuestCallbacks {
    // Bytes as the guest's command writes them, in order. False: nobody takes that stream any more,
    // so the command's next write to it fails as to a closed pipe.
    std::function<bool(GuestStream, std::string_view)> output;
    // A long step begins ("booting 6.1.0 once to save a guest…").
    std::function<void(const std::string&)> progress;
};

// Carries signals to a guest's command. post() may be called from a signal handler.
class SignalMailbox {
  public:
    SignalMailbox();
    SignalMailbox(const SignalMailbox&) = delete;
    SignalMailbox& operator=(const SignalMailbox&) = delete;

    void post(int signal) noexcept;
    // Readable while there are signals: one byte each.
    int descriptor() const { return pipe_.reader.get(); }

  private:
    Pipe pipe_;
};

struct GuestOutcome {
    enum State {
        Exited,
        Lost,         // the guest's doing: a panic, an end without an exit code, silence
        EmulatorDied, // QEMU's: it was killed, or failed; this tells nothing of the guest
    } state = Lost;
    int exit_code = 0;      // of the command, 128 + signal when a signal ended it; only when Exited
    std::string reason;     // why it is lost: "the kernel panicked", "no answer for 60 s"
    std::string kernel_log; // the end of its console; of a lost guest see log_of_loss()
    std::string complaint;  // what its kernel found wrong with itself; see complaints()
    bool lost() const { return state != Exited; }
};

// Runs one command in a guest of its own, from a saved state (made first where there is none), and
// ends the guest. Fails when no guest could be started or given its files; a guest that was started
// and did not report an exit code is Lost, never a success. `signals` (may be null) are passed on
// to the command.
Result<GuestOutcome> run_guest(const GuestJob& job, const GuestCallbacks& callbacks = {},
                               SignalMailbox* signals = nullptr);

// Whether GuestJob::host_root can be had; why not, and what to do about it.
Status can_share_host_files();

// Makes the saved state that `job` needs, where it is missing; otherwise does nothing.
Status prepare_guest(const GuestJob& job, const GuestCallbacks& callbacks = {});

// What a running kernel says of itself, dumped with its addresses as linked (nokaslr): a source of
// symbols where there are no debug symbols. Paths in the cache; empty where the kernel has no such
// file.
struct GuestKernelFacts {
    std::string kallsyms;  // /proc/kallsyms
    std::string btf;       // /sys/kernel/btf/vmlinux
    std::string notes;     // /sys/kernel/notes, holds the build-id
    std::string functions; // tracefs' available_filter_functions
    std::string addresses; // …_addrs: the same with the addresses of their sites (Linux 6.5)
    std::string blacklist; // debugfs' kprobes/blacklist
    std::string version;   // /proc/version
    std::string syscalls;  // tracefs' events/syscalls/sys_enter_*/format, one after another
};
// Yields them, booting the kernel once where they are not cached.
Result<GuestKernelFacts> guest_kernel_facts(const GuestKernel& kernel,
                                            const GuestCallbacks& callbacks = {});

// The first place in a kernel's log where it says that something is wrong with itself (BUG, Oops,
// WARNING, a stuck task or CPU, …), with the lines that follow, 30 at most; empty where there is
// none.
std::string complaints(std::string_view log);

// The end of a lost guest's log: its last 40 lines, and those before them from the first complaint
// or panic on; 150 at most, from there.
std::string log_of_loss(std::string_view log);

// For those who run djstap in a way that loses its status: add a line to the file that
// $DJSTAP_REPORT names, if it is set. Of a guest, a JSON object with `kernel`, `end` ("exited",
// "lost", "emulator-died", "not-started"), `reason`, `exit_code`, `complaint` and `log`; of djstap
// itself one with its `status`.
void report_guest(const GuestJob& job, const Result<GuestOutcome>& outcome);
void report_status(int status);

// The end of a log as shown to people: the last `lines` lines, without carriage returns.
std::string log_tail(std::string_view log, size_t lines = 40);

} // namespace djstap
