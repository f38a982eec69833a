// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a trace in the Common Trace Format 1.8: a folder with one stream, whose packets are
// written as they are full, and the metadata, which grow by a description for each new kind of
// event.
#include "session/ctf_metadata.h"
#include "session/histogram.h"
#include "session/message_output.h"
#include "session/outputs.h"
#include "session/printed_values.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <unordered_map>
#include <vector>

namespace djstap {

namespace {

constexpr size_t full_packet = 64 * 1024;

class CtfOutput : public MessageOutput {
  public:
    explicit CtfOutput(const OutputStreams& streams)
        : MessageOutput(streams), metadata_(*streams.more.front()) {
        std::random_device random;
        for (uint8_t& byte : uuid_)
            byte = static_cast<uint8_t>(random());
    }

    void begin(const ModuleMeta& meta, const RecordClock&) override {
        meta_ = &meta;
        tell_missing(meta, DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID, "ctf",
                     "the trace lacks them");
    }

    void print(const Event& event) override {
        if (!described_)
            last_ns_ = event.monotonic_ns();
        put_metadata(event.realtime_ns() - event.monotonic_ns());
        begin_event(id_of(event.format), event.monotonic_ns(), event.cpu, event.fields);
        if (event.is_text())
            return put_text(event.text());
        Arguments arguments = event.values();
        while (arguments.left()) {
            const auto argument = arguments.next();
            if (!argument) {
                packet_.resize(begun_); // a damaged record
                return;
            }
            if (const auto* number = std::get_if<int64_t>(&*argument))
                put_value(*number);
            else if (const auto* text = std::get_if<std::string_view>(&*argument))
                put_text(*text);
            else if (const auto* stack = std::get_if<StackArgument>(&*argument))
                put_stack(stack->bytes.substr(sizeof(uint64_t)));
            else
                put_buckets(std::get<HistogramArgument>(*argument));
        }
    }

    void error(std::string_view message, std::string_view place) override {
        MessageOutput::error(message, place);
        put_message({std::string(message), std::string(place)});
    }

    void warning(std::string_view message) override {
        MessageOutput::warning(message);
        put_message({std::string(message)});
    }

    void counts(const djs_counts& counts) override {
        for (const std::string& line : describe_counts(counts))
            CtfOutput::warning(line);
        lost_ = counts.lost_records + counts.oversized;
    }

    void flush() override {
        end_packet();
        writer().flush();
        metadata_.flush();
    }

    bool is_closed() override { return writer().error() != 0 || metadata_.error() != 0; }

    void end() override {
        put_metadata(0); // if there was no event
        end_packet();
    }

  private:
    template <class Value> void put_value(const Value& value) {
        packet_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    // A string ends with its first NUL.
    void put_text(std::string_view text) {
        packet_.append(utf8(text.substr(0, text.find('\0'))));
        packet_ += '\0';
    }
    void put_stack(std::string_view addresses) {
        put_value(static_cast<uint32_t>(addresses.size() / sizeof(uint64_t)));
        packet_ += addresses;
    }
    void put_buckets(const HistogramArgument& histogram) {
        const auto rows = rows_of(histogram);
        put_value(static_cast<uint32_t>(rows.size()));
        for (const HistogramRow& row : rows) {
            put_value(row.least.value_or(INT64_MIN));
            put_value(row.most.value_or(INT64_MAX));
            put_value(row.count);
        }
    }

    void put_metadata(uint64_t offset_ns) {
        if (described_ || !meta_)
            return;
        described_ = true;
        metadata_.append(ctf::metadata_head(*meta_, uuid_, offset_ns));
        for (const std::vector<std::string>& texts : early_)
            put_message(texts);
        early_.clear();
    }

    uint32_t id_of(const ModuleMeta::Format& format) {
        const auto [known, fresh] = ids_.try_emplace(&format, next_id_);
        if (!fresh)
            return known->second;
        metadata_.append(&format == &Event::as_it_is
                             ? ctf::metadata_of_texts(next_id_, "text", {"text"})
                             : ctf::metadata_of(next_id_, format));
        return next_id_++;
    }

    // Times of a stream never decrease: what speculate() kept gets the time of its commit.
    void begin_event(uint32_t id, uint64_t time, uint32_t cpu, const EventFields& fields) {
        if (packet_.size() >= full_packet)
            end_packet();
        last_ns_ = std::max(last_ns_, time);
        if (packet_.empty()) {
            first_ns_ = last_ns_;
            packet_.resize(sizeof(ctf::PacketHead));
        }
        begun_ = packet_.size();
        put_value(id);
        put_value(last_ns_);
        put_value(cpu);
        if (meta_->fields & DJS_EVENT_PID)
            put_value(fields.pid.value_or(-1));
        if (meta_->fields & DJS_EVENT_TID)
            put_value(fields.tid.value_or(-1));
        if (meta_->fields & DJS_EVENT_PROBE)
            put_text(fields.probe.value_or(""));
    }

    // An error, with its place, or a warning is placed behind the last event. Of one before the
    // first event, which tells what the clock says, that event's time is taken.
    void put_message(const std::vector<std::string>& texts) {
        if (!described_)
            return early_.push_back(texts);
        const bool is_error = texts.size() > 1;
        std::optional<uint32_t>& id = is_error ? error_id_ : warning_id_;
        if (!id) {
            id = next_id_++;
            metadata_.append(is_error ? ctf::metadata_of_texts(*id, "error", {"message", "place"})
                                      : ctf::metadata_of_texts(*id, "warning", {"message"}));
        }
        begin_event(*id, last_ns_, 0, {});
        for (const std::string& text : texts)
            put_text(text);
    }

    void end_packet() {
        if (packet_.empty())
            return;
        ctf::PacketHead head{};
        head.magic = ctf::magic;
        std::copy(uuid_.begin(), uuid_.end(), head.uuid);
        head.first_ns = first_ns_;
        head.last_ns = last_ns_;
        head.content_bits = head.packet_bits = packet_.size() * 8;
        head.lost = lost_;
        std::memcpy(packet_.data(), &head, sizeof head);
        writer().append(packet_);
        packet_.clear();
    }

    Writer& metadata_;
    const ModuleMeta* meta_ = nullptr;
    ctf::Uuid uuid_{};
    std::string packet_; // its head, then events; empty: none
    size_t begun_ = 0;   // where its last event begins
    std::unordered_map<const ModuleMeta::Format*, uint32_t> ids_;
    uint32_t next_id_ = 0;
    std::optional<uint32_t> error_id_, warning_id_;
    std::vector<std::vector<std::string>> early_; // messages before the first event
    uint64_t first_ns_ = 0, last_ns_ = 0, lost_ = 0;
    bool described_ = false;
};

} // namespace

std::unique_ptr<Output> make_ctf_output(const OutputStreams& streams) {
    return std::make_unique<CtfOutput>(streams);
}

} // namespace djstap
