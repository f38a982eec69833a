// SPDX-License-Identifier: GPL-2.0-or-later
// --output=snapshots: all globals regularly, for programs that collect them.
#include "session/outputs.h"
#include "session/shown.h"
#include "session/snapshot_frames.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace djstap {

namespace {

// If a snapshot's end was lost, and the next one's begin, too, they look like one, which has
// elements twice: keeps the newer ones.
void drop_former(std::vector<GlobalValues>& globals) {
    std::vector<GlobalValues> kept;
    std::map<std::pair<uint32_t, std::string>, size_t> places;
    for (GlobalValues& values : globals) {
        auto to = std::ranges::find(kept, values.index, &GlobalValues::index);
        if (to == kept.end()) {
            to = kept.emplace(kept.end());
            to->index = values.index;
        }
        if (values.shape)
            to->shape = values.shape;
        for (GlobalElement& element : values.elements) {
            const auto [place, is_new] =
                places.try_emplace({values.index, element.keys}, to->elements.size());
            if (is_new)
                to->elements.push_back(std::move(element));
            else
                to->elements[place->second] = std::move(element);
        }
    }
    globals = std::move(kept);
}

class SnapshotsOutput : public Output {
  public:
    explicit SnapshotsOutput(const OutputStreams& streams)
        : writer_(streams.writer), warnings_(streams.warnings) {}

    void begin(const ModuleMeta& meta, const RecordClock&) override {
        put(DescriptionFrame{meta.name, meta.script, meta.release, meta.build_id, meta.globals});
        for (uint32_t i = 0; i < meta.globals.size(); i++)
            globals_.emplace(meta.globals[i].name, i);
        const bool shows = std::ranges::any_of(meta.formats, [](const ModuleMeta::Format& format) {
            return format.shows == DJS_SHOWS_BEGIN;
        });
        if (!shows)
            warning("the module was made without --output=snapshots: it shows no globals");
    }

    void control(SessionControls& controls) override { controls_ = &controls; }

    void print(const Event& event) override {
        if (!event.format.in_snapshot) {
            put(PrintedFrame{event.realtime_ns(), std::string(event.printed(text_))});
            return;
        }
        if (!read_shown(event, row_))
            return;
        if (row_.kind == ShownRow::Kind::Begin)
            start();
        else if (taking_ && row_.kind == ShownRow::Kind::Global)
            add();
        else if (taking_ && row_.kind == ShownRow::Kind::End)
            complete(event);
    }

    void error(std::string_view message, std::string_view place) override {
        put(MessageFrame{true, std::string(message), std::string(place)});
    }
    void warning(std::string_view message) override {
        if (warnings_)
            put(MessageFrame{false, std::string(message), ""});
    }
    void probes(const std::vector<AttachedProbe>& probes) override {
        for (const AttachedProbe& probe : probes)
            if (!probe.attached)
                warning(probe.point + ": not attached: " + probe.reason);
    }
    void counts(const djs_counts& counts) override { counts_ = counts; }
    void end() override {
        put(EndFrame{counts_});
        writer_.flush();
    }
    bool wants_all_probes() const override { return false; }
    bool wants_snapshots() const override { return true; }
    Writer& writer() override { return writer_; }

  private:
    void put(const SnapshotFrame& frame) {
        frame_.clear();
        put_frame(frame_, frame);
        writer_.append(frame_);
    }

    void start() {
        // The end of the former one was lost.
        if (taking_ && !std::exchange(told_of_size_, true)) {
            warning("a snapshot did not fit into the ring buffers (-s makes them larger)");
            writer_.flush();
        }
        taking_.emplace();
    }

    // Rows of one global follow each other, and so do an element's.
    void add() {
        if (taking_->globals.empty() || row_.name != name_) {
            const auto found = globals_.find(std::string(row_.name));
            if (found == globals_.end())
                return;
            name_ = row_.name;
            taking_->globals.emplace_back().index = found->second;
        }
        GlobalValues& values = taking_->globals.back();
        keys_.clear();
        for (size_t i = 0; i < row_.keys; i++) {
            const Argument& key = row_.cells[i];
            if (const auto* number = std::get_if<int64_t>(&key))
                keys_.add(*number);
            else if (const auto* text = std::get_if<std::string_view>(&key))
                keys_.add(*text);
            else if (const auto* stack = std::get_if<StackArgument>(&key))
                keys_.add(stack->text());
        }
        if (row_.is_histogram) {
            add_histogram(values, std::get<HistogramArgument>(row_.cells.back()));
            return;
        }
        GlobalElement& element = values.elements.emplace_back();
        element.keys = keys_.bytes();
        for (size_t i = row_.keys; i < row_.cells.size(); i++) {
            if (const auto* number = std::get_if<int64_t>(&row_.cells[i]))
                element.numbers[element.has++] = *number;
            else if (const auto* text = std::get_if<std::string_view>(&row_.cells[i]))
                element.text = *text;
            else if (const auto* stack = std::get_if<StackArgument>(&row_.cells[i]))
                element.text = stack->text();
        }
    }

    void add_histogram(GlobalValues& values, const HistogramArgument& histogram) {
        if (values.elements.empty() || values.elements.back().keys != keys_.bytes())
            return;
        const djs_histogram_header& header = histogram.header;
        values.shape =
            HistogramShape{header.kind, header.buckets, header.low, header.high, header.width};
        for (uint32_t bucket = 0; bucket < header.buckets; bucket++)
            values.elements.back().buckets.push_back(histogram.count(bucket));
    }

    void complete(const Event& event) {
        taking_->monotonic_ns = event.monotonic_ns();
        taking_->realtime_ns = event.realtime_ns();
        if (controls_)
            counts_ = controls_->counts().value_or(counts_);
        // Whatever was lost since the last snapshot may have been part of this one.
        const uint64_t lost = counts_.lost_records + counts_.oversized;
        taking_->incomplete = lost != lost_before_;
        lost_before_ = lost;
        if (taking_->incomplete)
            drop_former(taking_->globals);
        taking_->counts = counts_;
        put(std::move(*taking_));
        taking_.reset();
        writer_.flush();
    }

    Writer& writer_;
    bool warnings_;
    SessionControls* controls_ = nullptr;
    std::unordered_map<std::string, uint32_t> globals_; // by name
    std::optional<GlobalsFrame> taking_;
    djs_counts counts_{};
    uint64_t lost_before_ = 0;
    bool told_of_size_ = false;
    // kept for their memory
    ShownRow row_;
    ElementKeys keys_;
    std::string name_, text_, frame_;
};

} // namespace

std::unique_ptr<Output> make_snapshots_output(const OutputStreams& streams) {
    return std::make_unique<SnapshotsOutput>(streams);
}

} // namespace djstap
