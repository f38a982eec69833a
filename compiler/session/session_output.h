// SPDX-License-Identifier: GPL-2.0-or-later
// The outputs of one session, as its options define them.
#pragma once
#include "session/output.h"
#include "session/session.h"

#include <deque>

namespace djstap {

class SessionOutput {
  public:
    // Creates the files of --output and -o, and leaves what is in those that exist. `same_boot`:
    // see OutputStreams.
    static Result<std::unique_ptr<SessionOutput>> open(const SessionOptions& options,
                                                       bool same_boot = true);
    SessionOutput(const SessionOutput&) = delete;
    SessionOutput& operator=(const SessionOutput&) = delete;

    Output& output() { return *output_; }
    // Truncates the files: the session begins.
    Status begin() { return empty_outputs(files_); }
    // Ends the outputs and writes the rest. Output that could not be written is a Failure; a reader
    // that is gone is not. May be called again, after more messages.
    Status end();
    // The same at the end of a session: reports a failure as a message, once, and in the outcome's
    // status. Returns false if there was one.
    bool finish(SessionOutcome& outcome);

  private:
    SessionOutput(std::vector<OutputFile> files, FileDescriptor channels,
                  const SessionOptions& options, bool same_boot);

    std::vector<OutputFile> files_;
    FileDescriptor channels_;
    std::deque<Writer> writers_; // of the files
    Writer messages_;
    std::unique_ptr<Output> output_;
    bool ended_ = false, told_ = false;
};

} // namespace djstap
