// Pass 5: the module runs, in this machine's kernel or in a guest.
#include "diagnostics/suggest.h"
#include "driver/machine.h"
#include "driver/passes.h"
#include "guest/closure.h"
#include "guest/guest.h"
#include "session/command.h"
#include "session/session.h"
#include "user/user_session.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace djstap::driver {

namespace {

// Probes that a guest's run names one by one without being asked to.
constexpr size_t few_sites = 8;

// The folder of djstap's programs comes last in $PATH, so that -c finds gtodbench.
void extend_path(const Places& places) {
    const char* set = getenv("PATH");
    std::string path = set && *set ? std::string(set) + ":" + places.programs : places.programs;
    setenv("PATH", path.c_str(), 1);
}

SessionOptions session_options(const Options& options) {
    SessionOptions session;
    session.command = options.command;
    session.target_pid = options.target_pid;
    session.output_file = options.output_file;
    session.time_limit = std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1e3));
    session.json = options.json_output;
    session.verbose = options.verbosity[4];
    session.warnings = options.warnings;
    session.recorder = options.recorder;
    session.buffer_mb = static_cast<unsigned>(options.buffer_megabytes);
    return session;
}

bool run_here(RunState& state) {
    SessionOptions session = session_options(state.options);
    session.module = state.module_path;
    Result<SessionOutcome> outcome =
        state.options.user_space
            ? run_in_user_space(state.object->object, state.object->meta,
                                std::bit_ceil(static_cast<uint64_t>(state.limits.RING_KB) * 1024),
                                session)
            : run_session(session);
    if (!outcome) {
        state.fail(DiagnosticKind::SessionFailed, outcome.failure());
        return false;
    }
    state.exit_status = outcome->status;
    return true;
}

// Where the guest's output goes: -o or standard output.
class Sink {
  public:
    ~Sink() {
        if (owned_ && fd_ >= 0)
            close(fd_);
    }
    Status open(const std::string& path) {
        if (path.empty())
            return Done();
        owned_ = true;
        fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd_ < 0)
            return Failure{"cannot write " + path + ": " + strerror(errno), ""};
        return Done();
    }
    void write(std::string_view bytes) {
        while (!bytes.empty() && !error_) {
            ssize_t count = ::write(fd_, bytes.data(), bytes.size());
            if (count >= 0)
                bytes.remove_prefix(static_cast<size_t>(count));
            else if (errno != EINTR)
                error_ = errno;
        }
    }
    int error() const { return error_; }

  private:
    int fd_ = STDOUT_FILENO;
    bool owned_ = false;
    int error_ = 0;
};

// While it lives, the user's signals go to the guest's command.
class ForwardedSignals {
  public:
    ForwardedSignals() {
        mailbox_in_use = &mailbox_;
        struct sigaction action = {};
        action.sa_handler = [](int signal) { mailbox_in_use->post(signal); };
        for (size_t i = 0; i < std::size(signals); i++)
            sigaction(signals[i], &action, &before_[i]);
    }
    ~ForwardedSignals() {
        for (size_t i = 0; i < std::size(signals); i++)
            sigaction(signals[i], &before_[i], nullptr);
        mailbox_in_use = nullptr;
    }
    SignalMailbox& mailbox() { return mailbox_; }

  private:
    static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
    static inline SignalMailbox* mailbox_in_use = nullptr;
    SignalMailbox mailbox_;
    struct sigaction before_[std::size(signals)] = {};
};

// A try-out shows by which mechanism each probe of the kernel is attached.
bool names_mechanisms(const ProbePlan& plan) {
    bool kernel = std::any_of(plan.sites.begin(), plan.sites.end(),
                              [](const Site& site) { return site.address != 0; });
    return kernel && plan.sites.size() <= few_sites;
}

std::vector<std::string> reader_command(const RunState& state, const std::string& module) {
    const Options& options = state.options;
    std::vector<std::string> words = {state.places.djrun};
    if (!options.command.empty())
        words.insert(words.end(), {"-c", options.command});
    if (options.seconds > 0)
        words.insert(words.end(), {"-T", std::to_string(options.seconds)});
    if (options.buffer_megabytes)
        words.insert(words.end(), {"-s", std::to_string(options.buffer_megabytes)});
    if (options.json_output)
        words.push_back("--json");
    if (!options.warnings)
        words.push_back("-w");
    if (options.verbosity[4] > 0 || names_mechanisms(*state.plan))
        words.push_back("-v");
    words.push_back(module);
    return words;
}

// Adds files to those that are there already, each guest path once.
void add_files(GuestJob& job, const std::vector<FileToCopy>& files) {
    for (const FileToCopy& file : files) {
        bool known = std::any_of(job.files.begin(), job.files.end(), [&](const FileToCopy& each) {
            return each.guest_path == file.guest_path;
        });
        if (!known)
            job.files.push_back(file);
    }
}

