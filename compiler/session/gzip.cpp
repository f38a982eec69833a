// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/gzip.h"

#include <new>
#include <zlib.h>

namespace djstap {

struct GzipWriter::State {
    z_stream stream{};
    char out[1 << 16];
};

GzipWriter::GzipWriter(Writer& writer) : writer_(writer), state_(std::make_unique<State>()) {
    constexpr int largest_window_with_gzip_header = 15 + 16, usual_memory = 8;
    if (deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                     largest_window_with_gzip_header, usual_memory, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc(); // the only reason with these arguments
}

GzipWriter::~GzipWriter() {
    deflateEnd(&state_->stream);
}

void GzipWriter::deflate(std::string_view bytes, bool last) {
    z_stream& stream = state_->stream;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
        stream.next_out = reinterpret_cast<Bytef*>(state_->out);
        stream.avail_out = sizeof state_->out;
        ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
        writer_.append({state_->out, sizeof state_->out - stream.avail_out});
    } while (stream.avail_out == 0);
}

} // namespace djstap
