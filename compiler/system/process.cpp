// SPDX-License-Identifier: GPL-2.0-or-later
#include "system/process.h"

#include "system/file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap {

namespace {

constexpr int exec_failed = 127;

// A signal that this process ignores would stay ignored across exec. SIGHUP is ignored only if
// nohup has set that, which applies to children, too.
constexpr int reset_signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGCHLD, SIGXFSZ};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (const std::string& text : texts)
        all.push_back(const_cast<char*>(text.c_str()));
    all.push_back(nullptr);
    return all;
}

Failure cannot_run(const std::string& program, int error) {
    return {"cannot run " + program + ": " + std::strerror(error), ""};
}

// The child until it executes the program; never returns. It makes only calls that are safe after
// fork().
class NewProgram {
  public:
    NewProgram(const std::vector<std::string>& words, const ProcessOptions& options)
        : options_(options), words_(pointers(words)), parent_(getpid()) {
        if (options.environment)
            environment_ = pointers(*options.environment);
    }

    [[noreturn]] void become(int gate, int report) const {
        if (options_.bound) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            // the parent died before the line above
            if (getppid() != parent_)
                _exit(exec_failed);
            setsid();
        }
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        for (int signal : reset_signals)
            ::signal(signal, SIG_DFL);
        if (!ignores_hangup())
            ::signal(SIGHUP, SIG_DFL);
        const int stream_error = set_streams();
        for (int fd : options_.inherited)
            fcntl(fd, F_SETFD, 0);
        char byte;
        // the process that should release it is gone
        if (gate >= 0 && read_some(gate, &byte, 1) != 1)
            _exit(exec_failed);
        if (stream_error)
            errno = stream_error;
        else if (!options_.in_child || options_.in_child())
            run();
        const int error = errno ? errno : EPERM; // 0 would mean that the program runs
        write_all(report, {reinterpret_cast<const char*>(&error), sizeof error});
        _exit(exec_failed);
    }

  private:
    // Returns 0, or errno.
    int set_streams() const {
        for (const auto& [stream, wanted] :
             {std::pair(STDIN_FILENO, options_.input), std::pair(STDOUT_FILENO, options_.output),
              std::pair(STDERR_FILENO, options_.errors)}) {
            if (wanted == ProcessOptions::same)
                continue;
            const int from =
                wanted == ProcessOptions::none ? open("/dev/null", O_RDWR | O_CLOEXEC) : wanted;
            if (from < 0 || dup2(from, stream) < 0)
                return errno;
        }
        return 0;
    }

    void run() const {
        if (environment_.empty())
            execvp(words_[0], words_.data());
        else
            execvpe(words_[0], words_.data(), environment_.data());
    }

    const ProcessOptions& options_;
    std::vector<char*> words_, environment_;
    pid_t parent_;
};

