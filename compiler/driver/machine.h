// SPDX-License-Identifier: GPL-2.0-or-later
// What the running machine offers for running modules, and what a kernel has for compiling them.
#pragma once
#include "driver/invocation.h"
#include "guest/guest.h"
#include "module/module.h"
#include "session/output.h"

#include <string>
#include <vector>

namespace djstap::driver {

// Facts about a kernel's files: headers, debug symbols, BTF, configuration.
std::vector<Fact> kernel_facts(const KernelFiles& files);
// Facts about the running kernel and this process: root, modules, signatures.
std::vector<Fact> running_facts(const Options& options);
// Facts about QEMU and what else a guest needs.
std::vector<Fact> guest_facts();

// Returns the key that --sign-with names, else that of the environment.
SigningKey signing_key(const Options& options);

// Finds a kernel that a guest can run and modules can be built for. `release` as for find_kernel();
// empty: the newest one.
Result<KernelFiles> find_guest_kernel(const std::string& release);
// Converts its files for a guest. A kernel that several paths lead to has one saved guest.
GuestKernel guest_kernel(const KernelFiles& files);

// What this machine lacks for compiling a module for a kernel and running it; empty texts: nothing.
struct MissingParts {
    std::string text, remedies;
};
MissingParts missing_parts(const KernelFiles& files, const Options& options);

// Determines where the script will run, before work is done for it: fixes the guest's kernel in the
// options, or examines the running machine. Reports everything that is missing in one message.
bool check_machine(Invocation& invocation);

} // namespace djstap::driver
