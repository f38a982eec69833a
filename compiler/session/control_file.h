// SPDX-License-Identifier: GPL-2.0-or-later
// /proc/djstap-NAME of a loaded module, opened by its reader.
#pragma once
#include "diagnostics/result.h"
#include "include/control.h"
#include "session/meta.h"
#include "session/output.h"
#include "session/ring.h"
#include "session/snapshot.h"
#include "session/symbols.h"
#include "system/descriptor.h"

#include <optional>
#include <string>
#include <vector>

namespace djstap {

class ControlFile {
  public:
    // Opens it as its owner, reads the description, maps the control page and every CPU's ring.
    static Result<ControlFile> open(const std::string& module);
    ControlFile(ControlFile&& other) noexcept = default;
    ControlFile& operator=(ControlFile&&) = delete;
    ~ControlFile();

    const ModuleMeta& meta() const { return meta_; }
    std::vector<Ring> rings() const;
    // Returns the symbols of the addresses in its records; valid as long as the file.
    Symbols symbols() const;
    // When the module was loaded.
    const djs_clock& clock() const { return page_->clock; }
    uint32_t state() const { return __atomic_load_n(&page_->state, __ATOMIC_ACQUIRE); }
    bool exit_requested() const {
        return __atomic_load_n(&page_->exit_requested, __ATOMIC_ACQUIRE);
    }
    // Returns whether it is a flight recorder, which is read by snapshots.
    bool is_recorder() const { return page_->overwrite != 0; }
    // Returns what all rings hold now. `live`: handlers may be writing.
    Snapshot snapshot(bool live) const;
    bool failed() const { return __atomic_load_n(&page_->error, __ATOMIC_ACQUIRE); }

    // Both block until the module has finished; return 0 or errno.
    // `executes`: the process has not executed its program yet.
    int start(int traced_pid, bool executes) const;
    int stop() const;
    std::optional<djs_counts> counts() const;
    // Tells the output about them, and which of the probes missed hits.
    void report(const djs_counts& counts, Output& output) const;
    // Switches a probe off or on; returns 0 or errno.
    int switch_probe(uint32_t probe, bool on) const;
    // Returns the probes that the module lists. `all`: also the others, one element for all that
    // are attached in the same way.
    std::vector<AttachedProbe> probes(bool all) const;
    // Returns after `milliseconds`, or earlier if the session must end or a signal arrives.
    void wait(int milliseconds) const;

  private:
    struct RingMapping {
        char* base; // the tail's page, the data, the data again
        uint32_t cpu;
    };
    ControlFile() = default;
    Status map_all(const std::string& path);
    Status map_symbols(const std::string& path);
    // Returns nothing if the module has no site with this number.
    std::optional<djs_site_state> site(size_t index) const;
    void add_unlisted(std::vector<AttachedProbe>& probes) const;
    Result<RingMapping> map_ring(uint32_t cpu, const std::string& path);

    FileDescriptor file_;
    ModuleMeta meta_;
    const djs_control_page* page_ = nullptr;
    uint64_t ring_bytes_ = 0;
    void* symbols_ = nullptr; // null: the module has none
    uint64_t symbol_bytes_ = 0;
    std::vector<RingMapping> rings_;
};

// Returns "djprobe", "kprobe", …: the name of an enum djs_mechanism.
std::string mechanism_name(uint32_t mechanism);

} // namespace djstap
