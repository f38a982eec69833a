// Where a session's results go: one interface, text and JSON behind it.
#pragma once
#include "diagnostics/result.h"
#include "include/control.h"
#include "session/meta.h"
#include "system/descriptor.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// Collects bytes and writes them in large pieces.
class Writer {
  public:
    // Does not own `fd`. `name` stands in messages ("the output", "FILE").
    Writer(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

    void append(std::string_view bytes);
    // Room for `size` bytes behind what was appended; advance() says how many are used.
    char* reserve(size_t size) {
        if (used_ + size > buffer_.size())
            grow(size);
        return buffer_.data() + used_;
    }
    void advance(size_t size) {
        used_ += size;
        if (used_ >= flush_at)
            flush();
    }
    void flush();
    // 0, or errno of the write that failed: all after it is dropped. EPIPE: the reader has gone.
    int error() const { return error_; }
    const std::string& name() const { return name_; }

  private:
    static constexpr size_t flush_at = 256 * 1024;
    void grow(size_t size);

    int fd_;
    std::string name_;
    std::vector<char> buffer_;
    size_t used_ = 0;
    int error_ = 0;
};

// Makes the file that the output goes to (-o), or empties it. No descriptor where `path` is empty.
Result<FileDescriptor> open_output(const std::string& path);

// A probe as it was attached, or all that were attached alike of those that a module does not list.
struct AttachedProbe {
    std::string point; // empty: `sites` probes that are not listed
    uint64_t sites = 1;
    std::string mechanism; // in use
    std::string planned;   // by the compiler; empty: not told
    std::string reason; // why these differ, or why it is not attached; empty where it is as planned
    bool attached = true;
    uint64_t missed = 0;
};

class Output {
  public:
    virtual ~Output() = default;
    // What a format of the script and the arguments of a record print.
    virtual void print(const ModuleMeta::Format& format, std::string_view arguments) = 0;
    // A text of the script as it is.
    virtual void text(std::string_view text) = 0;
    // A run-time error of the script; `place` may be empty.
    virtual void error(std::string_view message, std::string_view place) = 0;
    virtual void warning(std::string_view message) = 0;
    // Called once, when they are attached.
    virtual void probes(const std::vector<AttachedProbe>& probes) = 0;
    // What was lost or skipped; called once, at the end.
    virtual void counts(const djs_counts& counts) = 0;
    virtual Writer& writer() = 0;
    // Whether what is printed goes to writer() as it is.
    virtual bool prints_text() const = 0;
};

// Prints go to `writer`; errors, warnings and counts that are not zero to `messages`, in their
// place: what was printed before is written first.
std::unique_ptr<Output> make_text_output(Writer& writer, Writer& messages, bool warnings,
                                         bool verbose);
// One JSON object a line, {"type": …, "data": …}, all to `writer`: docs/json.md.
std::unique_ptr<Output> make_json_output(Writer& writer);

// What is said when a session ended because its script read where no memory is.
inline constexpr const char* ended_by_fault =
    "that ended the session: try { … } catch { … } handles what cannot be read where it happens, "
    "--suppress-handler-errors goes on without that hit";

// "12 records were lost because …", one for each count that is not zero; errors are left out.
std::vector<std::string> describe_counts(const djs_counts& counts);

} // namespace djstap
