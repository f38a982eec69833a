// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session_output.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace djstap {

SessionOutput::SessionOutput(FileDescriptor file, const SessionOptions& options)
    : file_(std::move(file)),
      writer_(file_ ? file_.get() : STDOUT_FILENO, file_ ? options.output_file : "the output"),
      messages_(STDERR_FILENO, "the messages"),
      output_(options.output->make({writer_, messages_, options.warnings, options.verbose > 0})) {}

Result<std::unique_ptr<SessionOutput>> SessionOutput::open(const SessionOptions& options) {
    auto file = open_output(options.output_file);
    if (!file)
        return file.failure();
    return std::unique_ptr<SessionOutput>(new SessionOutput(std::move(*file), options));
}

Status SessionOutput::flush() {
    writer_.flush();
    if (writer_.error() && writer_.error() != EPIPE)
        return Failure{writer_.name() + ": " + std::strerror(writer_.error()), ""};
    return Done{};
}

void SessionOutput::finish(SessionOutcome& outcome) {
    if (const Status written = flush(); !written) {
        messages_.append("ERROR: " + written.failure().message + "\n");
        messages_.flush();
        outcome.status = 1;
    }
}

} // namespace djstap
