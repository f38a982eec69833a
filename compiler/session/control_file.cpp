// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/control_file.h"

#include "diagnostics/suggest.h"
#include "include/script.h"
#include "session/privilege.h"
#include "system/file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <poll.h>
#include <sys/mman.h>
#include <tuple>

namespace djstap {

namespace {

constexpr uint32_t max_cpus = 8192;
constexpr uint64_t largest_ring = uint64_t{1} << 31;
constexpr uint32_t most_symbol_pages = 1U << 16;

std::string_view fallback_reason(uint32_t fallback) {
    switch (fallback) {
    case DJS_FALLBACK_BUSY:
        return "another direct user has the function";
    case DJS_FALLBACK_FTRACE_OFF:
        return "kernel.ftrace_enabled is 0";
    case DJS_FALLBACK_TABLE_FULL:
        return "the kernel's table of direct calls is full";
    default:
        return "";
    }
}

void fill(AttachedProbe& probe, const djs_site_state& state) {
    probe.mechanism = mechanism_name(state.mechanism);
    probe.attached = state.error == 0;
    probe.reason = state.error ? std::strerror(std::abs(state.error))
                               : std::string(fallback_reason(state.fallback));
    probe.missed = state.missed;
}

// Returns the modules that a reader can attach to.
std::vector<std::string> modules_with_control_file() {
    constexpr std::string_view prefix = "djstap-";
    std::vector<std::string> names;
    std::error_code ignored;
    for (std::filesystem::directory_iterator file("/proc", ignored), end; !ignored && file != end;
         file.increment(ignored)) {
        const std::string name = file->path().filename().string();
        if (name.starts_with(prefix))
            names.push_back(name.substr(prefix.size()));
    }
    return names;
}

Failure cannot_open(const std::string& module, const std::string& path, int error) {
    if (error == ENOENT) {
        const auto names = modules_with_control_file();
        std::string hint = did_you_mean(module, names);
        if (hint.empty())
            hint = names.empty() ? "no module of djstap is loaded" : "loaded: " + names.front();
        return {"no module '" + module + "' of djstap is loaded", hint};
    }
    if (error == EBUSY)
        return {"module '" + module + "' already has a reader",
                "stop the other djstap or djrun first"};
    if (error == EACCES || error == EPERM) {
        const std::string missing = missing_privilege();
        return {"module '" + module + "' can be read only by root (CAP_SYS_ADMIN)" +
                    (missing.empty() ? "" : ": " + missing),
                privilege_hint()};
    }
    return {path + ": " + std::strerror(error), ""};
}

} // namespace

std::string mechanism_name(uint32_t mechanism) {
    const std::string name = djs_mechanism_name(mechanism);
    return name.empty() ? "mechanism " + std::to_string(mechanism) : name;
}

Result<ControlFile> ControlFile::open(const std::string& module) {
    const std::string path = "/proc/djstap-" + module;
    ControlFile control;
    control.file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!control.file_)
        return cannot_open(module, path, errno);
    const auto text = read_file(path);
    auto meta = parse_meta(text ? *text : "");
    if (!meta)
        return meta.failure();
    control.meta_ = std::move(*meta);
    if (auto mapped = control.map_all(path); !mapped)
        return mapped.failure();
    return control;
}

Status ControlFile::map_all(const std::string& path) {
    void* page = mmap(nullptr, DJS_PAGE, PROT_READ, MAP_SHARED, file_.get(), 0);
    if (page == MAP_FAILED)
        return Failure{path + ": cannot be mapped: " + std::strerror(errno), ""};
    page_ = static_cast<const djs_control_page*>(page);
    ring_bytes_ = page_->ring_bytes;
    if (page_->abi_version != DJS_ABI_VERSION)
        return Failure{path + ": the module has version " + std::to_string(page_->abi_version) +
                           " of the interface, this program has version " +
                           std::to_string(DJS_ABI_VERSION),
                       "use djstap and djrun of the same release"};
    if (ring_bytes_ < DJS_PAGE || ring_bytes_ > largest_ring || (ring_bytes_ & (ring_bytes_ - 1)) ||
        page_->cpus > max_cpus)
        return Failure{path + ": the module's buffers have an invalid size", ""};
    for (uint32_t cpu = 0; cpu < page_->cpus; cpu++) {
        auto ring = map_ring(cpu, path);
        if (!ring)
            return ring.failure();
        if (ring->base)
            rings_.push_back(*ring);
    }
    return map_symbols(path);
}

Status ControlFile::map_symbols(const std::string& path) {
    if (page_->symbol_pages == 0)
        return Done{};
    if (page_->symbol_pages > most_symbol_pages)
        return Failure{path + ": the module's table of symbols has an invalid size", ""};
    const uint64_t bytes = uint64_t{page_->symbol_pages} * DJS_PAGE;
    void* symbols = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file_.get(),
                         static_cast<off_t>(DJS_MMAP_SYMBOLS(page_->cpus, ring_bytes_)));
    if (symbols == MAP_FAILED)
        return Failure{path + ": the table of symbols cannot be mapped: " + std::strerror(errno),
                       ""};
    symbols_ = symbols;
    symbol_bytes_ = bytes;
    return Done{};
}

Symbols ControlFile::symbols() const {
    if (!symbols_)
        return {};
    return {symbols_, symbol_bytes_, [file = file_.get()] { ioctl(file, DJS_IOC_SYMBOLS); }};
}

