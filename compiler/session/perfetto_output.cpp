// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a trace for Perfetto: docs/outputs.md describes which events become slices and counters.
#include "session/message_output.h"
#include "session/outputs.h"
#include "session/perfetto_packets.h"
#include "session/printed_values.h"
#include "system/file.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace djstap {

namespace {

using perfetto::EventType;
using protozero::pbf_writer;

constexpr uint64_t cpu_tracks = uint64_t{1} << 32, thread_tracks = uint64_t{2} << 32,
                   process_tracks = uint64_t{3} << 32, message_track = uint64_t{4} << 32,
                   counter_tracks = uint64_t{1} << 63;
constexpr size_t deepest = 256, longest_title = 200;

uint64_t counter_uuid(std::string_view name) {
    uint64_t hash = 14695981039346656037ULL;
    for (const char character : name)
        hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211ULL;
    return hash | counter_tracks;
}

std::string_view title_of(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.remove_suffix(1);
    return text.substr(0, std::min(text.find('\n'), longest_title));
}

class PerfettoOutput : public MessageOutput {
  public:
    explicit PerfettoOutput(const OutputStreams& streams)
        : MessageOutput(streams), packets_(streams.writer), same_boot_(streams.same_boot) {}

    void begin(const ModuleMeta& meta, const RecordClock&) override {
        tell_missing(meta, DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID, "perfetto",
                     "events without them are shown on the track of their CPU, and never as slices "
                     "or counters");
        std::set<std::string_view> entered, returned;
        for (const std::string& point : meta.points) {
            bool returns = false;
            if (const auto function = probed_function(point, returns); !function.empty())
                (returns ? returned : entered).insert(function);
        }
        for (const std::string_view function : entered)
            if (returned.contains(function))
                paired_.insert(function);
    }

    void print(const Event& event) override {
        now_ = event.monotonic_ns();
        if (!clocks_known_)
            put_clocks(event.realtime_ns());
        if (!event.format.shows.empty() && put_shown(event))
            return;
        const Point& point = point_of(event);
        if (point.is_timer && put_counters(event))
            return;
        Thread* const thread = thread_of(event);
        const uint64_t track =
            thread ? thread_tracks | static_cast<uint32_t>(*event.tid()) : cpu_track(event.cpu);
        const std::string_view text = event.printed(text_);
        EventType type = EventType::Instant;
        if (thread && !point.function.empty())
            type = pair(*thread, point, &event.format, track);
        put_event(event, type, track, type == EventType::Instant ? title_of(text) : point.function,
                  text);
    }

    void error(std::string_view message, std::string_view place) override {
        MessageOutput::error(message, place);
        put_message("error: " + std::string(message) +
                    (place.empty() ? "" : " near " + std::string(place)));
    }

    void warning(std::string_view message) override {
        MessageOutput::warning(message);
        put_message("warning: " + std::string(message));
    }

    void counts(const djs_counts& counts) override {
        MessageOutput::counts(counts);
        for (const std::string& line : describe_counts(counts))
            put_message(line);
    }

  private:
    // What a probe point means here.
    struct Point {
        std::string_view function; // of a pair of an entry and a return probe; else empty
        bool returns = false;
        bool is_timer = false;
    };
    struct Slice {
        std::string_view function;
        const ModuleMeta::Format* format; // of the print that began it
    };
    struct Thread {
        std::vector<Slice> open;
        Slice closed{}; // by the event before this one
    };

    const Point& point_of(const Event& event) {
        static const Point unknown;
        if (!event.probe())
            return unknown;
        // The texts of points stay where they are.
        const auto [known, fresh] = points_.try_emplace(event.probe()->data());
        Point& point = known->second;
        if (fresh) {
            point.function = probed_function(*event.probe(), point.returns);
            if (!paired_.contains(point.function))
                point.function = {};
            point.is_timer = event.probe()->starts_with("timer.");
        }
        return point;
    }

    // Returns the state of the event's thread; null if it is unknown, and for the idle tasks, which
    // all have number 0: their events belong to the CPU.
    Thread* thread_of(const Event& event) {
        if (!event.tid() || *event.tid() <= 0)
            return nullptr;
        const int32_t tid = *event.tid(), pid = event.pid().value_or(tid);
        const auto [known, fresh] = threads_.try_emplace(tid);
        if (fresh) {
            put_track(thread_tracks | static_cast<uint32_t>(tid), [&](pbf_writer& track) {
                pbf_writer thread(track, perfetto::track::thread);
                thread.add_int32(perfetto::track::thread_pid, pid);
                thread.add_int32(perfetto::track::thread_tid, tid);
                thread.add_string(perfetto::track::thread_name, name_of_thread(tid));
            });
        }
        if (processes_.insert(pid).second)
            put_track(process_tracks | static_cast<uint32_t>(pid), [&](pbf_writer& track) {
                pbf_writer process(track, perfetto::track::process);
                process.add_int32(perfetto::track::process_pid, pid);
            });
        return &known->second;
    }

