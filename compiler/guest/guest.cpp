#include "guest/guest.h"

#include "guest/hostroot.h"
#include "guest/initramfs.h"
#include "guest/run.h"
#include "guest/state.h"

#include <unistd.h>

namespace djstap {

using namespace guest;

namespace {

Status check(const GuestJob& job) {
    if (job.command.empty())
        return Failure{"there is no command to run in the guest", ""};
    if (access(job.kernel.vmlinuz.c_str(), R_OK))
        return Failure{system_failure("read", "the kernel " + job.kernel.vmlinuz).message,
                       "scripts/kernels fetches kernels for guests"};
    if (job.memory_mb < 128 || job.cpus < 1)
        return Failure{"a guest needs at least 128 MB of memory and one CPU", ""};
    // Better said now than after a boot.
    Archive archive;
    for (const FileToCopy& file : job.files)
        if (Status added = archive.add(file); !added)
            return added;
    return Done{};
}

// From the saved state. A state that does not load is made anew, once.
Result<Machine> restored(const GuestJob& job, const GuestCallbacks& callbacks) {
    for (int tries = 0;; ++tries) {
        Result<SavedState> state = open_state(job, callbacks);
        if (!state)
            return state.failure();
        Result<Machine> machine = restore_machine(job, *state);
        if (machine || tries > 0)
            return machine;
        if (callbacks.progress)
            callbacks.progress("the saved guest does not load (" + machine.failure().message +
                               "); making it anew");
        discard_state(*state);
    }
}

struct BootedMachine {
    HostRoot root;
    Descriptor memory, initramfs;
};

Result<Machine> booted(const GuestJob& job, const GuestCallbacks& callbacks, BootedMachine& parts) {
    if (callbacks.progress)
        callbacks.progress("booting " + job.kernel.release + " with the host's files…");
    Result<HostRoot> root = share_host_root();
    if (!root)
        return root.failure();
    parts.root = std::move(*root);
    Result<Descriptor> memory = anonymous_file("memory", static_cast<size_t>(job.memory_mb) << 20);
    Result<Descriptor> initramfs = anonymous_file("initramfs", 0);
    if (!memory || !initramfs)
        return (memory ? initramfs : memory).failure();
    parts.memory = std::move(*memory);
    parts.initramfs = std::move(*initramfs);
    if (Status written = write_initramfs(job.kernel, parts.initramfs.get(), "the initramfs");
        !written)
        return written.failure();
    MachineFiles files;
    files.memory = parts.memory.get();
    files.initramfs = parts.initramfs.get();
    files.host_root = parts.root.socket.get();
    return boot_machine(job, files);
}

} // namespace

Result<GuestOutcome> run_guest(const GuestJob& job, const GuestCallbacks& callbacks,
                               SignalMailbox* signals) {
    if (Status checked = check(job); !checked)
        return checked.failure();
    BootedMachine parts;
    Result<Machine> machine =
        job.host_root ? booted(job, callbacks, parts) : restored(job, callbacks);
    if (!machine)
        return machine.failure();
    return Run(*machine, job, callbacks, signals).go();
}

Status prepare_guest(const GuestJob& job, const GuestCallbacks& callbacks) {
    if (job.host_root)
        return Done{};
    Result<SavedState> state = open_state(job, callbacks);
    if (!state)
        return state.failure();
    return Done{};
}

} // namespace djstap
