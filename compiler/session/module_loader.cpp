// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/module_loader.h"

#include "session/kernel_log.h"
#include "session/privilege.h"
#include "system/elf_notes.h"
#include "system/file.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace djstap {

namespace {

// Returns "integrity" or "confidentiality"; "" if the kernel is not locked down.
std::string lockdown() {
    const auto state = read_file("/sys/kernel/security/lockdown");
    const size_t begin = state ? state->find('[') : std::string::npos;
    if (begin == std::string::npos)
        return {};
    const std::string chosen = state->substr(begin + 1, state->find(']', begin) - begin - 1);
    return chosen == "none" ? "" : chosen;
}

constexpr const char* how_to_sign = "sign it: djstap --sign-with KEY CERT, where djstap "
                                    "--enroll-key CERT has made the kernel trust "
                                    "the key; or use a guest: djstap --guest";

constexpr const char* how_to_trust =
    "djstap --enroll-key CERT has the kernel trust the key from the next start on; or use a guest: "
    "djstap --guest";

constexpr char handed_over_byte = 'h';

long delete_module(const std::string& name) {
    return syscall(SYS_delete_module, name.c_str(), O_NONBLOCK);
}

} // namespace

std::string signature_demand() {
    if (const std::string state = lockdown(); !state.empty())
        return "is locked down (" + state + ")";
    // With CONFIG_MODULE_SIG_FORCE, too.
    const auto enforced = read_file("/sys/module/module/parameters/sig_enforce");
    return enforced && trimmed(*enforced) == "Y" ? "loads only signed modules (module.sig_enforce)"
                                                 : "";
}

std::string running_release() {
    utsname name{};
    uname(&name);
    return name.release;
}

std::string build_id_of_notes(std::string_view notes) {
    return hexadecimal(gnu_build_id(notes).value_or(""));
}

Status check_loading_allowed() {
    if (const std::string missing = missing_privilege(); !missing.empty())
        return Failure{"loading a kernel module and reading from it needs root "
                       "(CAP_SYS_MODULE and CAP_SYS_ADMIN): " +
                           missing,
                       privilege_hint()};
    return check_modules_possible();
}

Status check_modules_possible() {
    if (const auto disabled = read_file("/proc/sys/kernel/modules_disabled");
        disabled && trimmed(*disabled) == "1")
        return Failure{
            "module loading is disabled until the next boot (kernel.modules_disabled is 1)",
            "use a guest: djstap --guest"};
    if (access("/proc/modules", F_OK) != 0 && access("/proc/self", F_OK) == 0)
        return Failure{"this kernel is built without module support (CONFIG_MODULES)",
                       "use a guest: djstap --guest"};
    return Done{};
}

Status check_module_fits(const ModuleFile& module) {
    const std::string running = running_release();
    if (!module.meta.release.empty() && module.meta.release != running)
        return Failure{module.path + ": compiled for kernel " + module.meta.release + ", this is " +
                           running,
                       "rebuild it for this kernel, or run it in a guest: djstap --guest=" +
                           module.meta.release};
    const auto notes = read_file("/sys/kernel/notes");
    const std::string id = notes ? build_id_of_notes(*notes) : "";
    if (!module.meta.build_id.empty() && !id.empty() && module.meta.build_id != id)
        return Failure{
            module.path + ": compiled for another build of kernel " + running + " (build-id " +
                module.meta.build_id + ", this one has " + id + ")",
            "rebuild it for the running kernel, which may have been updated without a reboot"};
    if (const std::string demand = signature_demand(); !demand.empty() && !module.is_signed)
        return Failure{"this kernel " + demand + " and " + module.path + " is not signed",
                       how_to_sign};
    return Done{};
}

Failure explain_load_error(const std::string& name, int error) {
    const std::string text = "module " + name + " cannot be loaded: ";
    switch (error) {
    case EEXIST:
        return {text + "a module of this name is already loaded",
                "choose another name with -m, or attach to it with --attach " + name};
    case EPERM:
        return {text + "the kernel does not permit it",
                "lockdown or a security module forbids it; use a guest: djstap --guest"};
    case EKEYREJECTED:
    case ENOKEY:
        return {text + "its signature is missing or the kernel does not trust its key",
                how_to_sign};
    case EBADMSG:
        return {text + "its signature is damaged", "sign the module again"};
    case ENOEXEC:
        return {text + "it does not match this kernel (format, version or symbol versions)",
                "rebuild it for the running kernel"};
    case ENOENT:
        return {text + "it needs a symbol that this kernel does not have",
                "rebuild it for the running kernel"};
    case EINVAL:
        return {text + "the kernel rejected its contents or parameters",
                "check the parameters: NAME=VALUE"};
    case ENOMEM:
        return {text + "the kernel does not have enough memory for it",
                "use smaller buffers (-s) or smaller arrays (-D MAXMAPENTRIES)"};
    case EBUSY:
        return {text + "something it needs is in use", "try again"};
    default:
        return {text + std::strerror(error), ""};
    }
}

