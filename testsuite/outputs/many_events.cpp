// SPDX-License-Identifier: GPL-2.0-or-later
// Writes many records, which are made up, with one output: many_events COUNT FORMAT FILE. Prints
// the CPU time that it took in milliseconds, and the most memory that the process had, in KB.
#include "session/printer.h"
#include "session/session_output.h"
#include "system/file.h"
#include "system/number.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace djstap;

namespace {

constexpr int64_t threads = 16, stacks = 500, depth = 12, most_elements = 2000;

class Records {
  public:
    Records& begin(uint32_t id, uint64_t time) {
        bytes_.assign(sizeof(djs_record), '\0');
        id_ = id;
        time_ = time;
        return *this;
    }
    template <class Value> Records& add(Value value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    Records& add_text(std::string_view text) {
        add(static_cast<uint32_t>(text.size()));
        bytes_ += text;
        bytes_.resize(DJS_ALIGN8(bytes_.size()));
        return *this;
    }
    void print(RecordPrinter& printer) {
        auto* record = reinterpret_cast<djs_record*>(bytes_.data());
        record->size = static_cast<uint32_t>(bytes_.size());
        record->id = id_;
        record->time = time_;
        printer.print(*record, static_cast<uint32_t>(time_ % 4));
    }

  private:
    std::string bytes_;
    uint32_t id_ = 0;
    uint64_t time_ = 0;
};

// getrusage() would also count what the parent process had before exec.
long most_memory_kb() {
    constexpr std::string_view name = "VmHWM:";
    const auto status = read_file("/proc/self/status");
    const size_t at = status ? status->find(name) : std::string::npos;
    return at == std::string::npos ? -1
                                   : std::strtol(status->c_str() + at + name.size(), nullptr, 10);
}

ModuleMeta made_up(std::string_view format) {
    ModuleMeta meta;
    meta.name = "many";
    if (format == "csv") {
        meta.formats = {{"a[%d]=%d\n", "ll", "a", 1}};
    } else if (format == "folded" || format == "svg" || format == "pprof") {
        meta.formats = {{"%s %s\n", "sk"}};
    } else {
        meta.formats = {{"reads fd=%d name=%s\n", "ls"}, {"returns %d\n", "l"}};
        meta.fields = DJS_EVENT_PROBE | DJS_EVENT_PID | DJS_EVENT_TID;
        meta.points = {"kernel.function(\"vfs_read@fs/read_write.c:450\").call",
                       "kernel.function(\"vfs_read@fs/read_write.c:450\").return"};
    }
    return meta;
}

} // namespace

int main(int argc, char** argv) {
    int64_t count = 0;
    if (argc != 4 || !parse_number(argv[1], count)) {
        std::fprintf(stderr, "many_events COUNT FORMAT FILE\n");
        return 2;
    }
    const std::string name = argv[2];
    SessionOptions options;
    auto request = parse_output(name + ":" + argv[3]);
    if (!request)
        return 2;
    options.outputs.requests = {*request};
    const ModuleMeta meta = made_up(name);
    auto opened = SessionOutput::open(options, false);
    if (!opened) {
        std::fprintf(stderr, "%s\n", opened.failure().message.c_str());
        return 1;
    }
    djs_clock loaded{};
    loaded.cycles = 1;
    loaded.monotonic_ns = 1;
    loaded.realtime_ns = 1'700'000'000'000'000'000;
    loaded.cycles_khz = 2'000'000;
    const RecordClock clock(loaded);
    const std::clock_t began = std::clock();
    {
        RecordPrinter printer(meta, clock, (*opened)->output());
        Records records;
        for (int64_t i = 0; i < count; i++) {
            const auto time = static_cast<uint64_t>(1000 + 300 * i);
            const bool returns = meta.fields && i % 2;
            records.begin(returns ? 1 : 0, time);
            if (name == "csv") {
                records.add(i % most_elements).add(i);
            } else if (meta.fields) {
                const auto thread = static_cast<int32_t>(100 + i / 2 % threads);
                records.add(int32_t{100}).add(thread).add(uint64_t{returns});
                if (returns)
                    records.add(i);
                else
                    records.add(i % 10).add_text("some/file");
            } else {
                records.add_text("program").add(depth);
                for (int64_t frame = 0; frame < depth; frame++)
                    records.add(0xffffffff81000000 +
                                static_cast<uint64_t>(frame * 4096 + i % stacks * (frame < 4)));
            }
            records.print(printer);
        }
        printer.finish();
    }
    if (auto ended = (*opened)->end(); !ended) {
        std::fprintf(stderr, "%s\n", ended.failure().message.c_str());
        return 1;
    }
    std::printf("%ld %ld\n", static_cast<long>((std::clock() - began) * 1000 / CLOCKS_PER_SEC),
                most_memory_kb());
    return 0;
}
