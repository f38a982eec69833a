// SPDX-License-Identifier: GPL-2.0-or-later
// The destination of an output's bytes.
#pragma once
#include "diagnostics/result.h"
#include "system/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Precedes each piece of a writer that shares its descriptor. The pieces that follow one with the
// number `channel | next_file` and no bytes belong into the channel's next file.
struct PieceHeader {
    static constexpr uint32_t next_file = 1u << 31;
    uint32_t channel, bytes;
};

// How much a write to a pipe or socket takes at a time: whole lines, if there may be another
// writer, such as the command of -c. It does not interrupt them unless they are longer than
// PIPE_BUF.
enum class Lines { AnyPart, Whole };

// Writes everything, and waits for the reader meanwhile. Once StopSignals counts a request to stop,
// it gives up (ETIME) if the reader takes nothing for ten seconds, or, after another request, for
// one. Returns 0, or errno.
int write_to_reader(int fd, std::string_view bytes, Lines lines = Lines::AnyPart);

// Collects bytes and writes them in large pieces.
class Writer {
  public:
    // Does not own `fd`. `name` is used in messages ("the output", "FILE").
    Writer(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
    // Shares `fd` with other writers: each piece follows a header.
    Writer(int fd, std::string name, uint32_t channel)
        : fd_(fd), name_(std::move(name)), channel_(channel) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void append(std::string_view bytes);
    // Returns room for `size` bytes behind what was appended; advance() tells how many are used.
    char* reserve(size_t size) {
        if (size > static_cast<size_t>(end_ - at_))
            grow(size);
        return at_;
    }
    void advance(size_t size) { advance_to(at_ + size); }
    // The same for the end of what is used.
    void advance_to(char* end) {
        at_ = end;
        if (at_ >= flush_from_)
            flush_lines();
    }
    void flush();
    // Makes next_file() write to `path`.1, `path`.2 and so on.
    void count_files(std::string path) { path_ = std::move(path); }
    // Continues in the next file, without effect for what is not a file. If it cannot be created,
    // that is an error().
    void next_file();
    // Returns 0, or errno of the write that failed: all later output is dropped. EPIPE: the reader
    // is gone.
    int error() const { return error_; }
    const std::string& name() const { return name_; }

  private:
    static constexpr size_t flush_at = 256 * 1024;
    void grow(size_t size);
    void flush_first(size_t size);
    void flush_lines();
    void write_all(const char* bytes, size_t size);

    int fd_;
    std::string name_, path_;
    uint64_t files_ = 0; // numbered ones so far
    std::optional<uint32_t> channel_;
    std::vector<char> buffer_;
    // in the buffer: behind what is used, and from where on that is enough to be written
    char *at_ = nullptr, *end_ = nullptr, *flush_from_ = nullptr;
    int error_ = 0;
};

// Creates or truncates the output file (-o). Returns no descriptor if `path` is empty.
Result<FileDescriptor> open_output(const std::string& path);
// Creates or truncates number `number` of the files that follow `path`, and has the descriptor `fd`
// refer to it. Returns 0, or errno.
int open_next_output(const std::string& path, uint64_t number, int fd);

} // namespace djstap
