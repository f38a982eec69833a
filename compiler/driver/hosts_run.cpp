// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/hosts_run.h"

#include "diagnostics/plain_text.h"
#include "driver/controller_part.h"
#include "driver/hosts_clock.h"
#include "driver/hosts_modules.h"
#include "driver/hosts_output.h"
#include "driver/hosts_steps.h"
#include "driver/passes.h"
#include "fleet/merge.h"
#include "hosts/fan_out.h"
#include "hosts/printed_order.h"
#include "session/output_request.h"
#include "session/signals.h"
#include "session/writer.h"

#include <algorithm>
#include <cerrno>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace djstap::driver {

namespace {

using hosts::Connection;
using hosts::Stage;
using Clock = Connection::Clock;

// Records of a host that wait for others; then it is not read for a while.
constexpr size_t most_waiting = 1 << 20;
// Snapshots come every second: a host that is silent for longer holds nobody up.
constexpr auto order_patience = std::chrono::seconds(3);
constexpr std::chrono::milliseconds longest_wait{100};

// Four descriptors a host.
void allow_many_files() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

// "djstap: web1: TEXT" on standard error.
void tell(const std::string& host, const std::string& text) {
    show_progress(host + ": " + text);
}

class HostsRun {
  public:
    explicit HostsRun(Invocation& invocation)
        : invocation_(invocation), options_(invocation.options),
          fan_out_(options_.hosts,
                   {options_.remote_shell.empty() ? hosts::RemoteShell()
                                                  : hosts::RemoteShell(options_.remote_shell),
                    options_.host_timeout},
                   {[this](size_t host, SnapshotFrame frame) { take(host, std::move(frame)); },
                    [this](size_t host, const std::string& line) { take_error(host, line); },
                    [this](size_t host) { return order_.waiting(host) < most_waiting; },
                    [] { return StopSignals::stop_requested(); }}),
          order_(options_.hosts.size(), order_patience), told_(options_.hosts.size()) {
        for (const hosts::Node& node : options_.hosts)
            merge_.expect(node.name);
    }

    std::optional<int> run();

  private:
    const std::string& name(size_t host) const { return options_.hosts[host].name; }
    void take(size_t host, SnapshotFrame frame);
    void take_error(size_t host, const std::string& line) const;
    void tell_losses();
    void tell_clocks() const;
    bool compile();
    void run_all();
    hosts::PrintedOrder::Print printer();
    void print_in_order();
    bool finish();

