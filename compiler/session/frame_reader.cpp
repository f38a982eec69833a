// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the frames of snapshots.
#include "include/statistic.h"
#include "session/snapshot_format.h"
#include "session/snapshot_frames.h"
#include "system/file.h"

#include <algorithm>
#include <cstring>
#include <protozero/pbf_reader.hpp>

namespace djstap {

namespace {

using namespace snapshot_format;

constexpr uint64_t longest_frame = uint64_t{1} << 30;
constexpr uint32_t most_buckets = 1U << 20;
// Messages without content are two bytes, and many more in memory. A small element of an array
// takes ten times its bytes.
constexpr size_t free_memory = size_t{64} << 20, memory_of_byte = 16;

template <class Range> djs_counts counts_of(const Range& range) {
    std::array<uint64_t, count_of_counts> numbers{};
    size_t at = 0;
    for (const uint64_t number : range)
        if (at < numbers.size())
            numbers[at++] = number;
    djs_counts counts{};
    std::memcpy(&counts, numbers.data(), sizeof counts);
    return counts;
}

// protozero only asserts that a field has the expected type: this throws, as protozero does for
// other damage. SnapshotReader::next() catches it.
class Message : public protozero::pbf_reader {
  public:
    // `room`: what is left for what the frame becomes in memory.
    Message(const pbf_reader& reader, size_t& room) : pbf_reader(reader), room_(&room) {}

    uint32_t get_uint32() { return of(Type::varint).pbf_reader::get_uint32(); }
    uint64_t get_uint64() { return of(Type::varint).pbf_reader::get_uint64(); }
    bool get_bool() { return get_uint64() != 0; }
    int64_t get_sint64() { return of(Type::varint).pbf_reader::get_sint64(); }
    uint64_t get_fixed64() { return of(Type::fixed64).pbf_reader::get_fixed64(); }
    std::string get_string() { return of(Type::length_delimited).pbf_reader::get_string(); }
    std::string get_bytes() { return of(Type::length_delimited).pbf_reader::get_bytes(); }
    Message get_message() { return {of(Type::length_delimited).pbf_reader::get_message(), *room_}; }
    auto get_packed_sint64() { return of(Type::length_delimited).pbf_reader::get_packed_sint64(); }
    auto get_packed_uint64() { return of(Type::length_delimited).pbf_reader::get_packed_uint64(); }

    // Appends an item, if the frame may have that many.
    template <class Item> Item& append_to(std::vector<Item>& all) {
        if (*room_ < sizeof(Item))
            throw protozero::invalid_length_exception();
        *room_ -= sizeof(Item);
        return all.emplace_back();
    }

