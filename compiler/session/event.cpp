// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/event.h"

namespace djstap {

const ModuleMeta::Format Event::as_it_is = {"%s", "s"};

std::optional<Argument> Arguments::next() {
    if (types_.empty())
        return std::nullopt;
    const char type = types_.front();
    types_.remove_prefix(1);
    if (type == 's' || type == 'n') {
        const auto text = type == 's' ? take_text(bytes_) : take_name(bytes_);
        return text ? std::optional<Argument>(*text) : std::nullopt;
    }
    if (type != 'h') {
        const auto number = take_number(bytes_);
        return number ? std::optional<Argument>(*number) : std::nullopt;
    }
    HistogramArgument histogram{};
    if (bytes_.size() < sizeof histogram.header)
        return std::nullopt;
    std::memcpy(&histogram.header, bytes_.data(), sizeof histogram.header);
    bytes_.remove_prefix(sizeof histogram.header);
    if (bytes_.size() / sizeof(int64_t) < histogram.header.buckets)
        return std::nullopt;
    histogram.buckets = bytes_.substr(0, histogram.header.buckets * sizeof(int64_t));
    bytes_.remove_prefix(histogram.buckets.size());
    return histogram;
}

} // namespace djstap
