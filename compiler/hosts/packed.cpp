// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/packed.h"

#include <zlib.h>

namespace djstap::hosts {

std::string gzipped(std::string_view bytes) {
    constexpr int gzip_window = 15 + 16, memory = 8;
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, memory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return {};
    std::string packed(deflateBound(&stream, bytes.size()), '\0');
    // zlib does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    packed.resize(is_whole ? stream.total_out : 0);
    deflateEnd(&stream);
    return packed;
}

} // namespace djstap::hosts
