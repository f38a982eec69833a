// SPDX-License-Identifier: GPL-2.0-or-later
// The output of one session, as its options define it.
#pragma once
#include "session/output.h"
#include "session/session.h"

namespace djstap {

class SessionOutput {
  public:
    // Creates the file of -o, if given.
    static Result<std::unique_ptr<SessionOutput>> open(const SessionOptions& options);
    SessionOutput(const SessionOutput&) = delete;
    SessionOutput& operator=(const SessionOutput&) = delete;

    Output& output() { return *output_; }
    // Writes the rest. Output that could not be written is a Failure; a reader that is gone is not.
    Status flush();
    // The same at the end of a session: reports failures as messages and in the outcome's status.
    void finish(SessionOutcome& outcome);

  private:
    SessionOutput(FileDescriptor file, const SessionOptions& options);

    FileDescriptor file_;
    Writer writer_, messages_;
    std::unique_ptr<Output> output_;
};

} // namespace djstap
