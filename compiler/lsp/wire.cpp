// SPDX-License-Identifier: GPL-2.0-or-later
#include "lsp/wire.h"

#include "system/file.h"

#include <algorithm>
#include <charconv>
#include <poll.h>
#include <string_view>
#include <strings.h>

namespace djstap::lsp {

namespace {

constexpr size_t largest_message = size_t{64} << 20;
constexpr size_t largest_header = 4096;

// Returns the value of Content-Length; other fields say nothing that matters.
std::optional<size_t> length_in(std::string_view header) {
    constexpr std::string_view field = "Content-Length:";
    while (!header.empty()) {
        const size_t end = header.find("\r\n");
        const std::string_view line = header.substr(0, end);
        if (line.size() > field.size() &&
            strncasecmp(line.data(), field.data(), field.size()) == 0) {
            std::string_view digits = line.substr(field.size());
            digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
            size_t length = 0;
            const auto [rest, error] =
                std::from_chars(digits.data(), digits.data() + digits.size(), length);
            if (error != std::errc() || rest != digits.data() + digits.size() ||
                length > largest_message)
                return std::nullopt;
            return length;
        }
        header = end == std::string_view::npos ? "" : header.substr(end + 2);
    }
    return std::nullopt;
}

} // namespace

bool Wire::fill() {
    char bytes[65536];
    const ssize_t got = read_some(input_, bytes, sizeof bytes);
    if (got > 0)
        buffer_.append(bytes, static_cast<size_t>(got));
    return got > 0;
}

std::optional<std::string> Wire::read() {
    constexpr std::string_view header_end = "\r\n\r\n";
    size_t end = 0;
    while ((end = buffer_.find(header_end)) == std::string::npos)
        if (buffer_.size() > largest_header || !fill())
            return std::nullopt;
    const auto length = length_in(std::string_view(buffer_).substr(0, end));
    if (!length)
        return std::nullopt;
    const size_t begin = end + header_end.size();
    while (buffer_.size() - begin < *length)
        if (!fill())
            return std::nullopt;
    std::string json = buffer_.substr(begin, *length);
    buffer_.erase(0, begin + *length);
    return json;
}

bool Wire::has_more() const {
    if (!buffer_.empty())
        return true;
    pollfd input{.fd = input_, .events = POLLIN, .revents = 0};
    return poll(&input, 1, 0) > 0;
}

bool Wire::write(const std::string& json) const {
    return write_all(output_, "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json);
}

} // namespace djstap::lsp
