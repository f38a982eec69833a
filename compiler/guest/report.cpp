// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/guest.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace djstap {

namespace {

const char* end_of(const GuestOutcome& outcome) {
    switch (outcome.state) {
    case GuestOutcome::Exited:
        return "exited";
    case GuestOutcome::Lost:
        return "lost";
    case GuestOutcome::EmulatorDied:
        return "emulator-died";
    }
    return "";
}

// A single write, because other runs may append to the same file.
void add_line(const nlohmann::json& line) {
    const char* path = getenv("DJSTAP_REPORT");
    if (!path || !*path)
        return;
    const std::string text =
        line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    const FileDescriptor file(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        perror(path);
}

} // namespace

void report_guest(const GuestJob& job, const Result<GuestOutcome>& outcome) {
    nlohmann::json line = {{"kernel", job.kernel.release}};
    if (outcome)
        line.update({{"end", end_of(*outcome)},
                     {"reason", outcome->reason},
                     {"exit_code", outcome->exit_code},
                     {"complaint", outcome->complaint},
                     {"log", outcome->kernel_log}});
    else
        line.update({{"end", "not-started"}, {"reason", outcome.failure().message}});
    add_line(line);
}

void report_begin() {
    add_line({{"begins", true}});
}

void report_status(int status) {
    add_line({{"status", status}});
}

} // namespace djstap
