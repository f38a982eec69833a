// SPDX-License-Identifier: GPL-2.0-or-later
// The messages of a Perfetto trace, as far as events need them (perfetto/trace/trace.proto).
#pragma once
#include "session/writer.h"

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

namespace djstap::perfetto {

enum class EventType : int32_t { SliceBegin = 1, SliceEnd = 2, Instant = 3, Counter = 4 };

// Field numbers.
namespace trace {
constexpr uint32_t packet = 1;
}
namespace packet {
constexpr uint32_t clock_snapshot = 6, timestamp = 8, sequence = 10, track_event = 11,
                   sequence_flags = 13, track_descriptor = 60;
}
namespace snapshot {
constexpr uint32_t clocks = 1, primary = 2;
constexpr uint32_t clock_id = 1, clock_time = 2;
constexpr uint32_t realtime = 1, monotonic = 3; // clocks
} // namespace snapshot
namespace track {
constexpr uint32_t uuid = 1, name = 2, process = 3, thread = 4, counter = 8;
constexpr uint32_t process_pid = 1;
constexpr uint32_t thread_pid = 1, thread_tid = 2, thread_name = 5;
} // namespace track
namespace event {
constexpr uint32_t annotations = 4, type = 9, track_uuid = 11, categories = 22, name = 23,
                   counter_value = 30;
constexpr uint32_t annotation_int = 4, annotation_text = 6, annotation_name = 10;
} // namespace event

// Writes packets, each as soon as it is complete. What is passed to a function is written there.
class Packets {
  public:
    explicit Packets(Writer& writer) : writer_(writer) {}

    // Writes a packet that `fill` completes.
    template <class Fill> void add(Fill fill) {
        bytes_.clear();
        protozero::pbf_writer packet(bytes_);
        packet.add_uint32(packet::sequence, 1);
        if (!begun_)
            packet.add_uint32(packet::sequence_flags, state_begins);
        begun_ = true;
        fill(packet);
        head_.clear();
        protozero::pbf_writer(head_).add_bytes(trace::packet, bytes_);
        writer_.append(head_);
    }

  private:
    static constexpr uint32_t state_begins = 1; // SEQ_INCREMENTAL_STATE_CLEARED

    Writer& writer_;
    std::string bytes_, head_;
    bool begun_ = false;
};

} // namespace djstap::perfetto
