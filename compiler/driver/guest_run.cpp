// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/guest_run.h"

#include "driver/guest_end.h"
#include "driver/guest_plan.h"
#include "driver/machine.h"
#include "guest/closure.h"
#include "guest/guest.h"
#include "session/module_file.h"
#include "session/signals.h"
#include "system/file.h"
#include "system/process.h"

#include <csignal>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace djstap::driver {

namespace {

namespace fs = std::filesystem;

// During its life, the user's signals are forwarded to the guest's command.
class ForwardedSignals {
  public:
    ForwardedSignals() {
        mailbox_in_use = &mailbox_;
        struct sigaction action = {};
        action.sa_handler = [](int signal) {
            mailbox_in_use->post(signal);
            StopSignals::request();
        };
        for (size_t i = 0; i < std::size(signals); i++) {
            sigaction(signals[i], nullptr, &before_[i]);
            if (signals[i] != SIGHUP || !ignores_hangup())
                sigaction(signals[i], &action, nullptr);
        }
        // A closed output is reported to the command instead.
        action.sa_handler = SIG_IGN;
        sigaction(SIGPIPE, &action, &pipe_before_);
    }
    ~ForwardedSignals() {
        for (size_t i = 0; i < std::size(signals); i++)
            sigaction(signals[i], &before_[i], nullptr);
        sigaction(SIGPIPE, &pipe_before_, nullptr);
        mailbox_in_use = nullptr;
    }
    SignalMailbox& mailbox() { return mailbox_; }

  private:
    static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
    static inline SignalMailbox* mailbox_in_use = nullptr;
    SignalMailbox mailbox_;
    struct sigaction before_[std::size(signals)] = {}, pipe_before_ = {};
};

// Adds what the command needs if the guest does not see this machine's files.
Status add_copies(GuestJob& job, const Invocation& invocation, const RunnableScript& runnable) {
    // djstap's own programs are available to any shell code in the command.
    for (const char* name : {"djrun", "gtodbench"}) {
        std::string path = invocation.places.programs + "/" + name;
        if (Result<std::vector<FileToCopy>> closure = program_closure(path)) {
            add_files(job, *closure);
            add_files(job, {{"", std::string("/usr/local/bin/") + name, 0, path}});
        }
    }
    Result<std::vector<FileToCopy>> command = command_closure(invocation.options.command);
    if (!command)
        return Failure{"-c: " + command.failure().message, command.failure().hint};
    add_files(job, *command);
    add_files(job, data_files(invocation.options.command));
    // The probed modules can be loaded there.
    for (const ProbedImage& probed : runnable.images) {
        if (probed.kind != ImageKind::Module)
            continue;
        if (probed.file.starts_with(job.kernel.modules + "/"))
            job.modules.push_back(probed.name);
        else
            add_files(job, {{probed.file, fs::absolute(probed.file), 0, ""}});
    }
    return Done();
}

// Returns the path in the guest of a file that djstap itself needs there.
std::string own_file(GuestJob& job, const std::string& path) {
    if (job.host_root && is_seen_in_guest(path))
        return path;
    std::string there = "/run/" + fs::path(path).filename().string();
    job.files.push_back({path, there, 0, ""});
    return there;
}

// Without a command only a script that uses input.char or input.line has the standard input.
bool reads_input(const RunnableScript& runnable) {
    const auto module = read_module_file(runnable.module_path);
    return module && module->meta.takes_input;
}

Result<GuestJob> guest_job(const Invocation& invocation, const RunnableScript& runnable) {
    const Options& options = invocation.options;
    GuestJob job;
    job.kernel = guest_kernel(**invocation.guest_kernel);
    job.memory_mb = guest_memory_mb(options, runnable.settings.limits, job.cpus);
    job.disk_mb = options.guest_disk_mb.value_or(job.disk_mb);
    job.host_root = runnable.settings.guest_files == GuestFiles::Shared;
    if (const char* more = getenv("DJSTAP_QEMU_ARGUMENTS")) {
        std::istringstream words(more);
        for (std::string word; words >> word;)
            job.qemu_arguments.push_back(word);
    }
    if (const char* more = getenv("DJSTAP_KERNEL_ARGUMENTS"))
        job.kernel_arguments = more;
    if (const char* patience = getenv("DJSTAP_GUEST_PATIENCE"))
        be_patient(job, strtoul(patience, nullptr, 10));
    std::error_code error;
    if (!options.command.empty()) {
        job.directory = fs::current_path(error);
        job.input = STDIN_FILENO;
        for (char** variable = environ; *variable; ++variable)
            job.environment.emplace_back(*variable);
    } else if (reads_input(runnable)) {
        job.input = STDIN_FILENO;
    }
    if (runnable.settings.guest_files == GuestFiles::Copied)
        if (Status added = add_copies(job, invocation, runnable); !added)
            return added.failure();
    Result<std::vector<FileToCopy>> reader = program_closure(invocation.places.djrun);
    if (!reader)
        return Failure{"djrun, the reader in the guest: " + reader.failure().message,
                       reader.failure().hint};
    if (!job.host_root || !is_seen_in_guest(invocation.places.djrun))
        add_files(job, *reader);
    const std::string module = own_file(job, fs::absolute(runnable.module_path, error));
    job.command = reader_command(options, invocation.places.djrun, module);
    return job;
}

} // namespace

std::optional<GuestFiles> settle_guest_files(Invocation& invocation) {
    const Options& options = invocation.options;
    if (!options.guest || (options.command.empty() && !options.guest_root))
        return GuestFiles::None;
    Status can = can_share_host_files();
    if (can)
        return GuestFiles::Shared;
    if (options.guest_root) {
        invocation.fail(DiagnosticKind::GuestUnavailable, can.failure());
        return std::nullopt;
    }
    invocation.diagnostics.report(DiagnosticKind::GuestFilesCopied, {}, {can.failure().message})
        .hint(can.failure().hint);
    return GuestFiles::Copied;
}

std::optional<FinishedRun> run_in_guest(Invocation& invocation, const RunnableScript& runnable) {
    Result<GuestJob> job = guest_job(invocation, runnable);
    if (!job) {
        invocation.fail(DiagnosticKind::GuestUnavailable, job.failure());
        return std::nullopt;
    }
    Result<std::vector<OutputFile>> files = open_outputs(invocation.options.outputs());
    if (!files) {
        invocation.fail(DiagnosticKind::WorkFiles, files.failure());
        return std::nullopt;
    }
    GuestOutput output;
    GuestChannels trace(std::move(*files));
    GuestCallbacks callbacks;
    callbacks.progress = show_progress;
    callbacks.output = [&](GuestStream stream, std::string_view bytes) {
        if (stream == GuestStream::Errors)
            return write_all(STDERR_FILENO, bytes);
        return stream == GuestStream::Trace ? trace.write(bytes) : output.write(bytes);
    };
    ForwardedSignals signals;
    Result<GuestOutcome> outcome = run_guest(*job, callbacks, &signals.mailbox());
    report_guest(*job, outcome);
    if (!outcome) {
        invocation.fail(DiagnosticKind::GuestUnavailable, outcome.failure());
        return std::nullopt;
    }
    if (!report_end(invocation, *outcome))
        return std::nullopt;
    trace.begin();
    if (const auto failure = output.failure() ? output.failure() : trace.failure()) {
        invocation.fail(DiagnosticKind::WorkFiles, *failure);
        return std::nullopt;
    }
    return FinishedRun{outcome->exit_code};
}

} // namespace djstap::driver
