// SPDX-License-Identifier: GPL-2.0-or-later
// The disposable guest: a stock kernel under QEMU, booted once and saved, restored for every run.
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
    std::string vmlinuz; // the bootable image
    std::string modules; // …/lib/modules/RELEASE
};

// A host file to copy into the guest. Its parent folders are created.
struct FileToCopy {
    std::string host_path;
    std::string guest_path; // absolute
    unsigned mode = 0;      // permission bits; 0: those of the host's file
    // not empty: a symbolic link to this path is created; host_path is not read
    std::string link_target;
};

struct GuestJob {
    GuestKernel kernel;
    std::vector<FileToCopy> files;
    // names: the guest's modprobe finds them (not with host_root)
    std::vector<std::string> modules;
    std::vector<std::string> command;     // argv, run as root, with this process's umask and limits
    std::vector<std::string> environment; // NAME=value; empty: only PATH, HOME, USER and TERM
    std::string directory = "/root";      // where the command runs; created if missing
    int input = -1;                       // descriptor of its standard input; -1: empty input
    unsigned memory_mb = 512;
    // size of an ext4 for what the command writes; 0: memory is used instead
    unsigned disk_mb = 8192;
    unsigned cpus = 2;
    // added to the kernel's command line; with the word kaslr, the kernel runs at a random address
    std::string kernel_arguments;
    bool host_root = false; // the guest sees the host's files, below a writable overlay
    std::vector<std::string> qemu_arguments;
    std::chrono::milliseconds boot_timeout{120'000};   // until a booted guest is ready
    std::chrono::milliseconds restore_timeout{30'000}; // until a restored guest is ready
    std::chrono::milliseconds command_timeout{0};      // for the command; 0: none
    std::chrono::milliseconds silence_timeout{
        60'000}; // a guest that does not answer for this long is lost
};

// Trace: the data that the command writes to guest_trace_file.
enum class GuestStream { Output, Errors, Trace };
extern const char* const guest_trace_file;

struct GuestCallbacks {
    // Receives the bytes that the guest's command writes, in order. Returns false if the stream is
    // closed: the command's next write to it then fails like a write to a closed pipe.
    std::function<bool(GuestStream, std::string_view)> output;
    // Called when a long step begins ("booting 6.1.0 once to save a guest…").
    std::function<void(const std::string&)> progress;
};

// Carries signals to a guest's command. post() may be called from a signal handler.
class SignalMailbox {
  public:
    SignalMailbox();
    SignalMailbox(const SignalMailbox&) = delete;
    SignalMailbox& operator=(const SignalMailbox&) = delete;

    void post(int signal) noexcept;
    // Readable while signals are pending: one byte each.
    int descriptor() const { return pipe_.reader.get(); }

  private:
    Pipe pipe_;
};

struct GuestOutcome {
    enum State {
        Exited,
        Lost,         // caused by the guest: a panic, an end without an exit code, silence
        EmulatorDied, // caused by QEMU: it was killed, or failed; this says nothing about the guest
    } state = Lost;
    int exit_code = 0;      // of the command, 128 + signal if a signal ended it; only if Exited
    std::string reason;     // why it was lost: "the kernel panicked", "no answer for 60 s"
    std::string kernel_log; // the end of its console; for a lost guest see log_of_loss()
    std::string complaint;  // what its kernel reported about itself; see complaints()
    bool lost() const { return state != Exited; }
};

// Runs one command in a guest of its own, from a saved state (created first if there is none), and
// ends the guest. Fails if no guest could be started or given its files; a guest that was started
// and did not report an exit code is Lost, never a success. `signals` (may be null) are forwarded
// to the command.
Result<GuestOutcome> run_guest(const GuestJob& job, const GuestCallbacks& callbacks = {},
                               SignalMailbox* signals = nullptr);

// Checks whether GuestJob::host_root is possible; if not, says why and what to do about it.
Status can_share_host_files();

// Creates the saved state that `job` needs, if it is missing.
Status prepare_guest(const GuestJob& job, const GuestCallbacks& callbacks = {});

// Tables of a running kernel, dumped with its link-time addresses (nokaslr): a source of symbols
// where there are no debug symbols. Paths in the cache; empty if the kernel has no such file.
struct GuestKernelFacts {
    std::string kallsyms;  // /proc/kallsyms
    std::string btf;       // /sys/kernel/btf/vmlinux
    std::string notes;     // /sys/kernel/notes, which contains the build-id
    std::string functions; // tracefs' available_filter_functions
    std::string addresses; // …_addrs: the same with the addresses of their sites (Linux 6.5)
    std::string blacklist; // debugfs' kprobes/blacklist
    std::string version;   // /proc/version
    std::string syscalls;  // tracefs' events/syscalls/sys_enter_*/format, concatenated
};
// Returns them, booting the kernel once if they are not cached.
Result<GuestKernelFacts> guest_kernel_facts(const GuestKernel& kernel,
                                            const GuestCallbacks& callbacks = {});

// Returns the first place in a kernel's log where it reports a problem of its own (BUG, Oops,
// WARNING, a stuck task or CPU, …), with the lines that follow, at most 30; "" if there is none.
std::string complaints(std::string_view log);

// Returns the end of a lost guest's log: its last 40 lines, preceded by those from the first
// complaint or panic on; at most 150 lines, from there.
std::string log_of_loss(std::string_view log);

// For callers that lose djstap's exit status: these add a line to the file that $DJSTAP_REPORT
// names, if it is set. A guest's line is a JSON object with `kernel`, `end` ("exited", "lost",
// "emulator-died", "not-started"), `reason`, `exit_code`, `complaint` and `log`; djstap's own have
// `begins`, and its `status`, which is missing if djstap crashes or is killed.
void report_guest(const GuestJob& job, const Result<GuestOutcome>& outcome);
void report_begin();
void report_status(int status);

// Returns the end of a log for display: the last `lines` lines, without carriage returns.
std::string log_tail(std::string_view log, size_t lines = 40);

} // namespace djstap
