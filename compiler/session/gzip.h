// SPDX-License-Identifier: GPL-2.0-or-later
// Compression of an output while it is written.
#pragma once
#include "session/writer.h"

#include <memory>
#include <string_view>

namespace djstap {

class GzipWriter {
  public:
    explicit GzipWriter(Writer& writer);
    ~GzipWriter();
    GzipWriter(const GzipWriter&) = delete;
    GzipWriter& operator=(const GzipWriter&) = delete;

    void append(std::string_view bytes) { deflate(bytes, false); }
    // Writes the end of the stream; called once.
    void finish() { deflate({}, true); }

  private:
    void deflate(std::string_view bytes, bool last);

    struct State;
    Writer& writer_;
    std::unique_ptr<State> state_;
};

} // namespace djstap
