// What the passes of one run hand on to each other, and what all of them may use.
#pragma once
#include "ast/ast.h"
#include "codegen/codegen.h"
#include "diagnostics/diagnostic.h"
#include "driver/options.h"
#include "driver/places.h"
#include "library/library.h"
#include "module/module.h"
#include "probes/probes.h"
#include "semantics/program.h"
#include "session/output.h"
#include "syntax/syntax.h"
#include "system/temporary.h"
#include "target/configuration.h"

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

// What of this machine's files the guest of a run has.
enum class GuestFiles : uint8_t {
    None,   // the reader and the module
    Shared, // all of them, below a writable overlay
    Copied  // those that the command needs
};

struct RunState {
    explicit RunState(Options given);

    Options options;
    Places places = find_places();
    SourceManager sources;
    Diagnostics diagnostics{sources};
    // The kernel of --guest, or why there is none; nothing without --guest.
    std::optional<Result<KernelFiles>> guest_kernel;
    GuestFiles guest_files = GuestFiles::None;
    KernelView kernel;
    WorkFolder work;
    int exit_status = 0; // of the run: the command's, or 1

    // In the order in which the passes fill them.
    Limits limits; // -D and -s
    std::unique_ptr<Library> library;
    std::optional<ast::File> script;    // moved into the program by pass 2
    std::optional<ast::File> exclusion; // what --exclude-self puts before handlers
    uint32_t script_source = 0;         // its id in `sources`
    std::optional<program::Program> program;
    std::optional<ProbePlan> plan;
    std::optional<RuntimeKit> kit;
    std::optional<CompiledObject> object;
    std::string module_name;
    std::string module_path;

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
    std::optional<Configuration> configuration_;
};

// Tells of a long step on standard error: "djstap: TEXT".
void show_progress(const std::string& text);

} // namespace djstap::driver
