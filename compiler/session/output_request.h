// SPDX-License-Identifier: GPL-2.0-or-later
// What --output requests: a kind of output, and the file that it is written to.
#pragma once
#include "diagnostics/result.h"
#include "session/output.h"
#include "system/descriptor.h"

#include <string>
#include <vector>

namespace djstap {

struct OutputRequest {
    const OutputKind* kind = &text_kind();
    std::string file; // empty: that of -o, else standard output
};

// Parses "FORMAT" or "FORMAT:FILE". A Failure names the nearest format if one is near.
Result<OutputRequest> parse_output(const std::string& text);

// What the options of a session say about its outputs.
struct OutputChoice {
    std::vector<OutputRequest> requests; // empty: text
    std::string file;                    // -o: of the requests without a file
    // If it is given, what belongs into files goes here, in pieces (PieceHeader) that count the
    // files as opened_files() does: another process writes these.
    std::string channels = {};
    std::vector<std::string> inputs = {}; // files that are read, which no output may overwrite
};

// A file that an output writes.
struct OutputFile {
    std::string path; // empty: standard output
    FileDescriptor descriptor;
    int fd() const { return descriptor ? descriptor.get() : STDOUT_FILENO; }
};

// Checks what can be checked before anything is compiled: that no two outputs have the same file,
// that those with several files have a folder, and that a terminal gets no binary output.
Status check_outputs(const OutputChoice& options);

// Creates the files that do not exist, and folders. In the order of the requests; a kind that is a
// folder has several. Fails if two are the same file, or one is an input.
Result<std::vector<OutputFile>> open_outputs(const OutputChoice& options);

// Truncates the files: once there is something to write, so that a run that cannot begin leaves
// what an earlier one has written.
Status empty_outputs(const std::vector<OutputFile>& files);

// Returns "cannot write FILE: WHY" with a hint.
Failure unwritable(const std::string& name, int error);

} // namespace djstap
