// SPDX-License-Identifier: GPL-2.0-or-later
// Saved guests: created once for each kernel, QEMU, arguments and agent; restored for every run.
//
// A state is a folder RELEASE-HASH in the cache with the files `memory` (sparse, mapped privately
// by each restored guest, so that guests share its pages and read them on demand), `devices`
// (QEMU's migration stream without the memory), `initramfs`, `disk` (sparse; each guest gets a
// copy) and `manifest.json`. The manifest is written last and contains each file's size, inode and
// modification time: a file that was truncated, replaced or written to does not match.
#pragma once
#include "guest/machine.h"

namespace djstap::guest {

struct SavedState {
    std::string folder;
    FileDescriptor memory, devices, initramfs, disk;
};

// Opens the state for a job; creates it if it is missing or broken. Only one process creates it
// while others wait.
Result<SavedState> open_state(const GuestJob& job, const GuestCallbacks& callbacks);
// Ensures that a state which could not be restored is not opened again.
void discard_state(const SavedState& state);

// Returns a machine that was resumed from a state and answers.
Result<Machine> restore_machine(const GuestJob& job, const SavedState& state);

// Boots a machine and waits until it is ready. The caller keeps ownership of `memory` and
// `initramfs`.
Result<Machine> boot_machine(const GuestJob& job, const MachineFiles& files);

// Returns an anonymous file of that many bytes.
Result<FileDescriptor> anonymous_file(const char* name, size_t size);

// Identifies a file by what changes when it is replaced: size, inode, modification time.
std::string file_identity(const std::string& path);
// Identifies a kernel's build.
std::string kernel_identity(const GuestKernel& kernel);

} // namespace djstap::guest