  private:
    using Type = protozero::pbf_wire_type;
    Message& of(Type type) {
        if (!has_wire_type(type))
            throw protozero::unknown_pbf_wire_type_exception();
        return *this;
    }
    size_t* room_;
};

DescriptionFrame take_description(Message from, uint32_t& version) {
    DescriptionFrame frame;
    while (from.next()) {
        switch (from.tag()) {
        case field::of_description::version:
            version = from.get_uint32();
            break;
        case field::of_description::name:
            frame.name = from.get_string();
            break;
        case field::of_description::script:
            frame.script = from.get_string();
            break;
        case field::of_description::release:
            frame.release = from.get_string();
            break;
        case field::of_description::build_id:
            frame.build_id = from.get_string();
            break;
        case field::of_description::globals: {
            Message each = from.get_message();
            ModuleMeta::Global& global = from.append_to(frame.globals);
            while (each.next()) {
                switch (each.tag()) {
                case field::of_global::name:
                    global.name = each.get_string();
                    break;
                case field::of_global::value:
                    global.value = each.get_string();
                    break;
                case field::of_global::keys:
                    global.keys = each.get_uint64();
                    break;
                case field::of_global::histogram:
                    global.histogram = each.get_bool();
                    break;
                case field::of_global::description:
                    global.description = each.get_string();
                    break;
                case field::of_global::adds_up:
                    global.adds_up = each.get_bool();
                    break;
                case field::of_global::initial:
                    global.initial = each.get_sint64();
                    break;
                default:
                    each.skip();
                }
            }
            break;
        }
        default:
            from.skip();
        }
    }
    return frame;
}

HistogramShape take_shape(Message from) {
    HistogramShape shape;
    while (from.next()) {
        switch (from.tag()) {
        case field::of_shape::kind:
            shape.kind = from.get_uint32();
            break;
        case field::of_shape::buckets:
            shape.buckets = std::min(from.get_uint32(), most_buckets);
            break;
        case field::of_shape::low:
            shape.low = from.get_sint64();
            break;
        case field::of_shape::high:
            shape.high = from.get_sint64();
            break;
        case field::of_shape::width:
            shape.width = from.get_sint64();
            break;
        default:
            from.skip();
        }
    }
    return shape;
}

GlobalElement take_element(Message from) {
    GlobalElement element;
    while (from.next()) {
        switch (from.tag()) {
        case field::of_element::keys:
            element.keys = from.get_bytes();
            break;
        case field::of_element::numbers:
            for (const int64_t number : from.get_packed_sint64())
                if (element.has < element.numbers.size())
                    element.numbers[element.has++] = number;
            break;
        case field::of_element::text:
            element.text = from.get_bytes();
            break;
        case field::of_element::buckets:
            for (const int64_t count : from.get_packed_sint64())
                from.append_to(element.buckets) = count;
            break;
        default:
            from.skip();
        }
    }
    return element;
}

GlobalValues take_values(Message from) {
    GlobalValues values;
    while (from.next()) {
        switch (from.tag()) {
        case field::of_values::index:
            values.index = from.get_uint32();
            break;
        case field::of_values::shape:
            values.shape = take_shape(from.get_message());
            break;
        case field::of_values::elements:
            from.append_to(values.elements) = take_element(from.get_message());
            break;
        default:
            from.skip();
        }
    }
    // A bucket has a meaning only by the shape.
    const bool has_shape = values.shape && (values.shape->kind != DJS_HISTOGRAM_LOG ||
                                            values.shape->buckets <= DJS_LOG_BUCKETS);
    for (GlobalElement& element : values.elements)
        if (!has_shape || element.buckets.size() != values.shape->buckets)
            element.buckets.clear();
    return values;
}

GlobalsFrame take_globals(Message from) {
    GlobalsFrame frame;
    while (from.next()) {
        switch (from.tag()) {
        case field::of_globals::monotonic_ns:
            frame.monotonic_ns = from.get_fixed64();
            break;
        case field::of_globals::realtime_ns:
            frame.realtime_ns = from.get_fixed64();
            break;
        case field::of_globals::incomplete:
            frame.incomplete = from.get_bool();
            break;
        case field::of_globals::counts:
            frame.counts = counts_of(from.get_packed_uint64());
            break;
        case field::of_globals::values:
            from.append_to(frame.globals) = take_values(from.get_message());
            break;
        default:
            from.skip();
        }
    }
    return frame;
}

PrintedFrame take_printed(Message from) {
    PrintedFrame frame;
    while (from.next()) {
        if (from.tag() == field::of_printed::realtime_ns)
            frame.realtime_ns = from.get_fixed64();
        else if (from.tag() == field::of_printed::text)
            frame.text = from.get_bytes();
        else
            from.skip();
    }
    return frame;
}

MessageFrame take_message(Message from) {
    MessageFrame frame;
    while (from.next()) {
        if (from.tag() == field::of_message::is_error)
            frame.is_error = from.get_bool();
        else if (from.tag() == field::of_message::text)
            frame.text = from.get_string();
        else if (from.tag() == field::of_message::place)
            frame.place = from.get_string();
        else
            from.skip();
    }
    return frame;
}

EndFrame take_end(Message from) {
    EndFrame frame;
    while (from.next()) {
        if (from.tag() == field::of_end_counts)
            frame.counts = counts_of(from.get_packed_uint64());
        else
            from.skip();
    }
    return frame;
}

std::optional<SnapshotFrame> take_frame(Message from, uint32_t& version) {
    while (from.next()) {
        switch (from.tag()) {
        case field::description:
            return take_description(from.get_message(), version);
        case field::globals:
            return take_globals(from.get_message());
        case field::printed:
            return take_printed(from.get_message());
        case field::message:
            return take_message(from.get_message());
        case field::end:
            return take_end(from.get_message());
        default:
            from.skip();
        }
    }
    return std::nullopt;
}

// Returns the length at the beginning of `bytes` and its own size; nothing if it is not complete.
std::optional<std::pair<uint64_t, size_t>> length_at(std::string_view bytes) {
    constexpr size_t longest_varint = 10;
    constexpr unsigned bits = 7;
    uint64_t length = 0;
    for (size_t i = 0; i < bytes.size() && i < longest_varint; i++) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        if (i * bits < 64)
            length |= uint64_t{byte & 0x7fU} << (i * bits);
        if (!(byte & 0x80U))
            return std::pair(length, i + 1);
    }
    if (bytes.size() >= longest_varint)
        return std::pair(UINT64_MAX, longest_varint);
    return std::nullopt;
}

Failure damaged() {
    return {"the stream of snapshots is damaged", "it is what --output=snapshots writes"};
}

} // namespace

Result<std::optional<SnapshotFrame>> SnapshotReader::next() {
    const std::string_view rest = std::string_view(bytes_).substr(at_);
    const auto length = length_at(rest);
    if (length && length->first > longest_frame)
        return damaged();
    if (!length || rest.size() - length->second < length->first) {
        bytes_.erase(0, at_);
        at_ = 0;
        return std::optional<SnapshotFrame>();
    }
    const std::string_view body = rest.substr(length->second, length->first);
    at_ += length->second + length->first;
    uint32_t version = format_version;
    std::optional<SnapshotFrame> frame;
    try {
        size_t room = free_memory + memory_of_byte * body.size();
        frame = take_frame(Message({body.data(), body.size()}, room), version);
    } catch (const protozero::exception&) {
        return damaged();
    }
    if (version != format_version)
        return Failure{"the stream of snapshots has version " + std::to_string(version) +
                           ", this program has version " + std::to_string(format_version),
                       "use programs of the same release"};
    if (!frame)
        return damaged();
    return frame;
}

Result<RecordedFrames> read_frames(const std::string& path) {
    auto bytes = read_file(path);
    if (!bytes)
        return bytes.failure();
    SnapshotReader reader;
    reader.add(*bytes);
    RecordedFrames recorded;
    while (true) {
        auto frame = reader.next();
        if (!frame) {
            recorded.problem = path + ": " + frame.failure().message;
            return recorded;
        }
        if (!*frame)
            break;
        recorded.frames.push_back(std::move(**frame));
    }
    if (!reader.at_border())
        recorded.problem = path + ": the last frame is incomplete";
    return recorded;
}

} // namespace djstap
