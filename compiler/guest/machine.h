// SPDX-License-Identifier: GPL-2.0-or-later
// One QEMU that runs one guest: its arguments, its sockets, its console.
#pragma once
#include "guest/channel.h"
#include "guest/guest.h"
#include "guest/qmp.h"
#include "system/process.h"

#include <initializer_list>

namespace djstap::guest {

using Clock = std::chrono::steady_clock;

// Descriptors that a machine is started with; they stay the caller's.
struct MachineFiles {
    int memory = -1;         // as large as the guest's memory
    bool memory_kept = true; // the guest writes into `memory`; otherwise it sees a private copy
    int initramfs = -1;
    int disk = -1;         // as large as the guest's disk; -1: it has none
    bool restored = false; // starts empty, for Machine::restore()
};

// The QEMU program's path, found in $PATH; a Failure says what to install.
Result<std::string> find_qemu();

// QEMU's arguments that make up the machine, without those that name descriptors: what a saved
// state depends on.
std::vector<std::string> machine_arguments(const GuestJob& job, const std::string& measured = "");

// What a kernel is told because it would measure it wrongly: the rate of its clock. On a busy
// machine its own measurement can be wrong by a factor. For `measured` above, at boot only.
std::string boot_arguments(const GuestJob& job);

class Machine {
  public:
    static Result<Machine> start(const GuestJob& job, const MachineFiles& files);

    Channel& channel() { return channel_; }
    Process& process() { return process_; }
    // Waits for one frame of that type, dropping others. Fails with what is known of the reason
    // when the machine ends, or at the deadline.
    Result<Frame> expect(char type, Clock::time_point deadline) {
        return expect_any({type}, deadline);
    }
    Result<Frame> expect_any(std::initializer_list<char> types, Clock::time_point deadline);

    // Writes the machine's devices to `devices`; its memory is in MachineFiles::memory by then. The
    // machine is of no use afterwards.
    Status save(int devices, Clock::time_point deadline);
    // Loads what save() wrote and lets the guest run.
    Status restore(int devices, Clock::time_point deadline);
    // Plugs a share of files in, under the name DJSTAP_GUEST_SHARE. `socket` is connected to its
    // virtiofsd. The machine's memory has to be kept (MachineFiles), for the other end maps it too.
    Status share_files(int socket, Clock::time_point deadline);
    // Interrupts all CPUs so that the kernel panics and logs where they were: the last resort that
    // tells why a guest hangs.
    void interrupt(Clock::time_point deadline);

    std::string console() const { return contents(console_.get()); }
    // What QEMU itself said.
    std::string messages() const { return contents(messages_.get()); }
    struct End {
        bool by_emulator = false; // QEMU was killed or failed by itself, not by what the guest did
        std::string reason;       // in a few words
    };
    // Why a machine that ended did so.
    End end();

  private:
    Process process_;
    Channel channel_;
    Qmp qmp_;
    FileDescriptor console_, messages_;
    int status_ = 0;
};

} // namespace djstap::guest