Status load_module(const ModuleFile& module, const std::string& parameters) {
    const FileDescriptor file(open(module.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return Failure{module.path + ": " + std::strerror(errno), ""};
    KernelLog log;
    if (syscall(SYS_finit_module, file.get(), parameters.c_str(), 0) == 0)
        return Done{};
    const int error = errno;
    Failure failure = explain_load_error(module.name, error);
    // A kernel that is locked down says EPERM.
    const bool may_be_signature = error == EPERM || error == EKEYREJECTED || error == ENOKEY;
    if (module.is_signed && may_be_signature && !signature_demand().empty())
        failure = {"module " + module.name +
                       " cannot be loaded: the kernel does not trust the key that signed it, or it "
                       "was changed afterwards",
                   how_to_trust};
    if (const std::string tail = log.tail(); !tail.empty())
        failure.message.append("; the kernel says:\n").append(trimmed(tail));
    return failure;
}

bool module_is_loaded(const std::string& name) {
    return access(("/sys/module/" + name + "/refcnt").c_str(), F_OK) == 0;
}

Status unload_module(const std::string& name, std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (delete_module(name) != 0) {
        const int error = errno;
        if (error == ENOENT)
            return Done{};
        const bool in_use =
            error == EAGAIN || error == EBUSY || error == EWOULDBLOCK || error == EINTR;
        if (in_use && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            continue;
        }
        if (!in_use)
            return Failure{"module " + name + " cannot be unloaded: " + std::strerror(error), ""};
        const auto users = read_file("/sys/module/" + name + "/refcnt");
        return Failure{"module " + name + " is disarmed but cannot be unloaded yet: in use by " +
                           (users ? std::string(trimmed(*users)) : "some") + " task(s) or file(s)",
                       "remove it later: rmmod " + name};
    }
    return Done{};
}

std::string Watchdog::watched_parameters() {
    return "reader=" + std::to_string(getpid());
}

Watchdog::Watchdog(const std::string& module, bool loads) {
    const std::string reader = std::to_string(getpid());
    auto pipe = Pipe::open();
    if (!pipe)
        return;
    process_ = Process::fork([&] { watch(pipe->reader.get(), module, loads, reader); });
    if (process_)
        pipe_ = std::move(pipe->writer);
}

// Runs in a process of its own.
void Watchdog::watch(int end, const std::string& module, bool loads, const std::string& reader) {
    // A session of its own: the terminal's signals to the others do not reach it. It keeps no
    // descriptors open, so that nobody waits for it at the other end of a pipe.
    setsid();
    for (int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
        signal(each, SIG_IGN);
    const int keep = dup2(end, 0);
    syscall(SYS_close_range, 1u, ~0u, 0u);
    char byte;
    const ssize_t got = read_some(keep, &byte, 1);
    const bool handed_over = got == 1 && byte == handed_over_byte;
    const std::string parameters = "/sys/module/" + module + "/parameters/";
    const auto value = [&](const char* name) {
        const auto text = read_file(parameters + name);
        return text ? std::string(trimmed(*text)) : "";
    };
    const auto is_ours = [&] {
        return loads ? value("reader") == reader : value("overwrite") != "Y";
    };
    // Repeats as long as the module is in use, by a call that has not returned, for instance.
    // Rarely after half a minute.
    if (got == 0 || handed_over) {
        for (int tries = 0; is_ours() && delete_module(module) != 0 &&
                            (errno == EAGAIN || errno == EBUSY || errno == EINTR);
             tries++)
            poll(nullptr, 0, tries < 300 ? 100 : 1000);
    }
}

void Watchdog::send(char byte) {
    const ssize_t sent = write(pipe_.get(), &byte, 1);
    static_cast<void>(sent); // the process has ended: there is nobody to notify
    pipe_.reset();
}

void Watchdog::hand_over() {
    if (pipe_)
        send(handed_over_byte);
}

void Watchdog::dismiss() {
    if (!pipe_)
        return;
    send('k');
    process_->wait();
}

} // namespace djstap
