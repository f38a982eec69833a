// SPDX-License-Identifier: GPL-2.0-or-later
// Where the kernel may make a kprobe a jump, and where that would crash it (docs/regions.md).
#pragma once
#include "diagnostics/diagnostic.h"
#include "probes/images.h"
#include "probes/plan.h"

#include <map>
#include <memory>
#include <string>

namespace djstap {

// What contains a site: the kernel, a program, or the module in this file.
struct CodeFile {
    ImageKind kind = ImageKind::Kernel;
    std::string path = {};
};

// What the region analysis says about the kprobes of a script, and about jumps in a process.
// Analyzes the whole kernel, module or program at the first question about it, and keeps what it
// found; the kernel takes a second.
class JumpVerdicts {
  public:
    explicit JumpVerdicts(Images& images);
    ~JumpVerdicts();

    // Returns "a jump is safe here" or why there is none, for listings; "" if the site has no
    // kprobe. For jumps in a process: "not probed: " and why; "" if they can be planted.
    std::string of(const Site& site, const CodeFile& in);
    // Returns why the jumps of a site in a process cannot be planted; "" if they can.
    std::string objection(const Site& site, const CodeFile& in);
    // Returns why a jump must not be forced; "" if it may, or if the breakpoint stays one.
    std::string refusal(const Site& site, const CodeFile& in);
    // Returns the bytes that the jump would replace, as they must be in the running kernel for the
    // verdict to be about them, and as many that are 0 where a module's loader writes there, else
    // 0xff; "" if none may be planted: the runtime then keeps the breakpoint.
    std::string replaced_bytes(const Site& site, const CodeFile& in);

  private:
    std::string at_entry(const Site& site, const CodeFile& in);
    std::string at_returns(const Site& site, const CodeFile& in);
    struct State;
    const State& state(const CodeFile& in);

    Images& images_;
    std::map<std::string, std::unique_ptr<State>> states_; // by the file; "": the kernel
};

// Sets what the listings tell of each kprobe of the plan (Site::jump).
void describe_jumps(ProbePlan& plan, Images& images);

// Reports each site planned for a kprobe-jump where the kernel would make its kprobe a jump
// although control may enter the replaced bytes, and each one in code that the region analysis
// cannot read. Returns whether there is none. Notes the bytes that the verdicts are about
// (Site::code).
bool check_jumps(ProbePlan& plan, Images& images, Diagnostics& diagnostics);

} // namespace djstap
