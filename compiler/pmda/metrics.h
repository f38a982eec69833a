// SPDX-License-Identifier: GPL-2.0-or-later
// What Performance Co-Pilot sees: a metric for each number that a script shows, with the names
// djstap.SCRIPT.GLOBAL…, and djstap.agent… about the scripts themselves.
#pragma once
#include "session/snapshot_frames.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <pcp/pmapi.h>
#include <pcp/pmda.h>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace djstap::pmda {

// How a script is doing.
struct ScriptStatus {
    std::string state = "waiting"; // "waiting", "running", "ended", "failed", "refused"
    std::string message;           // the last error or warning
    std::string owner = "root";    // or the user who has stored it
    uint64_t starts = 0, snapshots = 0, incomplete = 0;
    djs_counts counts{};
};

// The unit and the kind of a global that its comment tells in brackets: "[bytes]", "[counter, ms]".
struct Meaning {
    pmUnits units{};
    bool is_counter = false;
};
Meaning meaning_of(std::string_view description);

// Returns a text as a component of a metric's name: letters, digits and _, a letter first.
std::string name_component(std::string_view text);
// Returns the components of a script's globals, which all differ: where that of _n would be that of
// x_n, it is xx_n. A global whose name is a component has it, whatever others there are.
std::vector<std::string> name_components(const std::vector<std::string>& globals);
// Returns the name of an element's instance: its keys with commas between them. Blanks, control
// characters, % and commas of a text are %XX, so that different keys have different names, which
// end at no blank.
std::string instance_name(std::string_view keys);

struct InfoFact;

// What a metric tells about the agent and its machine.
enum class Fact : uint8_t {
    Version,
    Release,
    BuildId,
    Store, // whether the client may store scripts; what is stored to
    Stores,
    Refusals,
};

class Metrics {
  public:
    // `domain`: of the agent.
    explicit Metrics(int domain);
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    // Adds a script, or returns the one with this name.
    ScriptStatus& script(const std::string& name);
    // Takes the description of a script: its metrics exist from now on, without values.
    void describe(const std::string& script, const DescriptionFrame& description);
    // Takes a script's values.
    void show(const std::string& script, GlobalsFrame frame);
    // Drops the values of a script that does not run.
    void forget_values(const std::string& script);
    // Drops a script.
    void remove(const std::string& script);

    // Sets a fact: a text, or a number for those that count. An empty text has no value.
    void tell(Fact fact, std::string text) { facts_.at(static_cast<size_t>(fact)).text = text; }
    void count(Fact fact) { facts_.at(static_cast<size_t>(fact)).number++; }
    pmID id_of(Fact fact) const;
    // Adds what the machine can do; a fact of a name that is known is another source's of the same.
    void add_info(const std::vector<InfoFact>& facts);

    // The callbacks of libpcp_pmda. publish() makes new names and descriptions known first.
    void publish(pmdaExt& extension);
    // Makes the result of a fetch, of the instances that `profile` asks for. It is valid until the
    // next one, and nobody frees it.
    pmResult* fetch(std::span<const pmID> asked, const pmProfile* profile);
    // Returns the help text of a metric.
    std::optional<std::string> help(pmID metric, bool brief) const;
    pmdaNameSpace* names() const { return names_; }

  private:
    enum class Part : uint8_t { Value, Count, Sum, Min, Max, Average, Buckets };
    enum class Of : uint8_t {
        State,
        Message,
        Owner,
        Starts,
        Snapshots,
        Incomplete,
        Lost,
        Skipped,
        Errors
    };

    // Of each fact of djstap --info.
    enum class Info : uint8_t { Present, Value };

    // An instance that has a value: an element, or one bucket of it.
    struct Instance {
        int number = PM_IN_NULL;
        uint32_t element = 0, bucket = 0;
    };
    // The instances of one kind: elements, or buckets of elements.
    struct Instances {
        pmInDom domain = PM_INDOM_NULL;
        std::vector<Instance> active;
        std::set<std::string> known; // buckets that were not empty: by number and element
    };
    struct Global {
        ModuleMeta::Global description;
        std::string leaf; // in metrics' names
        Instances elements, buckets;
        std::vector<std::string> keys; // of the elements, in the order of the last values
        GlobalValues values;
    };
    struct Script {
        std::string name; // in metrics' names
        int instance = 0;
        uint32_t cluster = 0;
        ScriptStatus status;
        std::vector<std::unique_ptr<Global>> globals;
        std::map<std::string, uint32_t> items; // of metrics: they stay the same
        bool has_values = false;
    };
    struct Metric {
        std::string name, help;
        pmDesc description{};
        const Script* script = nullptr; // null: of all scripts, or of the machine
        const Global* global = nullptr;
        Part part = Part::Value;
        std::optional<Fact> fact;
        std::optional<Of> of;
        std::optional<Info> info;
    };
    struct InfoValue {
        bool present = false;
        std::string text;
    };

    pmInDom domain_of_instances() { return pmInDom_build(domain_, next_serial_++); }
    void add_fixed(const char* name, uint32_t item, Metric metric, int type, pmUnits units, int sem,
                   const char* help);
    void add(Script& script, const Global& global, Part part, const std::string& suffix);
    void rebuild();
    static void forget_former(const Instances& instances);
    static void place_elements(Global& global);
    static void place_buckets(Global& global);
    // A value on its way into a result.
    using Value = std::variant<int64_t, uint64_t, const std::string*>;
    // Calls `take` with the number of each instance and its value. Returns an error of PCP's, or 0.
    template <class Take> int each_value(const Metric& metric, const Take& take) const;
    static Value value_of(const Script& script, Of of);
    static Value value_of(const Metric& metric, const GlobalElement& element, uint32_t bucket);

    struct FactValue {
        std::string text;
        uint64_t number = 0;
    };

    int domain_;
    std::array<FactValue, 6> facts_{};
    std::map<int, InfoValue> info_; // by instance
    std::map<std::string, std::unique_ptr<Script>> scripts_;
    std::map<uint32_t, std::string> clusters_; // that are in use, and by which script
    unsigned next_serial_ = 0;                 // before what takes the first one
    pmInDom script_domain_, info_domain_;
    std::deque<Metric> metrics_; // addresses stay valid until rebuild()
    std::unordered_map<pmID, const Metric*> by_id_;
    std::vector<pmdaMetric> table_;
    pmdaNameSpace* names_ = nullptr;
    bool changed_ = true;
    std::vector<char> result_; // of the last fetch
};

} // namespace djstap::pmda
