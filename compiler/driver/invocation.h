// SPDX-License-Identifier: GPL-2.0-or-later
// What all passes of one run may use. passes.h defines the values that they pass on.
#pragma once
#include "diagnostics/diagnostic.h"
#include "driver/options.h"
#include "driver/places.h"
#include "image/configuration.h"
#include "library/library.h"
#include "module/module.h"
#include "probes/probes.h"
#include "session/host_facts.h"
#include "session/output.h"
#include "syntax/syntax.h"
#include "system/temporary.h"

#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace djstap::driver {

// A folder for the files of one run, which is removed at the end, also by SIGINT, SIGTERM or
// SIGHUP, unless it is kept.
class WorkFolder {
  public:
    ~WorkFolder();
    // Returns its path; creates it on first use, below $TMPDIR, else /tmp.
    Result<std::string> path();
    void keep() { keep_ = true; }
    // Names the file that must also be removed if a signal ends djstap.
    void will_hold(const std::string& file);
    // Returns its path, or "" while it does not exist.
    const std::string& made() const { return folder_.path(); }

  private:
    TemporaryFolder folder_;
    bool keep_ = false;
};

// A set of symbols that one thread finds out and another waits for; nothing: any.
class LateSymbols {
  public:
    using Symbols = std::optional<std::set<std::string>>;
    // Does nothing after the first call.
    void settle(Symbols symbols) {
        if (!std::exchange(settled_, true))
            promise_.set_value(std::move(symbols));
    }
    Symbols wait() const { return future_.get(); }

  private:
    bool settled_ = false;
    std::promise<Symbols> promise_;
    std::shared_future<Symbols> future_ = promise_.get_future().share();
};

class Invocation {
  public:
    explicit Invocation(Options given);

    Options options;
    Places places = find_places();
    SourceManager sources;
    Diagnostics diagnostics{sources};
    // The host of --kernel-from, or why it is not known; nothing without --kernel-from.
    std::optional<Result<HostFacts>> host;
    // The kernel of --guest, or the reason for its absence; nothing without --guest.
    std::optional<Result<KernelFiles>> guest_kernel;
    Images images;
    // What the script needs of the runtime: the kit's thread waits for it.
    LateSymbols needs;
    // The runtime for the kernel, which resolve() begins to open or build, and generate() waits
    // for. It reads the kernel of `images` until then.
    std::future<Result<RuntimeKit>> kit;
    WorkFolder work;

    PreprocessorContext preprocessor();
    // Opens the library on first use.
    Library& tapsets();

    // Output that does not belong to a session: goes to standard output, in the form that the
    // options request.
    Output& output() { return *output_; }
    // Returns false if not all of it could be written.
    bool flush_output();

    // Reports a failure that has no place in the script.
    void fail(DiagnosticKind kind, const Failure& failure);
    // The options with which the run begins again; nothing: it does not.
    std::optional<Options> next;

    // Prints what was reported since the last call to standard error, and was not told before.
    void show_diagnostics();
    // Returns whether the run must end: errors, or warnings with -W.
    bool failed();
    // The texts of what was printed: a run that begins again does not repeat them.
    std::set<std::string> told;

  private:
    size_t shown_ = 0;
    Writer writer_, messages_;
    std::unique_ptr<Output> output_;
    std::unique_ptr<Library> library_;
    std::optional<Configuration> configuration_;
};

// Reports a long step on standard error: "djstap: TEXT".
void show_progress(const std::string& text);

} // namespace djstap::driver
