// SPDX-License-Identifier: GPL-2.0-or-later
// The output of one session, where its options want it.
#pragma once
#include "session/output.h"
#include "session/session.h"

namespace djstap {

class SessionOutput {
  public:
    // Makes the file of -o where there is one.
    static Result<std::unique_ptr<SessionOutput>> open(const SessionOptions& options);
    SessionOutput(const SessionOutput&) = delete;
    SessionOutput& operator=(const SessionOutput&) = delete;

    Output& output() { return *output_; }
    // Writes what is left. What could not be written is the Failure; a reader that has gone is
    // none.
    Status flush();
    // The same at a session's end: says so among the messages and in the outcome's status.
    void finish(SessionOutcome& outcome);

  private:
    SessionOutput(FileDescriptor file, const SessionOptions& options);

    FileDescriptor file_;
    Writer writer_, messages_;
    std::unique_ptr<Output> output_;
};

} // namespace djstap
