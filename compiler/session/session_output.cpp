// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/session_output.h"

#include "session/output_group.h"

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace djstap {

namespace {

std::string title_of(const OutputFile& file) {
    return file.path.empty() ? "the output" : file.path;
}

// The files as another process opens them.
std::vector<OutputFile> files_elsewhere(const OutputChoice& options) {
    std::vector<OutputFile> files;
    for (const OutputRequest& request : options.requests)
        for (size_t i = 0; i < std::max<size_t>(1, request.kind->has.files.size()); i++)
            files.push_back({request.file.empty() ? options.file : request.file, FileDescriptor()});
    if (files.empty())
        files.push_back({options.file, FileDescriptor()});
    return files;
}

} // namespace

SessionOutput::SessionOutput(std::vector<OutputFile> files, FileDescriptor channels,
                             const SessionOptions& options, bool same_boot)
    : files_(std::move(files)), channels_(std::move(channels)),
      messages_(STDERR_FILENO, "the messages") {
    uint32_t channel = 0;
    for (const OutputFile& file : files_) {
        if (channels_ && !file.path.empty())
            writers_.emplace_back(channels_.get(), title_of(file), channel);
        else
            writers_.emplace_back(file.fd(), title_of(file));
        writers_.back().count_files(file.path);
        channel++;
    }
    const std::vector<OutputRequest> only_text{OutputRequest{}};
    std::vector<std::unique_ptr<Output>> outputs;
    size_t next = 0;
    bool told = false;
    for (const OutputRequest& request :
         options.outputs.requests.empty() ? only_text : options.outputs.requests) {
        OutputStreams streams{.writer = writers_[next++],
                              .messages = messages_,
                              .warnings = options.warnings,
                              .verbose = options.verbose > 0,
                              .tells = !told,
                              .same_boot = same_boot};
        for (size_t i = 1; i < request.kind->has.files.size(); i++)
            streams.more.push_back(&writers_[next++]);
        told |= request.kind->has.tells;
        outputs.push_back(request.kind->make(streams));
    }
    if (outputs.size() == 1)
        output_ = std::move(outputs.front());
    else
        output_ = std::make_unique<OutputGroup>(std::move(outputs));
}

Result<std::unique_ptr<SessionOutput>> SessionOutput::open(const SessionOptions& options,
                                                           bool same_boot) {
    FileDescriptor channels;
    std::vector<OutputFile> files;
    if (options.outputs.channels.empty()) {
        auto opened = open_outputs(options.outputs);
        if (!opened)
            return opened.failure();
        files = std::move(*opened);
    } else {
        auto opened = open_output(options.outputs.channels);
        if (!opened)
            return opened.failure();
        channels = std::move(*opened);
        files = files_elsewhere(options.outputs);
    }
    return std::unique_ptr<SessionOutput>(
        new SessionOutput(std::move(files), std::move(channels), options, same_boot));
}

Status SessionOutput::end() {
    if (!std::exchange(ended_, true))
        output_->end();
    output_->flush();
    for (Writer& writer : writers_) {
        writer.flush();
        if (writer.error() && writer.error() != EPIPE)
            return unwritable(writer.name(), writer.error());
    }
    return Done{};
}

bool SessionOutput::finish(SessionOutcome& outcome) {
    const Status written = end();
    if (!written && !std::exchange(told_, true)) {
        const Failure& why = written.failure();
        messages_.append("ERROR: " + why.message + (why.hint.empty() ? "" : "; " + why.hint) +
                         "\n");
        messages_.flush();
        outcome.status = 1;
    }
    return static_cast<bool>(written);
}

} // namespace djstap
