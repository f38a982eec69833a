// SPDX-License-Identifier: GPL-2.0-or-later
// The arguments of QEMU, without starting it.
#include "guest/machine.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace djstap {
namespace {

// Returns the values of an option in QEMU's order.
std::vector<std::string> values_of(const std::string& option, const GuestJob& job) {
    const std::vector<std::string> arguments = guest::machine_arguments(job);
    std::vector<std::string> values;
    for (size_t i = 0; i + 1 < arguments.size(); i++)
        if (arguments[i] == option)
            values.push_back(arguments[i + 1]);
    return values;
}

using Values = std::vector<std::string>;

} // namespace

TEST(MachineArguments, AllCpusShareAThread) {
    GuestJob job;
    EXPECT_EQ(values_of("-accel", job), Values{"tcg,thread=single"});
    job.cpus = 1;
    EXPECT_EQ(values_of("-accel", job), Values{"tcg"});
}

TEST(MachineArguments, AnAcceleratorThatIsGivenIsTheOnlyOne) {
    GuestJob job;
    job.qemu_arguments = {"-accel", "tcg,thread=multi", "-smp", "4"};
    EXPECT_EQ(values_of("-accel", job), Values{"tcg,thread=multi"});
    EXPECT_EQ(values_of("-smp", job), (Values{"2", "4"})); // the last one counts
}

} // namespace djstap
