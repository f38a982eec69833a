// SPDX-License-Identifier: GPL-2.0-or-later
// The globals of one script on many machines, as one: what it would have if it had seen the hits of
// all of them.
#pragma once
#include "session/snapshot_frames.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace djstap::fleet {

// Values that have no sum, such as the last one of something: those of one machine.
struct HostValues {
    std::string host;
    std::vector<GlobalElement> elements; // by key
};

struct MergedGlobal {
    ModuleMeta::Global description;
    // Statistics, and numbers that add up (ModuleMeta::Global::adds_up): of all machines, by key.
    std::vector<GlobalElement> elements;
    std::optional<HistogramShape> shape;
    std::vector<HostValues> by_host; // others; without hosts that have none
};

// Why what is merged lacks something of a machine.
struct Missing {
    std::string host, what;
};

class Merge {
  public:
    // Names a machine of which frames are expected, or at least the reason why there are none.
    void expect(const std::string& host);
    // Takes a frame of a machine. The globals of a machine replace those that it showed before.
    void take(const std::string& host, SnapshotFrame frame);
    // Notes that no more frames come from a machine, and why; "": that it ended as it should. What
    // it showed last stays part of the values.
    void end(const std::string& host, const std::string& why);

    // Whether the machine's globals are those of the others.
    bool fits(const std::string& host) const;
    std::vector<MergedGlobal> globals() const;
    // Returns each machine of which something is missing, and what, in the order of expect().
    std::vector<Missing> missing() const;
    // Returns what all machines have printed, in the order of time, and takes it.
    std::vector<std::pair<std::string, PrintedFrame>> take_printed();

  private:
    struct Host {
        std::string name;
        std::optional<DescriptionFrame> description;
        std::optional<GlobalsFrame> last; // of globals that it has described
        mutable std::optional<bool> fits; // as known since any host was described
        std::vector<PrintedFrame> printed;
        bool was_final = false;   // its last frame has come
        bool former_runs = false; // it has been described more than once
        std::optional<std::string> ended;
        std::string error;
    };
    Host& host(const std::string& name);
    const Host* reference() const;
    bool fits(const Host& host) const;
    using Shapes = std::vector<std::optional<HistogramShape>>;
    Shapes shapes() const;
    static bool has_same_histograms(const Host& host, const Shapes& shapes);
    // `hosts`: those whose globals are merged.
    static MergedGlobal merged(uint32_t index, const ModuleMeta::Global& description,
                               const std::vector<const Host*>& hosts);

    std::vector<Host> hosts_;
    std::unordered_map<std::string, size_t> index_; // by name
};

// Returns the merged globals as a script prints its own at its end, and each value that belongs to
// one machine as NAME@HOST.
std::string text_of(const std::vector<MergedGlobal>& globals);
// Returns a line for each machine of which something is missing.
std::string text_of(const std::vector<Missing>& missing);

} // namespace djstap::fleet