// The same for posix_spawn(), which does not copy this process's memory.
class SpawnActions {
  public:
    explicit SpawnActions(const ProcessOptions& options) {
        posix_spawn_file_actions_init(&actions_);
        const int wanted[] = {options.input, options.output, options.errors};
        for (int stream = 0; stream < 3; stream++) {
            if (wanted[stream] == ProcessOptions::none)
                posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", O_RDWR, 0);
            else if (wanted[stream] != ProcessOptions::same)
                posix_spawn_file_actions_adddup2(&actions_, wanted[stream], stream);
        }
        for (int fd : options.inherited)
            posix_spawn_file_actions_adddup2(&actions_, fd, fd);
        posix_spawnattr_init(&attributes_);
        sigset_t none;
        sigemptyset(&none);
        posix_spawnattr_setsigmask(&attributes_, &none);
        sigset_t reset;
        sigemptyset(&reset);
        for (int signal : reset_signals)
            sigaddset(&reset, signal);
        posix_spawnattr_setsigdefault(&attributes_, &reset);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~SpawnActions() {
        posix_spawnattr_destroy(&attributes_);
        posix_spawn_file_actions_destroy(&actions_);
    }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;

    const posix_spawn_file_actions_t* actions() const { return &actions_; }
    const posix_spawnattr_t* attributes() const { return &attributes_; }

  private:
    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

} // namespace

bool ignores_hangup() {
    struct sigaction action = {};
    return sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::vector<std::string> search_path() {
    const char* path = std::getenv("PATH");
    char standard[256] = "/bin:/usr/bin";
    if (!path)
        confstr(_CS_PATH, standard, sizeof standard);
    std::string_view rest = path ? path : standard;
    std::vector<std::string> folders;
    for (;;) {
        const size_t end = rest.find(':');
        folders.emplace_back(end == 0 || rest.empty() ? "." : rest.substr(0, end));
        if (end == std::string_view::npos)
            return folders;
        rest.remove_prefix(end + 1);
    }
}

bool is_program(const std::string& path) {
    struct stat status = {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           access(path.c_str(), X_OK) == 0;
}

std::string find_program(std::string_view name, const std::vector<std::string>& more) {
    const std::string wanted(name);
    if (wanted.find('/') != std::string::npos)
        return is_program(wanted) ? wanted : "";
    std::vector<std::string> folders = search_path();
    folders.insert(folders.end(), more.begin(), more.end());
    for (const std::string& folder : folders)
        if (std::string path = folder + "/" + wanted; is_program(path))
            return path;
    return {};
}

Process::Process(Process&& other) noexcept {
    *this = std::move(other);
}

Process& Process::operator=(Process&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(running_, other.running_);
    std::swap(bound_, other.bound_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(go_, other.go_);
    std::swap(error_, other.error_);
    std::swap(status_, other.status_);
    return *this;
}

Process::~Process() {
    if (bound_)
        kill();
    if (go_) {
        go_.reset();
        wait();
    }
}

std::optional<Process> Process::fork(const std::function<void()>& body) {
    const pid_t pid = ::fork();
    if (pid < 0)
        return std::nullopt;
    if (pid == 0) {
        body();
        _exit(0);
    }
    Process process;
    process.pid_ = pid;
    process.running_ = true;
    return process;
}

std::optional<Process> Process::fork_program(const std::vector<std::string>& words,
                                             const ProcessOptions& options, bool held) {
    const NewProgram program(words, options);
    std::optional<Pipe> report = Pipe::open(), gate = held ? Pipe::open() : Pipe();
    if (!report || !gate)
        return std::nullopt;
    auto process = fork([&] {
        report->reader.reset();
        gate->writer.reset();
        program.become(gate->reader.get(), report->writer.get());
    });
    if (process) {
        process->bound_ = options.bound;
        process->go_ = std::move(gate->writer);
        process->error_ = std::move(report->reader);
    }
    return process;
}

Result<Process> Process::spawn(const std::vector<std::string>& words,
                               const ProcessOptions& options) {
    std::vector<char*> arguments = pointers(words), environment;
    if (options.environment)
        environment = pointers(*options.environment);
    const SpawnActions actions(options);
    Process process;
    if (const int error =
            posix_spawnp(&process.pid_, arguments[0], actions.actions(), actions.attributes(),
                         arguments.data(), environment.empty() ? environ : environment.data()))
        return cannot_run(words[0], error);
    process.running_ = true;
    return process;
}

Result<Process> Process::start(const std::vector<std::string>& words,
                               const ProcessOptions& options) {
    if (!options.bound && !options.in_child)
        return spawn(words, options);
    auto process = fork_program(words, options, false);
    if (!process)
        return cannot_run(words[0], errno);
    if (const int error = process->exec_error()) {
        process->wait();
        return cannot_run(words[0], error);
    }
    if (options.bound) {
        process->descriptor_ =
            FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process->pid_, 0)));
        if (!process->descriptor_)
            return Failure{"cannot watch " + words[0] + ": " + std::strerror(errno), ""};
    }
    return std::move(*process);
}

Result<Process> Process::hold(const std::vector<std::string>& words,
                              const ProcessOptions& options) {
    auto process = fork_program(words, options, true);
    if (!process)
        return Failure{std::strerror(errno), ""};
    return std::move(*process);
}

// exec closes the pipe when the program starts.
int Process::exec_error() {
    int error = 0;
    if (read_some(error_.get(), &error, sizeof error) != sizeof error)
        error = 0;
    error_.reset();
    return error;
}

int Process::release() {
    const bool sent = write_all(go_.get(), "g");
    go_.reset();
    const int error = exec_error();
    if (sent && error == 0)
        return 0;
    wait();
    return sent ? error : ESRCH;
}

std::optional<int> Process::poll_status() {
    if (running_ && waitpid(pid_, &status_, WNOHANG) == pid_)
        running_ = false;
    return running_ ? std::nullopt : std::optional(status_);
}

int Process::wait() {
    while (running_ && waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    running_ = false;
    return status_;
}

void Process::kill() {
    if (!running_)
        return;
    ::kill(pid_, SIGKILL);
    wait();
}

int exit_status(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<ProgramOutcome> run_program(const std::vector<std::string>& words,
                                   const OutputOptions& wanted, ProcessOptions options) {
    std::optional<Pipe> pipe = Pipe::open();
    if (!pipe)
        return cannot_run(words[0], errno);
    options.input = ProcessOptions::none;
    options.output = pipe->writer.get();
    if (wanted.errors)
        options.errors = pipe->writer.get();
    auto process = Process::start(words, options);
    if (!process)
        return process.failure();
    pipe->writer.reset();
    ProgramOutcome outcome;
    char buffer[65536];
    size_t told = 0; // all lines before this offset were passed to wanted.line
    for (ssize_t count; (count = read_some(pipe->reader.get(), buffer, sizeof buffer)) > 0;) {
        outcome.output.append(
            buffer, std::min(static_cast<size_t>(count), wanted.most - outcome.output.size()));
        while (wanted.line) {
            const size_t end = outcome.output.find('\n', told);
            if (end == std::string::npos)
                break;
            wanted.line(std::string_view(outcome.output).substr(told, end - told));
            told = end + 1;
        }
    }
    outcome.status = exit_status(process->wait());
    return outcome;
}

} // namespace djstap
