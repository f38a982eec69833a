// SPDX-License-Identifier: GPL-2.0-or-later
// What all passes of one run may use. What they hand on to each other is in passes.h.
#pragma once
#include "diagnostics/diagnostic.h"
#include "driver/options.h"
#include "driver/places.h"
#include "image/configuration.h"
#include "library/library.h"
#include "probes/probes.h"
#include "session/output.h"
#include "syntax/syntax.h"
#include "system/temporary.h"

#include <memory>
#include <optional>
#include <string>

namespace djstap::driver {

// A folder for files of one run, removed at its end, also when SIGINT, SIGTERM or SIGHUP are the
// end, unless it is kept.
class WorkFolder {
  public:
    ~WorkFolder();
    // Its path; it is made on first use, below $TMPDIR, else /tmp.
    Result<std::string> path();
    void keep() { keep_ = true; }
    // Names the file that is to be removed too when a signal ends djstap.
    void will_hold(const std::string& file);
    // Where it is, empty while there is none.
    const std::string& made() const { return folder_.path(); }

  private:
    TemporaryFolder folder_;
    bool keep_ = false;
};

class RunContext {
  public:
    explicit RunContext(Options given);

    Options options;
    Places places = find_places();
    SourceManager sources;
    Diagnostics diagnostics{sources};
    // The kernel of --guest, or why there is none; nothing without --guest.
    std::optional<Result<KernelFiles>> guest_kernel;
    Images images;
    WorkFolder work;

    PreprocessorContext preprocessor();
    // Opens the library where that was not done yet.
    Library& tapsets();

    // Where everything is printed that is no session's output: standard output, as the options ask.
    Output& output() { return *output_; }
    // False where not all of it could be written.
    bool flush_output();

    // Reports a failure that has no place in the script.
    void fail(DiagnosticKind kind, const Failure& failure);
    // Prints what was reported since the last call, to standard error.
    void show_diagnostics();
    // True where the run must end: errors, or warnings with -W.
    bool failed();

  private:
    size_t shown_ = 0;
    Writer writer_, messages_;
    std::unique_ptr<Output> output_;
    std::unique_ptr<Library> library_;
    std::optional<Configuration> configuration_;
};

// Tells of a long step on standard error: "djstap: TEXT".
void show_progress(const std::string& text);

} // namespace djstap::driver