    // The name that a thread has now, if it still runs; records have none.
    std::string name_of_thread(int32_t tid) const {
        const std::string number = std::to_string(tid);
        if (same_boot_)
            if (const auto name = read_file("/proc/" + number + "/comm"))
                return utf8(trimmed(*name));
        return "thread " + number;
    }

    uint64_t cpu_track(uint32_t cpu) {
        if (cpus_.insert(cpu).second)
            put_track(cpu_tracks | cpu, [&](pbf_writer& track) {
                track.add_string(perfetto::track::name, "CPU " + std::to_string(cpu));
            });
        return cpu_tracks | cpu;
    }

    // Returns what an event of such a function is. A handler may print more than once: only its
    // first print begins or ends the slice. Slices whose return was not seen end with the one
    // around them.
    EventType pair(Thread& thread, const Point& point, const ModuleMeta::Format* format,
                   uint64_t track) {
        const Slice closed = std::exchange(thread.closed, {});
        if (!point.returns) {
            const bool again = !thread.open.empty() &&
                               thread.open.back().function == point.function &&
                               thread.open.back().format != format;
            if (again || thread.open.size() == deepest)
                return EventType::Instant;
            thread.open.push_back({point.function, format});
            return EventType::SliceBegin;
        }
        const auto own =
            std::find_if(thread.open.rbegin(), thread.open.rend(),
                         [&](const Slice& slice) { return slice.function == point.function; });
        const bool again = closed.function == point.function && closed.format != format;
        if (own == thread.open.rend() || again) {
            thread.closed = closed;
            return EventType::Instant;
        }
        for (auto missed = thread.open.rbegin(); missed != own; ++missed)
            put_end(track);
        thread.open.erase(std::prev(own.base()), thread.open.end());
        thread.closed = {point.function, format};
        return EventType::SliceEnd;
    }

    template <class Fill> void put_track(uint64_t uuid, Fill fill) {
        packets_.add([&](pbf_writer& packet) {
            pbf_writer track(packet, perfetto::packet::track_descriptor);
            track.add_uint64(perfetto::track::uuid, uuid);
            fill(track);
        });
    }

    template <class Fill> void put(EventType type, uint64_t track, Fill fill) {
        packets_.add([&](pbf_writer& packet) {
            packet.add_uint64(perfetto::packet::timestamp, now_);
            pbf_writer event(packet, perfetto::packet::track_event);
            event.add_enum(perfetto::event::type, static_cast<int32_t>(type));
            event.add_uint64(perfetto::event::track_uuid, track);
            fill(event);
        });
    }

    void put_end(uint64_t track) {
        put(EventType::SliceEnd, track, [](pbf_writer&) {});
    }

    static void annotate(pbf_writer& event, std::string_view name, int64_t value) {
        pbf_writer annotation(event, perfetto::event::annotations);
        annotation.add_string(perfetto::event::annotation_name, name.data(), name.size());
        annotation.add_int64(perfetto::event::annotation_int, value);
    }
    static void annotate(pbf_writer& event, std::string_view name, std::string_view value) {
        pbf_writer annotation(event, perfetto::event::annotations);
        annotation.add_string(perfetto::event::annotation_name, name.data(), name.size());
        annotation.add_string(perfetto::event::annotation_text, utf8(value));
    }

    void put_event(const Event& event, EventType type, uint64_t track, std::string_view name,
                   std::string_view text) {
        put(type, track, [&](pbf_writer& out) {
            out.add_string(perfetto::event::name, utf8(name));
            if (event.probe())
                out.add_string(perfetto::event::categories, utf8(*event.probe()));
            annotate(out, "cpu", int64_t{event.cpu});
            annotate(out, "text", text);
            if (event.is_text())
                return;
            const auto& names = names_of(event.format);
            Arguments arguments = event.values();
            for (size_t i = 0; arguments.left(); i++) {
                const auto argument = arguments.next();
                if (!argument)
                    return;
                if (const auto* number = std::get_if<int64_t>(&*argument))
                    annotate(out, names[i], *number);
                else if (const auto* string = std::get_if<std::string_view>(&*argument))
                    annotate(out, names[i], *string);
                else if (const auto* stack = std::get_if<StackArgument>(&*argument))
                    annotate(out, names[i], stack->text());
            }
        });
    }

