// SPDX-License-Identifier: GPL-2.0-or-later
// What --output=snapshots writes: frames with all globals of a script, regularly and at its end.
// Each is a message of protobuf (docs/snapshots.proto) behind its length.
#pragma once
#include "diagnostics/result.h"
#include "include/control.h"
#include "include/record.h"
#include "session/meta.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace djstap {

// The buckets that all histograms of a global have.
struct HistogramShape {
    uint32_t kind = 0; // enum djs_histogram_kind
    uint32_t buckets = 0;
    int64_t low = 0, high = 0, width = 0;
    bool operator==(const HistogramShape&) const = default;
};

// The keys of an element as bytes, equal if all keys are.
class ElementKeys {
  public:
    void add(int64_t number);
    void add(std::string_view text);
    const std::string& bytes() const { return bytes_; }
    void clear() { bytes_.clear(); }

  private:
    std::string bytes_;
};
using ElementKey = std::variant<int64_t, std::string_view>;
// Returns the keys; nothing if the bytes are none.
std::optional<std::vector<ElementKey>> keys_of(std::string_view bytes);

// The value of a scalar, or of an array's element.
struct GlobalElement {
    // The numbers of a statistic.
    enum Number : uint8_t { Count, Min, Max, Sum, Average };
    std::string keys; // ElementKeys; empty: a scalar
    // A number has one, a statistic five, a text none.
    std::array<int64_t, 5> numbers{};
    uint8_t has = 0;
    std::string text;
    std::vector<int64_t> buckets; // of its histogram; empty: none was shown
};

struct GlobalValues {
    uint32_t index = 0; // in the description's globals
    std::optional<HistogramShape> shape;
    std::vector<GlobalElement> elements;
};

// All globals at one moment. A global without any element is missing.
struct GlobalsFrame {
    uint64_t monotonic_ns = 0, realtime_ns = 0;
    // Records were lost since the previous one: elements may be missing.
    bool incomplete = false;
    djs_counts counts{};
    std::vector<GlobalValues> globals;
};

// The first frame: what the script is.
struct DescriptionFrame {
    std::string name, script, release, build_id;
    std::vector<ModuleMeta::Global> globals;
};

// What the script printed.
struct PrintedFrame {
    uint64_t realtime_ns = 0;
    std::string text;
};

// An error or a warning.
struct MessageFrame {
    bool is_error = false;
    std::string text, place;
};

// The last frame.
struct EndFrame {
    djs_counts counts{};
};

using SnapshotFrame =
    std::variant<DescriptionFrame, GlobalsFrame, PrintedFrame, MessageFrame, EndFrame>;

// Appends a frame to `out`.
void put_frame(std::string& out, const SnapshotFrame& frame);

// Takes a stream in pieces, and returns its frames.
class SnapshotReader {
  public:
    void add(std::string_view bytes) { bytes_.append(bytes); }
    // Returns the next frame; nothing if it is not complete; a Failure if the stream is damaged.
    Result<std::optional<SnapshotFrame>> next();
    // Returns whether the stream ends between two frames here.
    bool at_border() const { return at_ == bytes_.size(); }

  private:
    std::string bytes_;
    size_t at_ = 0; // what was returned
};

struct RecordedFrames {
    std::vector<SnapshotFrame> frames;
    std::string problem; // why they are not all; empty: they are
};
// Returns the frames of a file, up to where it is cut off or damaged. Fails if it cannot be read.
Result<RecordedFrames> read_frames(const std::string& path);

// Returns the range of values of a bucket as text: "8..15", "<=-1", ">=100".
std::string bucket_text(const HistogramShape& shape, uint32_t bucket);

} // namespace djstap
