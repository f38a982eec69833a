#include "guest/process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::guest {

namespace {

// What the child does until it becomes the program; never returns. Only calls that are safe after
// fork.
[[noreturn]] void become(char* const* words, const SpawnOptions& options, pid_t parent,
                         int report) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); // died before the line above
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD})
        ::signal(signal, SIG_DFL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, 0);
    dup2(options.output >= 0 ? options.output : null, 1);
    dup2(options.output >= 0 ? options.output : null, 2);
    for (int fd : options.inherited)
        fcntl(fd, F_SETFD, 0);
    if (!options.in_child || options.in_child())
        execvp(words[0], words);
    int error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR) {
    }
    _exit(127);
}

} // namespace

Result<Process> Process::start(const std::vector<std::string>& words, const SpawnOptions& options) {
    std::vector<char*> argv;
    for (const std::string& word : words)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC))
        return system_failure("make", "a pipe");
    FileDescriptor reader(pipe[0]), writer(pipe[1]);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return system_failure("start", words[0]);
    if (pid == 0)
        become(argv.data(), options, parent, writer.get());
    writer.reset();
    Process process;
    process.pid_ = pid;
    int error = 0;
    ssize_t n;
    while ((n = read(reader.get(), &error, sizeof error)) < 0 && errno == EINTR) {
    }
    if (n == sizeof error) {
        process.wait();
        errno = error;
        return system_failure("run", words[0]);
    }
    process.descriptor_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!process.descriptor_)
        return system_failure("watch", words[0]);
    return process;
}

int Process::wait() {
    int status = 0;
    if (pid_ <= 0)
        return 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Process::kill() {
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    wait();
}

Process::~Process() {
    kill();
}

} // namespace djstap::guest