    // A number that a global has at the end, or an element of an array. Returns false for others.
    bool put_shown(const Event& event) {
        std::string name = event.format.shows;
        Arguments arguments = event.values();
        for (size_t i = 0; i < event.format.keys; i++) {
            const auto key = arguments.next();
            if (!key)
                return false;
            name += i ? "," : "[";
            if (const auto* text = std::get_if<std::string_view>(&*key))
                name += *text;
            else if (const auto* number = std::get_if<int64_t>(&*key))
                name += std::to_string(*number);
            else if (const auto* stack = std::get_if<StackArgument>(&*key))
                name += stack->text();
        }
        name += event.format.keys ? "]" : "";
        if (arguments.left() != 1)
            return false;
        const auto value = arguments.next();
        const auto* number = value ? std::get_if<int64_t>(&*value) : nullptr;
        if (number)
            put_counter(name, *number);
        return number != nullptr;
    }

    // The numbers of a timer's print, if each has a name: "reads=%d writes=%d". Returns false if it
    // is something else.
    bool put_counters(const Event& event) {
        const std::string& types = event.format.types;
        if (types.empty() || types.find_first_not_of('l') != std::string::npos)
            return false;
        const auto& names = names_of(event.format);
        for (size_t i = 0; i < names.size(); i++)
            if (names[i].starts_with("arg" + std::to_string(i + 1)))
                return false; // nothing tells what it is
        Arguments arguments = event.values();
        for (const std::string& name : names) {
            const auto value = arguments.next();
            if (!value)
                break;
            put_counter(name, std::get<int64_t>(*value));
        }
        return true;
    }

    void put_counter(std::string_view name, int64_t value) {
        const uint64_t uuid = counter_uuid(name);
        if (counters_.insert(uuid).second)
            put_track(uuid, [&](pbf_writer& track) {
                track.add_string(perfetto::track::name, utf8(name));
                // It has no fields; a writer of its own would omit it.
                track.add_message(perfetto::track::counter, "", 0);
            });
        put(EventType::Counter, uuid,
            [&](pbf_writer& event) { event.add_int64(perfetto::event::counter_value, value); });
    }

    void put_message(const std::string& text) {
        if (!std::exchange(has_messages_, true))
            put_track(message_track, [](pbf_writer& track) {
                track.add_string(perfetto::track::name, "messages of djstap");
            });
        put(EventType::Instant, message_track,
            [&](pbf_writer& event) { event.add_string(perfetto::event::name, utf8(text)); });
    }

    // Timestamps are those of the monotonic clock, which is the clock of the trace.
    void put_clocks(uint64_t realtime) {
        clocks_known_ = true;
        if (!now_ || !realtime)
            return;
        packets_.add([&](pbf_writer& packet) {
            packet.add_uint64(perfetto::packet::timestamp, now_);
            pbf_writer snapshot(packet, perfetto::packet::clock_snapshot);
            const std::pair<uint32_t, uint64_t> clocks[] = {
                {perfetto::snapshot::monotonic, now_}, {perfetto::snapshot::realtime, realtime}};
            for (const auto& [id, time] : clocks) {
                pbf_writer clock(snapshot, perfetto::snapshot::clocks);
                clock.add_uint32(perfetto::snapshot::clock_id, id);
                clock.add_uint64(perfetto::snapshot::clock_time, time);
            }
            snapshot.add_enum(perfetto::snapshot::primary,
                              static_cast<int32_t>(perfetto::snapshot::monotonic));
        });
    }

    const std::vector<std::string>& names_of(const ModuleMeta::Format& format) {
        const auto [known, fresh] = names_.try_emplace(&format);
        if (fresh)
            known->second = argument_names(format);
        return known->second;
    }

    perfetto::Packets packets_;
    const bool same_boot_;
    std::set<std::string_view> paired_; // functions with an entry and a return probe
    std::unordered_map<const char*, Point> points_;
    std::unordered_map<const ModuleMeta::Format*, std::vector<std::string>> names_;
    std::unordered_map<int32_t, Thread> threads_;
    std::unordered_set<int32_t> processes_;
    std::unordered_set<uint32_t> cpus_;
    std::unordered_set<uint64_t> counters_;
    std::string text_; // of a print; its memory is kept
    uint64_t now_ = 0; // of the last event
    bool clocks_known_ = false, has_messages_ = false;
};

} // namespace

std::unique_ptr<Output> make_perfetto_output(const OutputStreams& streams) {
    return std::make_unique<PerfettoOutput>(streams);
}

} // namespace djstap
