// SPDX-License-Identifier: GPL-2.0-or-later
// Writes the globals that are printed at the end, and histograms, as one table (RFC 4180, but lines
// end with a newline alone): a row for each number, element, statistic and bucket.
#include "session/histogram.h"
#include "session/message_output.h"
#include "session/outputs.h"
#include "session/printed_values.h"

#include <algorithm>

namespace djstap {

namespace {

// Spreadsheets recognize a field by these characters only if it is quoted.
std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos && !text.starts_with(' ') &&
        !text.ends_with(' '))
        return std::string(text);
    std::string field = "\"";
    for (const char character : text)
        field.append(character == '"' ? 2 : 1, character);
    return field += '"';
}

class CsvOutput : public MessageOutput {
  public:
    using MessageOutput::MessageOutput;

    void begin(const ModuleMeta& meta, const RecordClock&) override {
        bool any = false;
        for (const ModuleMeta::Format& format : meta.formats) {
            any |= !format.shows.empty();
            keys_ = std::max<size_t>(keys_, format.keys);
        }
        if (!any)
            tell(writer().name() + ": the script has neither globals that are printed at the end, "
                                   "which it never reads, "
                                   "nor histograms: the table stays empty");
        std::string head = "kind,name";
        for (size_t key = 1; key <= keys_; key++)
            head.append(",key").append(std::to_string(key));
        writer().append(head + ",value,count,min,max,total,average\n");
    }

    void print(const Event& event) override {
        if (event.is_text() || event.format.shows.empty())
            return;
        std::string begin = "," + csv_field(event.format.shows);
        std::vector<std::string> values;
        Arguments arguments = event.values();
        for (size_t i = 0; arguments.left(); i++) {
            const auto argument = arguments.next();
            if (!argument)
                return;
            std::string field;
            if (const auto* histogram = std::get_if<HistogramArgument>(&*argument)) {
                put_buckets(begin + missing_keys(i), *histogram);
                return;
            }
            if (const auto* text = std::get_if<std::string_view>(&*argument))
                field = csv_field(*text);
            else if (const auto* stack = std::get_if<StackArgument>(&*argument))
                field = csv_field(stack->text());
            else
                field = std::to_string(std::get<int64_t>(*argument));
            if (i < event.format.keys)
                begin += "," + field;
            else
                values.push_back(std::move(field));
        }
        begin += missing_keys(event.format.keys);
        if (values.size() == statistic_numbers)
            put("stats", begin,
                "," + values[0] + "," + values[1] + "," + values[2] + "," + values[3] + "," +
                    values[4]);
        else if (values.size() == 1)
            put("map", begin, values[0] + ",,,,,");
    }

  private:
    std::string missing_keys(size_t keys) const {
        return std::string(keys_ - std::min(keys_, keys), ',');
    }

    void put(const char* kind, const std::string& begin, const std::string& values) {
        writer().append(kind + begin + "," + values + "\n");
    }

    void put_buckets(const std::string& begin, const HistogramArgument& histogram) {
        const auto field = [](const std::optional<int64_t>& bound) {
            return bound ? std::to_string(*bound) : std::string();
        };
        for (const HistogramRow& row : rows_of(histogram))
            put("hist", begin,
                "," + std::to_string(row.count) + "," + field(row.least) + "," + field(row.most) +
                    ",,");
    }

    size_t keys_ = 0;
};

} // namespace

std::unique_ptr<Output> make_csv_output(const OutputStreams& streams) {
    return std::make_unique<CsvOutput>(streams);
}

} // namespace djstap
