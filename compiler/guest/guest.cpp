// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/guest.h"

#include "guest/hostroot.h"
#include "guest/run.h"
#include "guest/state.h"

#include <unistd.h>

namespace djstap {

using namespace guest;

const char* const guest_trace_file = DJSTAP_GUEST_TRACE_FILE;

namespace {

Status check(const GuestJob& job) {
    if (job.command.empty())
        return Failure{"no command to run in the guest", ""};
    if (access(job.kernel.vmlinuz.c_str(), R_OK))
        return Failure{system_failure("read", "the kernel " + job.kernel.vmlinuz).message,
                       "scripts/kernels fetches kernels for guests"};
    if (job.memory_mb < 128 || job.cpus < 1)
        return Failure{"a guest needs at least 128 MB of memory and one CPU", ""};
    // Fails before a boot rather than after it.
    Archive archive;
    for (const FileToCopy& file : job.files)
        if (Status added = archive.add(file); !added)
            return added;
    return Done{};
}

// Restores a machine from the saved state. A state that cannot be loaded is recreated, once.
Result<Machine> restored(const GuestJob& job, const GuestCallbacks& callbacks) {
    for (int tries = 0;; ++tries) {
        Result<SavedState> state = open_state(job, callbacks);
        if (!state)
            return state.failure();
        Result<Machine> machine = restore_machine(job, *state);
        if (machine || tries > 0)
            return machine;
        if (callbacks.progress)
            callbacks.progress("the saved guest cannot be restored (" + machine.failure().message +
                               "); saving a new one");
        discard_state(*state);
    }
}

} // namespace

Result<GuestOutcome> run_guest(const GuestJob& job, const GuestCallbacks& callbacks,
                               SignalMailbox* signals) {
    if (Status checked = check(job); !checked)
        return checked.failure();
    HostRoot root;
    if (job.host_root) {
        // Started first, so that it starts up at the same time as the machine.
        Result<HostRoot> shared = share_host_root();
        if (!shared)
            return shared.failure();
        root = std::move(*shared);
    }
    Result<Machine> machine = restored(job, callbacks);
    if (!machine)
        return machine.failure();
    if (job.host_root)
        if (Status shared =
                machine->share_files(root.socket.get(), Clock::now() + job.restore_timeout);
            !shared)
            return shared.failure();
    return Run(*machine, job, callbacks, signals).go();
}

Status can_share_host_files() {
    return can_share_host_root();
}

Status prepare_guest(const GuestJob& job, const GuestCallbacks& callbacks) {
    Result<SavedState> state = open_state(job, callbacks);
    if (!state)
        return state.failure();
    return Done{};
}

} // namespace djstap
