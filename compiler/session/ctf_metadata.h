// SPDX-License-Identifier: GPL-2.0-or-later
// The metadata of a CTF 1.8 trace: text that describes the stream's binary layout (TSDL).
#pragma once
#include "session/meta.h"

#include <array>
#include <cstdint>
#include <string>

namespace djstap::ctf {

constexpr uint32_t magic = 0xc1fc1fc1;
using Uuid = std::array<uint8_t, 16>;

// The header and the context of a packet. Everything in a stream is aligned to bytes.
struct [[gnu::packed]] PacketHead {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t stream;
    uint64_t first_ns, last_ns;         // CLOCK_MONOTONIC
    uint64_t content_bits, packet_bits; // both include this
    uint64_t lost;                      // until now
};

// Returns the beginning. `offset_ns`: CLOCK_REALTIME less CLOCK_MONOTONIC.
std::string metadata_head(const ModuleMeta& meta, const Uuid& uuid, uint64_t offset_ns);
// Returns the description of the events of a format.
std::string metadata_of(uint32_t id, const ModuleMeta::Format& format);
// Returns the same for an event that has texts with these names.
std::string metadata_of_texts(uint32_t id, const std::string& name,
                              std::initializer_list<const char*> texts);

} // namespace djstap::ctf
