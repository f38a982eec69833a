// SPDX-License-Identifier: GPL-2.0-or-later
// The terminal that --monitor draws on.
#pragma once
#include "diagnostics/result.h"
#include "session/monitor_model.h"

#include <memory>
#include <optional>
#include <span>

namespace djstap {

class MonitorScreen {
  public:
    // Fails if standard input and output are no terminal of a kind that is known.
    static Status check();
    // Takes over the terminal.
    static Result<std::unique_ptr<MonitorScreen>> open();
    // Gives it back.
    ~MonitorScreen();
    MonitorScreen(const MonitorScreen&) = delete;
    MonitorScreen& operator=(const MonitorScreen&) = delete;

    struct Press {
        MonitorKey key;
        char character;
    };
    // Returns a key that was pressed, without waiting. Sets `resized` if the size changed.
    std::optional<Press> key(bool& resized);
    size_t width() const;
    size_t height() const;
    void draw(std::span<const MonitorLine> content);

  private:
    explicit MonitorScreen(void* screen) : screen_(screen) {}

    void* screen_; // ncurses' SCREEN; its header defines macros with common names
};

} // namespace djstap
