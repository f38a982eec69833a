// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/snapshot_frames.h"

#include "session/histogram.h"
#include "session/snapshot_format.h"

#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <type_traits>

namespace djstap {

namespace {

using namespace snapshot_format;

std::array<uint64_t, count_of_counts> numbers_of(const djs_counts& counts) {
    std::array<uint64_t, count_of_counts> numbers{};
    std::memcpy(numbers.data(), &counts, sizeof counts);
    return numbers;
}

void put(protozero::pbf_writer& to, const DescriptionFrame& frame) {
    to.add_uint32(field::of_description::version, format_version);
    to.add_string(field::of_description::name, frame.name);
    to.add_string(field::of_description::script, frame.script);
    to.add_string(field::of_description::release, frame.release);
    to.add_string(field::of_description::build_id, frame.build_id);
    for (const ModuleMeta::Global& global : frame.globals) {
        protozero::pbf_writer each(to, field::of_description::globals);
        each.add_string(field::of_global::name, global.name);
        each.add_string(field::of_global::value, global.value);
        each.add_uint64(field::of_global::keys, global.keys);
        each.add_bool(field::of_global::histogram, global.histogram);
        each.add_string(field::of_global::description, global.description);
        each.add_bool(field::of_global::adds_up, global.adds_up);
        each.add_sint64(field::of_global::initial, global.initial);
    }
}

void put(protozero::pbf_writer& to, const GlobalElement& element) {
    if (!element.keys.empty())
        to.add_bytes(field::of_element::keys, element.keys);
    if (element.has)
        to.add_packed_sint64(field::of_element::numbers, element.numbers.begin(),
                             element.numbers.begin() + element.has);
    else
        to.add_bytes(field::of_element::text, element.text);
    if (!element.buckets.empty())
        to.add_packed_sint64(field::of_element::buckets, element.buckets.begin(),
                             element.buckets.end());
}

void put(protozero::pbf_writer& to, const GlobalValues& values) {
    to.add_uint32(field::of_values::index, values.index);
    if (values.shape) {
        protozero::pbf_writer shape(to, field::of_values::shape);
        shape.add_uint32(field::of_shape::kind, values.shape->kind);
        shape.add_uint32(field::of_shape::buckets, values.shape->buckets);
        shape.add_sint64(field::of_shape::low, values.shape->low);
        shape.add_sint64(field::of_shape::high, values.shape->high);
        shape.add_sint64(field::of_shape::width, values.shape->width);
    }
    for (const GlobalElement& element : values.elements) {
        protozero::pbf_writer each(to, field::of_values::elements);
        put(each, element);
    }
}

void put(protozero::pbf_writer& to, const GlobalsFrame& frame) {
    to.add_fixed64(field::of_globals::monotonic_ns, frame.monotonic_ns);
    to.add_fixed64(field::of_globals::realtime_ns, frame.realtime_ns);
    to.add_bool(field::of_globals::incomplete, frame.incomplete);
    const auto counts = numbers_of(frame.counts);
    to.add_packed_uint64(field::of_globals::counts, counts.begin(), counts.end());
    for (const GlobalValues& values : frame.globals) {
        protozero::pbf_writer each(to, field::of_globals::values);
        put(each, values);
    }
}

void put(protozero::pbf_writer& to, const PrintedFrame& frame) {
    to.add_fixed64(field::of_printed::realtime_ns, frame.realtime_ns);
    to.add_bytes(field::of_printed::text, frame.text);
}

void put(protozero::pbf_writer& to, const MessageFrame& frame) {
    to.add_bool(field::of_message::is_error, frame.is_error);
    to.add_string(field::of_message::text, frame.text);
    to.add_string(field::of_message::place, frame.place);
}

void put(protozero::pbf_writer& to, const EndFrame& frame) {
    const auto counts = numbers_of(frame.counts);
    to.add_packed_uint64(field::of_end_counts, counts.begin(), counts.end());
}

template <class Frame> constexpr uint32_t field_of() {
    if constexpr (std::is_same_v<Frame, DescriptionFrame>)
        return field::description;
    else if constexpr (std::is_same_v<Frame, GlobalsFrame>)
        return field::globals;
    else if constexpr (std::is_same_v<Frame, PrintedFrame>)
        return field::printed;
    else if constexpr (std::is_same_v<Frame, MessageFrame>)
        return field::message;
    else
        return field::end;
}

} // namespace

void ElementKeys::add(int64_t number) {
    bytes_.push_back('l');
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void ElementKeys::add(std::string_view text) {
    const auto length = static_cast<uint32_t>(text.size());
    bytes_.push_back('s');
    bytes_.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
}

std::optional<std::vector<ElementKey>> keys_of(std::string_view bytes) {
    std::vector<ElementKey> keys;
    while (!bytes.empty()) {
        const char type = bytes.front();
        bytes.remove_prefix(1);
        int64_t number = 0;
        uint32_t length = 0;
        if (type == 'l' && bytes.size() >= sizeof number) {
            std::memcpy(&number, bytes.data(), sizeof number);
            bytes.remove_prefix(sizeof number);
            keys.emplace_back(number);
            continue;
        }
        if (type != 's' || bytes.size() < sizeof length)
            return std::nullopt;
        std::memcpy(&length, bytes.data(), sizeof length);
        bytes.remove_prefix(sizeof length);
        if (length > bytes.size())
            return std::nullopt;
        keys.emplace_back(bytes.substr(0, length));
        bytes.remove_prefix(length);
    }
    return keys;
}

void put_frame(std::string& out, const SnapshotFrame& frame) {
    std::string bytes;
    {
        protozero::pbf_writer root(bytes);
        std::visit(
            [&root](const auto& each) {
                protozero::pbf_writer inner(root, field_of<std::decay_t<decltype(each)>>());
                put(inner, each);
            },
            frame);
    }
    protozero::add_varint_to_buffer(&out, bytes.size());
    out += bytes;
}

std::string bucket_text(const HistogramShape& shape, uint32_t bucket) {
    djs_histogram_header header{};
    header.kind = shape.kind;
    header.buckets = shape.buckets;
    header.low = shape.low;
    header.high = shape.high;
    header.width = shape.width;
    const BucketBounds bounds = bounds_of(header, bucket);
    if (!bounds.least)
        return "<=" + std::to_string(*bounds.most);
    if (!bounds.most)
        return ">=" + std::to_string(*bounds.least);
    if (bounds.least == bounds.most)
        return std::to_string(*bounds.least);
    return std::to_string(*bounds.least) + ".." + std::to_string(*bounds.most);
}

} // namespace djstap
