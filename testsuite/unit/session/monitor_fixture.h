// SPDX-License-Identifier: GPL-2.0-or-later
// What --monitor shows of snapshots that are made up.
#pragma once
#include "session/monitor_model.h"

#include "record_bytes.h"

#include <gtest/gtest.h>
#include <string>

namespace djstap {

class Monitor : public testing::Test {
  protected:
    // Passes on what a record of this format contains.
    bool event(const ModuleMeta::Format& format, const std::string& arguments) {
        const Event each{0, cycles_, clock_, format, arguments};
        return model_.take(each);
    }
    void mark(const char* shows) { event({"%d", "l", shows, 0}, number(1000)); }
    void probe(int64_t index, const std::string& points, int64_t hits) {
        event({"%d %s %d %d %d %d %d", "lslllll", DJS_SHOWS_PROBE, 2},
              number(index) + text(points) + number(hits) + number(1) + number(3) +
                  number(2 * hits) + number(2));
    }
    void scalar(const std::string& name, int64_t value) {
        event({name + "=%d\n", "l", name, 0}, number(value));
    }
    void element(const std::string& array, const std::string& key, int64_t value) {
        event({array + "[\"%s\"]=%d\n", "sl", array, 1}, text(key) + number(value));
    }
    // A snapshot of two probes, a scalar and an array.
    void snapshot(int64_t first_hits, int64_t second_hits) {
        cycles_ += 2'000'000'000;
        mark(DJS_SHOWS_BEGIN);
        probe(0, "first", first_hits);
        probe(1, "second", second_hits);
        scalar("n", first_hits + second_hits);
        element("a", "few", second_hits);
        element("a", "many", first_hits + second_hits);
        mark(DJS_SHOWS_END);
    }
    std::string screen(size_t width = 100, size_t height = 12) {
        std::string all;
        for (const MonitorLine& line : model_.lines(width, height)) {
            std::string shown = line.text;
            shown.erase(shown.find_last_not_of(' ') + 1);
            all += (line.style == MonitorLine::Style::Selected ? ">"
                    : line.style == MonitorLine::Style::Off    ? "-"
                                                               : " ") +
                   shown + "\n";
        }
        // Without the title, which has the keys.
        return all.substr(all.find('\n') + 1);
    }
    MonitorRequest press(char character) { return model_.press(MonitorKey::Character, character); }

    RecordClock clock_{djs_clock{1, 1, 1, 1'000'000, 0}}; // a cycle is a nanosecond
    uint64_t cycles_ = 0;
    MonitorModel model_{"m"};
};

} // namespace djstap
