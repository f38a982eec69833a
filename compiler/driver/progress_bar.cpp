// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/progress_bar.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace djstap::driver {

namespace {

// What the terminal does not take is not worth an error.
void draw(int file, const std::string& text) {
    if (write(file, text.data(), text.size()) < 0)
        return;
}

} // namespace

ProgressBar::ProgressBar(int file, std::string what, double delay)
    : file_(file), is_terminal_(isatty(file) == 1), what_(std::move(what)), delay_(delay) {}

ProgressBar::~ProgressBar() {
    if (percent_ >= 0)
        draw(file_, "\r\33[K");
}

void ProgressBar::show(double share) {
    constexpr int cells = 30;
    const auto percent = static_cast<int>(std::clamp(share, 0.0, 1.0) * 100);
    if (!is_terminal_ || percent <= percent_ || started_.milliseconds() < delay_)
        return;
    percent_ = percent;
    const auto full = static_cast<size_t>(percent * cells / 100);
    draw(file_, "\r" + what_ + " [" + std::string(full, '#') + std::string(cells - full, ' ') +
                    "] " + std::to_string(percent) + " %");
}

} // namespace djstap::driver