    Invocation& invocation_;
    const Options& options_;
    hosts::FanOut fan_out_;
    hosts::PrintedOrder order_;
    fleet::Merge merge_;
    std::vector<bool> told_;        // of its end
    std::vector<OutputFile> files_; // one
    std::optional<Writer> writer_;
    std::unique_ptr<HostsOutput> output_;
    ControllerPart part_{invocation_};
    HostsModules modules_{invocation_, fan_out_};
    // The names of the globals that each host has described.
    std::vector<std::vector<std::string>> names_{options_.hosts.size()};
    bool is_faulty_ = false; // the script has errors
    HostsSteps steps_{options_.verbose() > 0};
};

void HostsRun::take(size_t host, SnapshotFrame frame) {
    const auto here = [&](uint64_t realtime_ns) {
        return static_cast<int64_t>(realtime_ns) - fan_out_.host(host).clock().ns;
    };
    if (auto* printed = std::get_if<PrintedFrame>(&frame)) {
        order_.take(host, here(printed->realtime_ns), std::move(printed->text), Clock::now());
        return;
    }
    if (const auto* description = std::get_if<DescriptionFrame>(&frame)) {
        names_[host].clear();
        for (const ModuleMeta::Global& global : description->globals)
            names_[host].push_back(global.name);
    }
    if (const auto* globals = std::get_if<GlobalsFrame>(&frame)) {
        order_.reach(host, here(globals->realtime_ns), Clock::now());
        // What is told to be missing is not added, either.
        if (merge_.fits(name(host)))
            part_.add_taken(names_[host], *globals);
    } else if (auto* message = std::get_if<MessageFrame>(&frame)) {
        for (std::string* text : {&message->text, &message->place})
            *text = without_controls(*text);
        if (message->is_error || options_.warnings)
            tell(name(host), (message->is_error ? "error: " : "warning: ") + message->text +
                                 (message->place.empty() ? "" : " near " + message->place));
        if (message->is_error || options_.warnings)
            output_->message(name(host), message->is_error, message->text, message->place);
    }
    merge_.take(name(host), std::move(frame));
}

// What a host says is shown as the reason if it fails.
void HostsRun::take_error(size_t host, const std::string& line) const {
    if (options_.verbose() > 0)
        tell(name(host), line);
}

// Tells of each host that is lost, when that is noticed.
void HostsRun::tell_losses() {
    for (size_t i = 0; i < fan_out_.size(); i++) {
        const Stage stage = fan_out_.host(i).stage();
        if (stage == Stage::Leaving)
            order_.end(i);
        if (told_[i] || stage != Stage::Ended)
            continue;
        told_[i] = true;
        order_.end(i);
        const auto& failure = fan_out_.host(i).failure();
        if (failure)
            tell(name(i), *failure);
        merge_.end(name(i), failure.value_or(""));
    }
}

void HostsRun::tell_clocks() const {
    for (size_t i = 0; i < fan_out_.size(); i++) {
        const hosts::ClockOffset& clock = fan_out_.host(i).clock();
        if (fan_out_.host(i).stage() == Stage::Known &&
            (is_notable(clock) || options_.verbose() > 0))
            tell(name(i), clock_text(clock));
    }
}

// Returns false if nothing can run.
bool HostsRun::compile() {
    const auto release = modules_.any_release();
    if (!release)
        return false;
    is_faulty_ = !part_.compile(*release, *writer_);
    if (is_faulty_)
        return false;
    const bool is_right = modules_.compile();
    is_faulty_ = !is_right && modules_.empty();
    return !modules_.empty();
}

hosts::PrintedOrder::Print HostsRun::printer() {
    return [this](size_t host, int64_t time_ns, const std::string& text) {
        output_->printed(name(host), time_ns, text);
    };
}

void HostsRun::print_in_order() {
    order_.pass(Clock::now(), printer());
}

// Loads the module everywhere, starts it when all have it, and reads until it ends.
void HostsRun::run_all() {
    for (size_t i = 0; i < fan_out_.size(); i++)
        if (fan_out_.host(i).stage() == Stage::Ready)
            fan_out_.host(i).load("host=" + name(i), Clock::now());
    fan_out_.wait_for(Stage::Loaded);
    steps_.done("load");
    tell_losses();
    if (StopSignals::stop_requested())
        return;
    size_t running = 0;
    for (size_t i = 0; i < fan_out_.size(); i++) {
        if (fan_out_.host(i).stage() != Stage::Loaded)
            continue;
        fan_out_.host(i).go(Clock::now());
        order_.begin(i, Clock::now());
        running++;
    }
    if (running)
        show_progress("running on " + std::to_string(running) + " of " +
                      std::to_string(fan_out_.size()) + " hosts");
    else
        return;
    part_.begin();
    const auto began = Clock::now();
    const auto limit = std::chrono::milliseconds(static_cast<int64_t>(options_.seconds * 1e3));
    while (fan_out_.is_anyone_before(Stage::Ended) && !StopSignals::stop_requested() &&
           !writer_->error() && !part_.is_over()) {
        auto wait = longest_wait;
        if (limit.count()) {
            const auto left =
                limit - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
            if (left.count() <= 0)
                return;
            wait = std::min(wait, left);
        }
        fan_out_.serve(wait);
        tell_losses();
        if (steps_.last() == "load" && order_.has_heard_all())
            steps_.done("first snapshots");
        print_in_order();
        if (part_.run_timers(merge_) && steps_.last() == "first snapshots")
            steps_.done("merge");
        writer_->flush();
    }
}

// Prints what is left, and what is missing. Returns whether nothing is.
bool HostsRun::finish() {
    order_.pass_all(printer());
    const bool all_right = part_.finish(merge_);
    const auto& unread = part_.unread_by_host();
    auto globals = merge_.globals();
    std::erase_if(globals, [&](const fleet::MergedGlobal& each) {
        return std::ranges::find(unread, each.description.name) == unread.end();
    });
    output_->values(globals);
    const auto missing = merge_.missing();
    for (const fleet::Missing& each : missing)
        output_->missing(each);
    writer_->flush();
    for (const fleet::Missing& each : missing)
        invocation_.diagnostics.report(DiagnosticKind::HostMissing, {}, {each.host, each.what});
    const bool is_written = !writer_->error() || writer_->error() == EPIPE; // the reader is gone
    if (!is_written)
        invocation_.fail(DiagnosticKind::WorkFiles, unwritable(writer_->name(), writer_->error()));
    return missing.empty() && all_right && is_written;
}

std::optional<int> HostsRun::run() {
    // An error in the script needs no host to be found.
    {
        Options options = options_;
        options.hosts.clear();
        options.last_pass = 1;
        options.warnings = false;
        Invocation first(std::move(options));
        if (!parse_script(first))
            return std::nullopt;
    }
    const OutputRequest request =
        options_.output_requests.empty() ? OutputRequest() : options_.output_requests.front();
    auto files = open_outputs(options_.outputs());
    if (!files) {
        invocation_.fail(DiagnosticKind::WorkFiles, files.failure());
        return std::nullopt;
    }
    files_ = std::move(*files);
    const OutputFile& file = files_.front();
    writer_.emplace(file.fd(), file.path.empty() ? "the output" : file.path);
    output_ = make_hosts_output(*request.kind, *writer_);
    allow_many_files();
    {
        const StopSignals signals;
        fan_out_.call(Stage::Connected);
        steps_.done("connect");
        fan_out_.wait_for(Stage::Known);
        steps_.done("facts");
        tell_losses();
        tell_clocks();
        if (!StopSignals::stop_requested() && compile()) {
            steps_.done("compile");
            tell_losses();
            modules_.push();
            steps_.done("push");
            tell_losses();
            if (const Status begun = empty_outputs(files_); !begun) {
                invocation_.fail(DiagnosticKind::WorkFiles, begun.failure());
                is_faulty_ = true;
            } else if (!StopSignals::stop_requested()) {
                run_all();
            }
        }
        fan_out_.stop();
    }
    if (is_faulty_)
        return std::nullopt; // the hosts clean up
    {
        // Another Ctrl-C does not wait for the hosts: they clean up by themselves.
        const StopSignals signals;
        while (fan_out_.is_anyone_before(Stage::Ended) && !StopSignals::stop_requested()) {
            fan_out_.serve(longest_wait);
            print_in_order();
        }
    }
    for (size_t i = 0; i < fan_out_.size(); i++)
        fan_out_.host(i).give_up("djstap did not wait for it");
    tell_losses();
    return finish() ? 0 : 1;
}

} // namespace

std::optional<int> run_on_hosts(Invocation& invocation) {
    return HostsRun(invocation).run();
}

} // namespace djstap::driver
