// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of the runtime that a kit may lack until a script needs them, as runtime/Kbuild lists
// them: mechanisms, storage of globals, stacks, functions of the tapsets. Everything else is in
// every kit.
#pragma once
#include "module/kit_build.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace djstap::module {

// A source that includes others.
struct Unit {
    SourceFile source;
    bool cold = false; // handlers do not execute its code

    std::string name() const { return source.name.substr(0, source.name.rfind('.')); }
};

using PartNames = std::set<std::string>;

class Parts {
  public:
    explicit Parts(const std::vector<SourceFile>& sources);

    const PartNames& all() const { return all_; }

    // Returns the parts that define these symbols, and all parts that those cannot do without.
    PartNames providing(const std::set<std::string>& symbols) const;

    // Returns the units of these parts, one of each kind of objects that they have, the one that
    // takes longest first; `common`: with what every kit contains. `suffix` makes their names
    // unique in a kit.
    std::vector<Unit> units(const PartNames& parts, bool common, const std::string& suffix) const;

    // Returns what others refer to in parts that are not `present`.
    std::set<std::string> replaced(const PartNames& present) const;

  private:
    using Words = std::vector<std::string>;
    struct Variable {
        std::string name, part; // "handler-objects" of no part, "absent" of "timer"
        Words words;
    };

    const Words* find(std::string_view name, std::string_view part) const;
    bool defines(const std::string& part, const std::string& symbol) const;

    const std::vector<SourceFile>& sources_;
    std::vector<Variable> variables_;
    std::vector<std::string> kinds_; // of objects, in the order of the list
    PartNames all_;
};

// Returns the C source of stand-ins: functions that do nothing and return 0, and operations of
// mechanisms that are all NULL. It includes no header; types do not matter.
std::string stand_ins(const std::set<std::string>& symbols);

// Divides the sources into units that can be compiled at once, the one that takes longest first: by
// the lists of Kbuild, which give every object but the stub once, else by combine_sources().
std::vector<Unit> divide_sources(const std::vector<SourceFile>& sources);

} // namespace djstap::module
