// SPDX-License-Identifier: GPL-2.0-or-later
// One QEMU process that runs one guest: its arguments, its sockets, its console.
#pragma once
#include "guest/channel.h"
#include "guest/guest.h"
#include "guest/qmp.h"
#include "system/process.h"

#include <initializer_list>

namespace djstap::guest {

using Clock = std::chrono::steady_clock;

// Descriptors that a machine is started with; the caller keeps ownership.
struct MachineFiles {
    int memory = -1;         // as large as the guest's memory
    bool memory_kept = true; // the guest writes to `memory`; otherwise it uses a private copy
    int initramfs = -1;
    int disk = -1;         // as large as the guest's disk; -1: no disk
    bool restored = false; // starts empty, for Machine::restore()
};

// Returns the path of QEMU, searched in $PATH; a Failure says what to install.
Result<std::string> find_qemu();

// Returns the arguments of QEMU that define the machine, without those that name descriptors: a
// saved state depends on them.
std::vector<std::string> machine_arguments(const GuestJob& job, const std::string& measured = "");

// Returns whether the word `kaslr` is among the job's arguments: its kernel runs at a random
// address, like those of most machines. All others run where they were linked, so that the
// addresses in messages and logs are those of the kernel's symbols.
bool at_random_address(const GuestJob& job);

// Returns kernel arguments for what the kernel would measure wrongly: the rate of its clock. On a
// busy machine its own measurement can be wrong by a factor. For `measured` above, at boot only.
std::string boot_arguments(const GuestJob& job);

class Machine {
  public:
    static Result<Machine> start(const GuestJob& job, const MachineFiles& files);

    Channel& channel() { return channel_; }
    Process& process() { return process_; }
    // Waits for one frame of that type, dropping others. Fails, with the known reason, if the
    // machine ends, or at the deadline.
    Result<Frame> expect(char type, Clock::time_point deadline) {
        return expect_any({type}, deadline);
    }
    Result<Frame> expect_any(std::initializer_list<char> types, Clock::time_point deadline);

    // Writes the machine's devices to `devices`; its memory is then in MachineFiles::memory. The
    // machine cannot be used afterwards.
    Status save(int devices, Clock::time_point deadline);
    // Loads what save() wrote and resumes the guest.
    Status restore(int devices, Clock::time_point deadline);
    // Plugs in a share of files, under the name DJSTAP_GUEST_SHARE. `socket` is connected to its
    // virtiofsd. The machine's memory must be kept (MachineFiles), because the other end maps it,
    // too.
    Status share_files(int socket, Clock::time_point deadline);
    // Interrupts all CPUs so that the kernel panics and logs their locations: the last resort for
    // finding out why a guest hangs.
    void interrupt(Clock::time_point deadline);

    std::string console() const { return contents(console_.get()); }
    // Returns QEMU's own output.
    std::string messages() const { return contents(messages_.get()); }
    struct End {
        bool by_emulator = false; // QEMU was killed or failed on its own, not because of the guest
        std::string reason;       // in a few words
    };
    // Returns why a machine ended.
    End end();

  private:
    Process process_;
    Channel channel_;
    Qmp qmp_;
    FileDescriptor console_, messages_;
    int status_ = 0;
};

} // namespace djstap::guest
