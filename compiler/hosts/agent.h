// SPDX-License-Identifier: GPL-2.0-or-later
// The commands that run on a host: they tell what the host is, take files into a folder of their
// own, run djrun there, and remove everything at the end, whoever ends first. They need a POSIX
// shell and the usual tools, nothing of djstap.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace djstap::hosts {

// Returns the command line for the shell of a host. Its standard input and output then have this
// dialogue of lines, until djrun writes its frames to the output:
//
//   from the host               to the host
//   djstap-host 1
//   release RELEASE             kernel
//   machine MACHINE
//   notes HEX                   of the kernel, with its build-id
//   has NUMBER BYTES            cksum of the host's djrun; "has own": $DJSTAP_DJRUN names one
//   unpacks gzip                if it has that program
//   facts
//                               clock
//   clock NANOSECONDS
//                               put NAME BYTES, and the bytes; or unpack NAME BYTES, and those
//                               of gzip
//   put NAME BYTES              of the file
//                               use found | pushed | own
//                               run PARAMETERS
//   frames of --output=snapshots: the first one tells that the module is loaded
//                               go
//   more frames; then \0, "exit STATUS" and the connection's end
//
// The end of the input stops djrun.
std::string agent_command();

// What the commands tell of their host. (djstap::HostFacts is what djrun --facts prints.)
struct AgentFacts {
    std::string release, machine;
    std::string build_id; // hexadecimal; empty: unknown
    std::string djrun;    // "NUMBER BYTES" of cksum; empty: there is none
    bool has_own_djrun = false;
    bool unpacks = false; // what gzip has packed
};

// Takes one of these lines. Returns false for other lines, such as what a login prints.
bool take_fact(AgentFacts& facts, std::string_view line);

// Returns what cksum prints for these bytes: "NUMBER BYTES".
std::string cksum(std::string_view bytes);

} // namespace djstap::hosts
