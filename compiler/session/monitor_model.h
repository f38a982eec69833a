// SPDX-License-Identifier: GPL-2.0-or-later
// What --monitor shows: the script's globals and probes as tables, and what it printed. Knows
// neither a terminal nor a module: it takes events and keys, and yields lines of text.
#pragma once
#include "session/shown.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace djstap {

// Keys besides characters.
enum class MonitorKey : uint8_t { Character, Up, Down, PageUp, PageDown, Home, End, Left, Right };

// What a key asks of the session.
struct MonitorRequest {
    enum class Kind : uint8_t { Nothing, Quit, Switch } kind = Kind::Nothing;
    std::vector<uint32_t> probes; // Switch: these, …
    bool on = false;              // … on or off
};

// A line on the terminal.
struct MonitorLine {
    enum class Style : uint8_t { Plain, Title, Head, Selected, Off, Message } style = Style::Plain;
    std::string text;
};

class MonitorModel {
  public:
    // `name`: the module's.
    explicit MonitorModel(std::string name) : name_(std::move(name)) {}

    // Takes an event that is part of a snapshot (DJS_SHOWS_BEGIN) and returns true; false: it is
    // something else, which the script printed. The tables change when a snapshot is complete.
    bool take(const Event& event);
    // Takes text that the script printed, in pieces.
    void take_text(std::string_view text);
    // Shows a message between the script's lines.
    void take_message(std::string_view message);
    // Handles a key; `character` is that of MonitorKey::Character.
    MonitorRequest press(MonitorKey key, char character = 0);
    // Reports that a probe could not be switched as requested: it does not count as paused.
    void refuse(uint32_t probe, std::string_view why);
    // Notes the state of a probe.
    void set_switch(uint32_t probe, bool on);

    // Returns what fills a terminal of this size, at most `height` lines of at most `width`
    // characters.
    std::vector<MonitorLine> lines(size_t width, size_t height);
    // Returns whether lines() yields something new since the last call.
    bool changed() const { return changed_; }
    // Returns what the script printed after the last snapshot.
    const std::string& last_text() const { return last_text_; }

  private:
    using Cell = std::variant<int64_t, std::string>;
    using Row = std::vector<Cell>;
    struct Table {
        std::string title;
        std::vector<std::string> columns;
        std::vector<Row> rows;
        size_t keys = 0;      // the first columns identify a row
        size_t sorted_by = 0; // unless the user selects another column: the first value
    };
    // How the user looks at a table.
    struct View {
        std::optional<size_t> sorted_by;
        bool ascending = false;
        // The selected row's keys: it stays selected wherever other values move it. Empty: the
        // first.
        Row selected;
        size_t at = 0, top = 0; // where it was seen last; the first row that fits
    };

    void add(const ShownRow& shown);
    void add_probe(const Row& row);
    Table& table(const std::string& title, std::vector<std::string> columns, size_t keys,
                 size_t sorted_by);
    // Returns the table as it is looked at, and brings the view's selection up to date.
    static Table arranged(Table table, View& view);
    static size_t column_of(const Table& table, const View& view);
    Table* shown();
    MonitorRequest press_character(char character);
    Table* probes(); // null: there is none
    MonitorRequest pause();
    MonitorRequest switch_selected();
    void move(int64_t rows);
    void sort_beside(int direction);
    std::string head_line() const;
    std::string tab_line() const;
    void append_table(std::vector<MonitorLine>& out, size_t width, size_t height);

    std::string name_;
    ShownRow row_;
    std::vector<Table> tables_, next_; // of the last snapshot, and of the one being taken
    bool taking_ = false, frozen_ = false, paused_ = false, changed_ = true;
    uint64_t snapshots_ = 0;
    uint64_t began_ns_ = 0, now_ns_ = 0, before_ns_ = 0; // times of snapshots
    std::map<std::string, View> views_;                  // by title
    std::string shown_;                                  // title of the table that is shown
    std::map<int64_t, int64_t> hits_before_, hits_;      // by probe
    std::set<uint32_t> off_, paused_probes_;
    std::deque<std::string> printed_; // lines; the last one may be incomplete
    std::string last_text_, notice_;
    size_t page_ = 1; // rows that fit
};

} // namespace djstap
