// SPDX-License-Identifier: GPL-2.0-or-later
// What a run in a guest needs, and where its output goes: what can be told without a guest.
#pragma once
#include "codegen/codegen.h"
#include "driver/options.h"
#include "guest/guest.h"
#include "session/output_request.h"
#include "session/writer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::driver {

// Returns the command line of the reader in the guest, whose program is `djrun` there.
std::vector<std::string> reader_command(const Options& options, const std::string& djrun,
                                        const std::string& module);
// Returns the requested size of the guest's memory in megabytes, or what the buffers need.
unsigned guest_memory_mb(const Options& options, const Limits& limits, unsigned cpus);
// Returns whether a guest that shares the host's files sees this one: it has some folders of its
// own.
bool is_seen_in_guest(const std::string& path);

// Adds files whose guest path is not in the job yet.
void add_files(GuestJob& job, const std::vector<FileToCopy>& files);
// Waits so many times as long, 1 to 100: kernels with sanitizers take that.
void be_patient(GuestJob& job, unsigned long times);

// A file that the guest's output is written to.
class GuestOutput {
  public:
    explicit GuestOutput(OutputFile file = {}) : file_(std::move(file)) {}
    // Truncates the file.
    void begin();
    // Returns false after a failed write.
    bool write(std::string_view bytes);
    // Continues in the next file.
    void next_file();
    // Returns why the output was not written; a reader that is gone is not a failure.
    std::optional<Failure> failure() const;
    bool is_closed() const { return error_ != 0; }

  private:
    OutputFile file_;
    uint64_t files_ = 0; // numbered ones so far
    int error_ = 0;
};

// Distributes what the reader in the guest writes for all files (PieceHeader) to these files.
class GuestChannels {
  public:
    explicit GuestChannels(std::vector<OutputFile> files);
    // Truncates the files, unless that was done before.
    void begin();
    // Returns false if a file cannot be written, or the readers of all of them are gone.
    bool write(std::string_view bytes);
    std::optional<Failure> failure() const;

  private:
    std::vector<GuestOutput> outputs_;
    PieceHeader header_{};
    size_t known_ = 0;  // bytes of the header
    uint32_t left_ = 0; // bytes of the piece
    bool begun_ = false;
};

} // namespace djstap::driver
