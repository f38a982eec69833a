// SPDX-License-Identifier: GPL-2.0-or-later
// Writes call stacks as a profile for pprof: a compressed message Profile of its profile.proto.
// Repeated fields may appear in any order, so samples are written whenever there are many.
#include "session/gzip.h"
#include "session/outputs.h"
#include "session/printed_values.h"
#include "session/stack_samples.h"

#include <protozero/pbf_writer.hpp>
#include <unordered_map>

namespace djstap {

namespace {

namespace profile {
constexpr uint32_t sample_type = 1, sample = 2, location = 4, function = 5, string_table = 6,
                   time_nanos = 9, duration_nanos = 10, comment = 13;
constexpr uint32_t type_name = 1, type_unit = 2;          // ValueType
constexpr uint32_t sample_location = 1, sample_value = 2; // Sample
constexpr uint32_t location_id = 1, location_line = 4;    // Location
constexpr uint32_t line_function = 1;                     // Line
constexpr uint32_t function_id = 1, function_name = 2;    // Function
} // namespace profile

class PprofOutput : public StackOutput {
  public:
    explicit PprofOutput(const OutputStreams& streams)
        : StackOutput(streams), compressed_(streams.writer) {}

    void begin(const ModuleMeta& meta, const RecordClock&) override { name_ = meta.name; }

  private:
    void write(const Samples& samples, bool last) override {
        if (!begun_)
            write_head();
        for (const auto& [stack, count] : samples)
            write_sample(stack, count);
        if (!last)
            return;
        message_.add_int64(profile::time_nanos, static_cast<int64_t>(first_ns()));
        message_.add_int64(profile::duration_nanos, static_cast<int64_t>(last_ns() - first_ns()));
        write_message();
        compressed_.finish();
    }

    void write_head() {
        begun_ = true;
        string(""); // the first one is empty
        const int64_t samples = string("samples"), count = string("count");
        {
            protozero::pbf_writer type(message_, profile::sample_type);
            type.add_int64(profile::type_name, samples);
            type.add_int64(profile::type_unit, count);
        }
        message_.add_int64(profile::comment, string("script " + name_));
        write_message();
    }

    void write_sample(std::string_view stack, int64_t count) {
        locations_.clear();
        for (;;) {
            // Innermost first.
            const size_t begin = stack.rfind(';');
            locations_.push_back(location(stack.substr(begin == stack.npos ? 0 : begin + 1)));
            if (begin == stack.npos)
                break;
            stack = stack.substr(0, begin);
        }
        {
            protozero::pbf_writer sample(message_, profile::sample);
            sample.add_packed_uint64(profile::sample_location, locations_.begin(),
                                     locations_.end());
            sample.add_packed_int64(profile::sample_value, &count, &count + 1);
        }
        write_message();
    }

    // Returns the number of a function, which is that of its location, too. Both are written when
    // it is first seen.
    uint64_t location(std::string_view name) {
        const auto [known, fresh] =
            functions_.try_emplace(std::string(name), functions_.size() + 1);
        const uint64_t id = known->second;
        if (!fresh)
            return id;
        const int64_t text = string(name);
        {
            protozero::pbf_writer function(message_, profile::function);
            function.add_uint64(profile::function_id, id);
            function.add_int64(profile::function_name, text);
        }
        {
            protozero::pbf_writer location(message_, profile::location);
            location.add_uint64(profile::location_id, id);
            protozero::pbf_writer line(location, profile::location_line);
            line.add_uint64(profile::line_function, id);
        }
        return id;
    }

    // Writes a text and returns its number.
    int64_t string(std::string_view text) {
        message_.add_string(profile::string_table, utf8(text));
        return strings_++;
    }

    void write_message() {
        compressed_.append(bytes_);
        bytes_.clear();
    }

    GzipWriter compressed_;
    std::string name_, bytes_;
    protozero::pbf_writer message_{bytes_};
    std::unordered_map<std::string, uint64_t> functions_;
    std::vector<uint64_t> locations_;
    int64_t strings_ = 0;
    bool begun_ = false;
};

} // namespace

std::unique_ptr<Output> make_pprof_output(const OutputStreams& streams) {
    return std::make_unique<PprofOutput>(streams);
}

} // namespace djstap
