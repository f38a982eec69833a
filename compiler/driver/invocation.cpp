// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/invocation.h"

#include "image/program.h"

#include "diagnostics/plain_text.h"
#include "driver/caches.h"
#include "driver/host_kernel.h"
#include "driver/machine.h"
#include "guest/guest.h"
#include "system/file.h"
#include "system/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

namespace djstap::driver {

namespace {

bool wants_color(Options::Color color) {
    if (color != Options::Color::Auto)
        return color == Options::Color::Always;
    const char* refused = getenv("NO_COLOR");
    return isatty(STDERR_FILENO) && !(refused && *refused);
}

std::string running_release() {
    struct utsname name = {};
    return uname(&name) == 0 ? name.release : "";
}

// The compiler may read any other file as this process's user, and its errors and types tell of it;
// a FIFO or a device would keep it for ever.
bool is_in_search_path(const std::string& header) {
    const std::filesystem::path path(header);
    return path.is_relative() && std::ranges::find(path, "..") == path.end();
}

// Fixes the release of --guest, which may be a prefix or empty (the newest).
std::optional<Result<KernelFiles>> settle_guest(Options& options) {
    if (!options.guest)
        return std::nullopt;
    Result<KernelFiles> files = find_guest_kernel(*options.guest);
    if (files && options.guest->find('/') == std::string::npos)
        options.guest = files->release;
    return files;
}

// Without debug symbols, a guest's kernel provides its own tables. A System.map tells no types.
Status ask_the_guest(KernelFiles& files) {
    if (!files.vmlinux.empty() || (!files.kallsyms.empty() && !files.btf.empty()))
        return Done{};
    GuestCallbacks callbacks;
    callbacks.progress = show_progress;
    auto facts = guest_kernel_facts(guest_kernel(files), callbacks);
    if (!facts)
        return facts.failure();
    files.kallsyms = facts->kallsyms;
    files.fentry_functions = facts->addresses.empty() ? facts->functions : facts->addresses;
    files.kprobe_blacklist = facts->blacklist;
    files.notes = facts->notes;
    files.banner = facts->version;
    if (files.btf.empty())
        files.btf = facts->btf;
    if (files.syscall_formats.empty())
        files.syscall_formats = facts->syscalls;
    return Done{};
}

} // namespace

void show_progress(const std::string& text) {
    fprintf(stderr, "djstap: %s\n", without_controls(text).c_str());
}

namespace {

// For the handler of a signal that ends djstap: it can only read what is prepared for it.
struct {
    char folder[256];
    char module[512];
    volatile sig_atomic_t armed;
} leftovers;

void remove_leftovers(int signal) {
    if (leftovers.armed) {
        unlink(leftovers.module);
        rmdir(leftovers.folder);
    }
    raise(signal); // its default action again: SA_RESETHAND
}

void catch_signals(const std::string& folder) {
    if (folder.size() >= sizeof leftovers.folder)
        return;
    strcpy(leftovers.folder, folder.c_str());
    leftovers.armed = 1;
    struct sigaction action = {};
    action.sa_handler = remove_leftovers;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        if (signal != SIGHUP || !ignores_hangup())
            sigaction(signal, &action, nullptr);
}

// Returns the program of the process of -c or -x; nothing without them. The shell runs the command
// of -c: its first word that is no assignment is taken.
std::optional<Result<std::string>> target_program(const Options& options) {
    if (options.traced_pid)
        return program_file_of_process(options.traced_pid);
    if (options.command.empty())
        return std::nullopt;
    std::istringstream words(options.command);
    std::string word;
    while (words >> word && word.find('=') != std::string::npos)
        ;
    const bool is_plain =
        !word.empty() && word.find_first_of("\"'`$\\(){};&|<>*?") == std::string::npos;
    if (!is_plain)
        return Failure{"the program that -c runs is not the first word of its command",
                       "process(\"PATH\") names the program"};
    return find_program_file(word);
}

} // namespace

WorkFolder::~WorkFolder() {
    folder_ = {};
    leftovers.armed = 0;
}

Result<std::string> WorkFolder::path() {
    if (!folder_.path().empty())
        return folder_.path();
    const std::string parent = temporary_directory();
    auto made = keep_ ? TemporaryFolder::create_to_stay(parent) : TemporaryFolder::create(parent);
    if (!made)
        return Failure{"cannot create a temporary folder such as " +
                           TemporaryFolder::pattern(parent, keep_) + ": " + strerror(errno),
                       "$TMPDIR selects another location"};
    folder_ = std::move(*made);
    if (!keep_)
        catch_signals(folder_.path());
    return folder_.path();
}

void WorkFolder::will_hold(const std::string& file) {
    if (!keep_ && file.size() < sizeof leftovers.module)
        strcpy(leftovers.module, file.c_str());
}

Invocation::Invocation(Options given)
    : options(std::move(given)), host(settle_host(options)), guest_kernel(settle_guest(options)),
      images(options.release(), show_progress,
             options.guest ? Images::Completion(ask_the_guest) : nullptr),
      writer_(STDOUT_FILENO, "standard output"), messages_(STDERR_FILENO, "the messages"),
      output_(options.listing_kind().make(
          {writer_, messages_, options.warnings, options.verbose() > 0})) {
    images.set_header_compiler([this](const Kernel& kernel, const auto& headers,
                                      AddressSpace space) -> Result<std::string> {
        const bool trusted = !options.no_system && !options.only_shows;
        if (!trusted && !std::ranges::all_of(headers, is_in_search_path))
            return Failure{std::string(options.no_system ? "with --no-system" : "in an editor") +
                               ", headers are only those in the compiler's folders, with names "
                               "like <sys/time.h>",
                           ""};
        if (space == AddressSpace::User)
            return compile_user_headers(headers);
        // Only the compiler's command is needed; but the thread that builds the kit may be waiting
        // for the passes, which wait here.
        needs.settle(std::set<std::string>());
        auto opened = open_runtime_kit(kernel, RuntimeSources{places.runtime}, show_progress,
                                       [] { return std::set<std::string>(); });
        return opened ? compile_kernel_headers(*opened, headers) : opened.failure();
    });
    if (auto target = target_program(options))
        images.set_target(std::move(*target));
    if (options.keep_work_files)
        work.keep();
    if (options.in_process) {
        images.open_programs_alone();
        images.refuse({"this requires a kernel: --runtime=process supports only entries and "
                       "returns of functions of the program and its libraries, begin, end, error, "
                       "never and timer probes",
                       "omit --runtime=process to run the script as a kernel module, which needs "
                       "root"});
    } else if (options.user_space)
        images.refuse({"this requires a kernel: --runtime=user supports only begin, end, error, "
                       "never and timer probes",
                       "omit --runtime=user; --guest needs no root"});
}

PreprocessorContext Invocation::preprocessor() {
    PreprocessorContext invocation;
    invocation.kernel_release = [this]() -> std::string {
        if (options.release().empty())
            return running_release();
        Result<KernelFiles> files = find_kernel(options.release());
        return files ? files->release : "";
    };
    invocation.kernel_config = [this](const std::string& name) -> std::string {
        // Includes a kernel whose files are incomplete, or on which the script does not run.
        if (!configuration_) {
            Result<KernelFiles> files = find_kernel(options.release());
            configuration_.emplace(files ? files->config : "");
        }
        return configuration_->value(name);
    };
    invocation.language_version = options.language_version;
    invocation.guru = options.guru;
    // Both parts of a script on many machines are parsed alike.
    if (options.user_space && options.side == SemanticsOptions::Side::Everything)
        invocation.runtime = options.in_process ? "process" : "user";
    invocation.arguments = options.arguments;
    // A module that is kept, or that stays loaded, has readers of its own.
    const auto is_shown = [](const OutputRequest& request) {
        return request.kind == &text_kind() && request.file.empty();
    };
    if (options.last_pass == 5 && !options.recorder && options.output_file.empty() &&
        (options.output_requests.empty() ||
         std::ranges::any_of(options.output_requests, is_shown)) &&
        isatty(STDOUT_FILENO))
        invocation.output = "terminal";
    return invocation;
}

Library& Invocation::tapsets() {
    if (!library_) {
        // As with SystemTap: replaces the library.
        const char* given = getenv("SYSTEMTAP_TAPSET");
        std::vector<std::string> folders = {given && *given ? given : places.tapsets};
        folders.insert(folders.end(), options.tapset_folders.begin(), options.tapset_folders.end());
        library_ = Library::open(std::move(folders), sources, preprocessor(), diagnostics);
    }
    return *library_;
}

bool Invocation::flush_output() {
    writer_.flush();
    return writer_.error() == 0;
}

void Invocation::fail(DiagnosticKind kind, const Failure& failure) {
    diagnostics.report(kind, {}, {failure.message}).hint(failure.hint);
}

void Invocation::show_diagnostics() {
    RenderOptions render_options{wants_color(options.color), options.warnings};
    std::string text;
    for (; shown_ < diagnostics.all().size(); shown_++) {
        const Diagnostic& each = diagnostics.all()[shown_];
        if (!options.warnings && info(each.kind).severity == Severity::Warning)
            continue;
        std::string message = options.diagnostics->render(each, sources, render_options);
        if (told.insert(message).second || !options.fallback)
            text += message;
    }
    write_all(STDERR_FILENO, text);
}

bool Invocation::failed() {
    // Problems of a library cannot be fixed in a script.
    auto counts = [&](const Diagnostic& each) {
        const bool of_library = each.range.valid() && sources.file(each.range.file).is_library;
        return info(each.kind).severity == Severity::Warning && !of_library &&
               each.kind != DiagnosticKind::LibraryFileSkipped &&
               each.kind != DiagnosticKind::LibraryFileUnreadable;
    };
    const bool warned = std::any_of(diagnostics.all().begin(), diagnostics.all().end(), counts);
    if (options.warnings_are_errors && warned && !diagnostics.has_errors())
        diagnostics.report(DiagnosticKind::WarningsAreErrors, {});
    return diagnostics.has_errors();
}

} // namespace djstap::driver
