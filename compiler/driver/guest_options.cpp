// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/guest_options.h"
#include "system/number.h"

#include <cctype>
#include <limits>
#include <string_view>
#include <unistd.h>

namespace djstap::driver {

namespace {

constexpr int64_t min_memory = 128, min_disk = 16, max_disk = 16 << 20;

// Parses "512", "512M", "2G", "1T" to megabytes; returns nothing if it is not a size.
std::optional<int64_t> megabytes(std::string_view text) {
    constexpr std::string_view units = "MGT";
    size_t unit = 0;
    if (!text.empty() && !isdigit(static_cast<unsigned char>(text.back()))) {
        unit = units.find(static_cast<char>(toupper(text.back())));
        text.remove_suffix(1);
    }
    int64_t value = 0;
    if (unit == units.npos || !parse_number(text, value) || value < 0 ||
        value > std::numeric_limits<int32_t>::max())
        return std::nullopt;
    return value << (10 * unit);
}

Failure no_size(const std::string& given) {
    return {given + ": not a valid size", "a size is a number with M, G or T, such as 2G"};
}

std::optional<Failure> take_shape(const std::string& memory, const std::string& disk,
                                  Options& options) {
    if (!memory.empty()) {
        const std::string given = "--guest-memory=" + memory;
        const auto here = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) / 256;
        const auto size = megabytes(memory);
        if (!size)
            return no_size(given);
        if (*size < min_memory || *size > here)
            return Failure{given + ": a guest's memory must be from " + std::to_string(min_memory) +
                               "M to this machine's " + std::to_string(here) + "M",
                           ""};
        options.guest_memory_mb = static_cast<unsigned>(*size);
    }
    if (!disk.empty()) {
        const std::string given = "--guest-disk=" + disk;
        const auto size = megabytes(disk);
        if (!size)
            return no_size(given);
        if (*size && (*size < min_disk || *size > max_disk))
            return Failure{given + ": a guest's disk must be from " + std::to_string(min_disk) +
                               "M to 16T, or 0 for none",
                           ""};
        options.guest_disk_mb = static_cast<unsigned>(*size);
    }
    return std::nullopt;
}

} // namespace

std::optional<Failure> take_guest(const GuestWords& words, Options& options) {
    if (words.given || options.guest_root)
        options.guest = words.release == "newest" ? "" : words.release;
    if (!options.guest && (!words.memory.empty() || !words.disk.empty()))
        return Failure{"--guest-memory and --guest-disk require a guest",
                       "--guest runs the script in a guest"};
    if (options.guest && options.guest->empty())
        options.guest = options.kernel;
    if (options.guest && !options.kernel.empty() && *options.guest != options.kernel)
        return Failure{"--guest=" + *options.guest + " and -r " + options.kernel +
                           " name different kernels",
                       "--guest alone runs the kernel of -r"};
    return take_shape(words.memory, words.disk, options);
}

} // namespace djstap::driver
