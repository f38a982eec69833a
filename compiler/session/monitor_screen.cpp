// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/monitor_screen.h"

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <ncurses.h>
#include <term.h>
#include <unistd.h>

namespace djstap {

namespace {

attr_t attributes_of(MonitorLine::Style style) {
    switch (style) {
    case MonitorLine::Style::Title:
        return A_REVERSE;
    case MonitorLine::Style::Head:
        return A_BOLD | A_UNDERLINE;
    case MonitorLine::Style::Selected:
        return A_STANDOUT;
    case MonitorLine::Style::Off:
        return A_DIM;
    case MonitorLine::Style::Message:
        return A_BOLD;
    case MonitorLine::Style::Plain:
        break;
    }
    return A_NORMAL;
}

} // namespace

Status MonitorScreen::check() {
    const char* kind = std::getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return Failure{"the monitor needs a terminal for its keys and its tables, but standard " +
                           std::string(isatty(STDIN_FILENO) ? "output" : "input") + " is not one",
                       "without --monitor, the globals that the script never reads are printed at "
                       "the end"};
    int known = 0;
    if (setupterm(kind, STDOUT_FILENO, &known) != OK)
        return Failure{"the monitor does not know the terminal '" + std::string(kind ? kind : "") +
                           "'",
                       "set TERM to a kind of terminal that infocmp knows"};
    del_curterm(cur_term);
    return Done();
}

Result<std::unique_ptr<MonitorScreen>> MonitorScreen::open() {
    if (auto checked = check(); !checked)
        return checked.failure();
    std::setlocale(LC_CTYPE, "");
    SCREEN* const screen = newterm(nullptr, stdout, stdin);
    if (!screen)
        return Failure{"the monitor cannot use this terminal", ""};
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    return std::unique_ptr<MonitorScreen>(new MonitorScreen(screen));
}

MonitorScreen::~MonitorScreen() {
    endwin();
    delscreen(static_cast<SCREEN*>(screen_));
}

std::optional<MonitorScreen::Press> MonitorScreen::key(bool& resized) {
    for (;;) {
        const int code = getch();
        switch (code) {
        case ERR:
            return std::nullopt;
        case KEY_RESIZE:
            resized = true;
            continue;
        case KEY_UP:
            return Press{MonitorKey::Up, 0};
        case KEY_DOWN:
            return Press{MonitorKey::Down, 0};
        case KEY_PPAGE:
            return Press{MonitorKey::PageUp, 0};
        case KEY_NPAGE:
            return Press{MonitorKey::PageDown, 0};
        case KEY_HOME:
            return Press{MonitorKey::Home, 0};
        case KEY_END:
            return Press{MonitorKey::End, 0};
        case KEY_LEFT:
            return Press{MonitorKey::Left, 0};
        case KEY_RIGHT:
            return Press{MonitorKey::Right, 0};
        default:
            if (code > 0 && code < 128)
                return Press{MonitorKey::Character, static_cast<char>(code)};
        }
    }
}

size_t MonitorScreen::width() const {
    return static_cast<size_t>(std::max(0, getmaxx(stdscr)));
}

size_t MonitorScreen::height() const {
    return static_cast<size_t>(std::max(0, getmaxy(stdscr)));
}

void MonitorScreen::draw(std::span<const MonitorLine> content) {
    erase();
    int row = 0;
    for (const MonitorLine& line : content) {
        attrset(static_cast<int>(attributes_of(line.style)));
        mvaddstr(row++, 0, line.text.c_str());
    }
    attrset(A_NORMAL);
    refresh();
}

} // namespace djstap