Result<GuestJob> guest_job(RunState& state) {
    const Options& options = state.options;
    const KernelFiles& files = **state.guest_kernel;
    GuestJob job;
    job.kernel = guest_kernel(files);
    job.host_root = options.guest_root;
    if (const char* more = getenv("DJSTAP_QEMU_ARGUMENTS")) {
        std::istringstream words(more);
        for (std::string word; words >> word;)
            job.qemu_arguments.push_back(word);
    }
    if (const char* more = getenv("DJSTAP_KERNEL_ARGUMENTS"))
        job.kernel_arguments = more;
    Result<std::vector<FileToCopy>> reader = program_closure(state.places.djrun);
    if (!reader)
        return Failure{"djrun, which reads in the guest: " + reader.failure().message,
                       reader.failure().hint};
    add_files(job, *reader);
    // Whatever shell code the command is made of, it finds djstap's own programs.
    for (const char* name : {"djrun", "gtodbench"}) {
        std::string path = state.places.programs + "/" + name;
        if (Result<std::vector<FileToCopy>> closure = program_closure(path)) {
            add_files(job, *closure);
            add_files(job, {{"", std::string("/usr/local/bin/") + name, 0, path}});
        }
    }
    std::error_code error;
    if (!options.command.empty())
        job.directory = std::filesystem::current_path(error);
    if (!options.command.empty() && !options.guest_root) {
        Result<std::vector<FileToCopy>> command = command_closure(options.command);
        if (!command)
            return Failure{"-c: " + command.failure().message, command.failure().hint};
        add_files(job, *command);
    }
    // Those that are probed can be loaded there.
    for (const ProbedModule& probed : state.plan->modules) {
        if (probed.file.starts_with(files.modules + "/"))
            job.modules.push_back(probed.name);
        else
            add_files(job, {{probed.file, std::filesystem::absolute(probed.file, error), 0, ""}});
    }
    std::string module = "/run/" + state.module_name + ".ko";
    job.files.push_back({std::filesystem::absolute(state.module_path), module, 0644, ""});
    job.command = reader_command(state, module);
    return job;
}

bool run_in_guest(RunState& state) {
    Result<GuestJob> job = guest_job(state);
    if (!job) {
        state.fail(DiagnosticKind::GuestUnavailable, job.failure());
        return false;
    }
    Sink sink;
    if (Status opened = sink.open(state.options.output_file); !opened) {
        state.fail(DiagnosticKind::WorkFiles, opened.failure());
        return false;
    }
    GuestCallbacks callbacks;
    callbacks.progress = show_progress;
    callbacks.output = [&sink](GuestStream stream, std::string_view bytes) {
        if (stream == GuestStream::Output)
            sink.write(bytes);
        else
            fwrite(bytes.data(), 1, bytes.size(), stderr);
    };
    ForwardedSignals signals;
    Result<GuestOutcome> outcome = run_guest(*job, callbacks, &signals.mailbox());
    if (!outcome) {
        state.fail(DiagnosticKind::GuestUnavailable, outcome.failure());
        return false;
    }
    if (outcome->lost()) {
        Diagnostic& lost =
            state.diagnostics.report(DiagnosticKind::GuestLost, {}, {outcome->reason});
        if (!outcome->kernel_log.empty())
            lost.note({}, "its kernel log ends with:\n" + outcome->kernel_log);
        return false;
    }
    if (!outcome->complaint.empty()) {
        state.diagnostics.report(DiagnosticKind::GuestComplained, {})
            .note({}, "its kernel log says:\n" + outcome->complaint);
        return false;
    }
    if (sink.error()) {
        state.fail(DiagnosticKind::WorkFiles,
                   {std::string("cannot write the output: ") + strerror(sink.error()), ""});
        return false;
    }
    state.exit_status = outcome->exit_code;
    return true;
}

} // namespace

// A command that is not there is an error before anything is compiled.
bool check_command(RunState& state) {
    if (state.options.command.empty())
        return true;
    extend_path(state.places);
    if (state.options.guest) {
        if (state.options.guest_root)
            return true;
        Result<std::vector<FileToCopy>> closure = command_closure(state.options.command);
        if (closure)
            return true;
        state.fail(DiagnosticKind::CommandMissing, closure.failure());
        return false;
    }
    Result<std::vector<std::string>> words = parse_command(state.options.command);
    if (!words)
        state.fail(DiagnosticKind::CommandMissing, words.failure());
    return static_cast<bool>(words);
}

bool run_module(RunState& state) {
    return state.options.guest ? run_in_guest(state) : run_here(state);
}

} // namespace djstap::driver
