// SPDX-License-Identifier: GPL-2.0-or-later
// What the agent's machine can do with scripts: what djstap --info tells.
#pragma once
#include "pmda/runs.h"

#include <string>
#include <string_view>
#include <vector>

namespace djstap::pmda {

struct InfoFact {
    std::string name; // a component of a metric's name: "kernel_headers"
    bool present = false;
    std::string value; // or what is missing
};

// Returns what can be told without djstap, which a machine that only runs modules does not have.
std::vector<InfoFact> own_facts(const Programs& programs);
// Returns the facts in what `djstap --info --output=json` has written, without those about guests;
// none if it is something else.
std::vector<InfoFact> facts_of_info(std::string_view json);

// A run of djstap --info. It reads a kernel's symbols: pmcd is answered meanwhile.
class InfoRun {
  public:
    void start(const std::string& djstap);
    // What becomes readable when it has something to say; -1: it does not run.
    int descriptor() const { return output_.get(); }
    // Reads what there is. Returns the facts at the end.
    std::optional<std::vector<InfoFact>> read();

  private:
    Process process_;
    FileDescriptor output_;
    std::string text_;
};

} // namespace djstap::pmda