// Returns a null base for a CPU that can never exist.
Result<ControlFile::RingMapping> ControlFile::map_ring(uint32_t cpu, const std::string& path) {
    const size_t whole = DJS_PAGE + 2 * ring_bytes_;
    const off_t offset = static_cast<off_t>(DJS_MMAP_RING(cpu, ring_bytes_));
    void* room = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return Failure{path + ": not enough memory to map the buffers: " + std::strerror(errno),
                       "use smaller buffers (-s)"};
    char* base = static_cast<char*>(room);
    constexpr int access = PROT_READ | PROT_WRITE, how = MAP_SHARED | MAP_FIXED;
    if (mmap(base, DJS_PAGE + ring_bytes_, access, how, file_.get(), offset) == MAP_FAILED ||
        mmap(base + DJS_PAGE + ring_bytes_, ring_bytes_, access, how, file_.get(),
             offset + DJS_PAGE) == MAP_FAILED) {
        const int error = errno;
        munmap(base, whole);
        if (error == EINVAL)
            return RingMapping{nullptr, cpu};
        return Failure{path + ": a buffer cannot be mapped: " + std::strerror(error), ""};
    }
    return RingMapping{base, cpu};
}

ControlFile::~ControlFile() {
    for (const RingMapping& ring : rings_)
        munmap(ring.base, DJS_PAGE + 2 * ring_bytes_);
    if (symbols_ && file_) // not moved away
        munmap(symbols_, symbol_bytes_);
    if (page_ && file_)
        munmap(const_cast<djs_control_page*>(page_), DJS_PAGE);
}

std::vector<Ring> ControlFile::rings() const {
    std::vector<Ring> all;
    for (const RingMapping& ring : rings_)
        all.emplace_back(reinterpret_cast<uint64_t*>(ring.base), ring.base + DJS_PAGE, ring_bytes_,
                         ring.cpu);
    return all;
}

Snapshot ControlFile::snapshot(bool live) const {
    Snapshot snapshot;
    for (const RingMapping& ring : rings_) {
        const auto& page = *reinterpret_cast<const djs_ring_page*>(ring.base);
        if (live)
            snapshot.add_live(page, ring.base + DJS_PAGE, ring_bytes_, ring.cpu);
        else
            snapshot.add_still(page, ring.base + DJS_PAGE, ring_bytes_, ring.cpu);
    }
    return snapshot;
}

int ControlFile::start(int traced_pid, bool executes) const {
    djs_start start{};
    start.traced_pid = traced_pid;
    start.flags = executes ? DJS_START_EXECUTES : 0;
    return ioctl(file_.get(), DJS_IOC_START, &start) == 0 ? 0 : errno;
}

int ControlFile::stop() const {
    int error;
    do
        error = ioctl(file_.get(), DJS_IOC_STOP) == 0 ? 0 : errno;
    while (error == EINTR);
    return error;
}

int ControlFile::switch_probe(uint32_t probe, bool on) const {
    djs_switch wanted{};
    wanted.probe = probe;
    wanted.on = on;
    return ioctl(file_.get(), DJS_IOC_SWITCH, &wanted) == 0 ? 0 : errno;
}

std::optional<djs_counts> ControlFile::counts() const {
    djs_counts counts{};
    if (ioctl(file_.get(), DJS_IOC_COUNTS, &counts) != 0)
        return std::nullopt;
    return counts;
}

void ControlFile::report(const djs_counts& counts, Output& output) const {
    output.counts(counts);
    if (counts.skipped_kretprobe || counts.skipped_kprobe)
        if (const auto line = describe_missed(probes(false)))
            output.warning(*line);
}

std::optional<djs_site_state> ControlFile::site(size_t index) const {
    djs_site_state state{};
    state.index = static_cast<uint32_t>(index);
    if (ioctl(file_.get(), DJS_IOC_SITE, &state) != 0)
        return std::nullopt;
    return state;
}

std::vector<AttachedProbe> ControlFile::probes(bool all) const {
    std::vector<AttachedProbe> found;
    for (const auto& planned : meta_.probes) {
        AttachedProbe probe;
        probe.point = planned.point;
        probe.planned = planned.mechanism;
        probe.mechanism = planned.mechanism;
        if (const auto state = site(found.size()))
            fill(probe, *state);
        found.push_back(std::move(probe));
    }
    if (all)
        add_unlisted(found);
    return found;
}

void ControlFile::add_unlisted(std::vector<AttachedProbe>& probes) const {
    std::map<std::tuple<uint32_t, uint32_t, int32_t>, AttachedProbe> kinds;
    for (size_t index = probes.size();; index++) {
        const auto state = site(index);
        if (!state)
            break;
        auto [kind, first] = kinds.try_emplace({state->mechanism, state->fallback, state->error});
        AttachedProbe& probe = kind->second;
        const uint64_t missed = probe.missed;
        probe.sites += !first;
        fill(probe, *state);
        probe.missed += missed;
    }
    for (auto& kind : kinds)
        probes.push_back(std::move(kind.second));
}

void ControlFile::wait(int milliseconds) const {
    pollfd poll_for{file_.get(), POLLIN, 0};
    poll(&poll_for, 1, milliseconds);
}

} // namespace djstap
