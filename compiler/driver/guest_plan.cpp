// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/guest_plan.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace djstap::driver {

namespace {

// The size of buffers that a guest of the usual memory size can hold.
constexpr unsigned usual_memory_mb = 512, usual_buffers_mb = 64;

} // namespace

std::vector<std::string> reader_command(const Options& options, const std::string& djrun,
                                        const std::string& module) {
    std::vector<std::string> words = {djrun};
    if (!options.command.empty())
        words.insert(words.end(), {"-c", options.command});
    // The files are this machine's: the guest's reader sends what belongs into them.
    const bool has_files = std::ranges::any_of(
        options.output_requests, [](const auto& request) { return !request.file.empty(); });
    if (has_files || !options.output_file.empty())
        words.insert(words.end(), {"--channels", guest_trace_file});
    if (!options.output_file.empty())
        words.insert(words.end(), {"-o", options.output_file});
    for (const OutputRequest& request : options.output_requests)
        words.push_back("--output=" + std::string(request.kind->name) +
                        (request.file.empty() ? "" : ":" + request.file));
    if (options.seconds > 0)
        words.insert(words.end(), {"-T", std::to_string(options.seconds)});
    if (options.buffer_megabytes)
        words.insert(words.end(), {"-s", std::to_string(options.buffer_megabytes)});
    if (!options.warnings)
        words.push_back("-w");
    if (options.verbosity[4] > 0)
        words.push_back("-v");
    words.push_back(module);
    return words;
}

unsigned guest_memory_mb(const Options& options, const Limits& limits, unsigned cpus) {
    if (options.guest_memory_mb)
        return options.guest_memory_mb;
    const auto buffers = static_cast<unsigned>(limits.RING_KB * cpus / 1024);
    if (buffers <= usual_buffers_mb)
        return usual_memory_mb;
    // In coarse steps, because each size has a saved state.
    return usual_memory_mb * (1 + (buffers + usual_memory_mb - 1) / usual_memory_mb);
}

void add_files(GuestJob& job, const std::vector<FileToCopy>& files) {
    for (const FileToCopy& file : files) {
        const bool known = std::ranges::any_of(
            job.files, [&](const FileToCopy& each) { return each.guest_path == file.guest_path; });
        if (!known)
            job.files.push_back(file);
    }
}

void be_patient(GuestJob& job, unsigned long times) {
    times = std::clamp(times, 1UL, 100UL);
    for (auto* timeout : {&job.boot_timeout, &job.restore_timeout, &job.silence_timeout})
        *timeout *= times;
}

bool is_seen_in_guest(const std::string& path) {
    constexpr std::string_view own[] = {"/dev/", "/proc/", "/sys/"};
    return std::none_of(std::begin(own), std::end(own),
                        [&](std::string_view folder) { return path.starts_with(folder); });
}

void GuestOutput::begin() {
    if (file_.descriptor && ftruncate(file_.fd(), 0) != 0 && errno != EINVAL)
        error_ = errno;
}

bool GuestOutput::write(std::string_view bytes) {
    if (!error_)
        error_ = write_to_reader(file_.fd(), bytes);
    return !error_;
}

void GuestOutput::next_file() {
    if (!file_.path.empty() && !error_)
        error_ = open_next_output(file_.path, ++files_, file_.fd());
}

std::optional<Failure> GuestOutput::failure() const {
    if (!error_ || error_ == EPIPE)
        return std::nullopt;
    return unwritable(file_.path.empty() ? "the output" : file_.path, error_);
}

GuestChannels::GuestChannels(std::vector<OutputFile> files) {
    for (OutputFile& file : files)
        outputs_.emplace_back(std::move(file));
}

void GuestChannels::begin() {
    if (!std::exchange(begun_, true))
        std::ranges::for_each(outputs_, &GuestOutput::begin);
}

bool GuestChannels::write(std::string_view bytes) {
    begin();
    while (!bytes.empty()) {
        if (left_ == 0) {
            const size_t missing = sizeof header_ - known_;
            const size_t taken = std::min(missing, bytes.size());
            std::memcpy(reinterpret_cast<char*>(&header_) + known_, bytes.data(), taken);
            bytes.remove_prefix(taken);
            known_ += taken;
            if (known_ == sizeof header_) {
                known_ = 0;
                left_ = header_.bytes;
                const uint32_t channel = header_.channel & ~PieceHeader::next_file;
                if (channel != header_.channel && channel < outputs_.size())
                    outputs_[channel].next_file();
            }
            continue;
        }
        const size_t taken = std::min<size_t>(left_, bytes.size());
        if (header_.channel < outputs_.size())
            outputs_[header_.channel].write(bytes.substr(0, taken));
        bytes.remove_prefix(taken);
        left_ -= static_cast<uint32_t>(taken);
    }
    return !failure() && !std::ranges::all_of(outputs_, &GuestOutput::is_closed);
}

std::optional<Failure> GuestChannels::failure() const {
    for (const GuestOutput& output : outputs_)
        if (auto failure = output.failure())
            return failure;
    return std::nullopt;
}

} // namespace djstap::driver
