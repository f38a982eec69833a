// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/monitor_model.h"

#include "diagnostics/plain_text.h"
#include "session/printed_values.h"

#include <algorithm>
#include <array>
#include <utility>

namespace djstap {

namespace {

constexpr const char* probes_title = "probes";
constexpr const char* globals_title = "globals";
constexpr const char* statistics_title = "statistics";
constexpr size_t kept_lines = 1000;
constexpr size_t printed_rows = 6; // at most, below a table
enum ProbeColumn : uint8_t { Number, State, Hits, Rate, Average, Least, Most, Sum, Points };

// Replaces control characters, which a terminal would obey.
std::string printable(std::string_view text) {
    std::string clean = without_controls(utf8(text));
    std::ranges::replace(clean, '\t', ' ');
    std::ranges::replace(clean, '\n', '?');
    return clean;
}

bool continues_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

size_t width_of(std::string_view text) {
    return static_cast<size_t>(
        std::ranges::count_if(text, [](char byte) { return !continues_character(byte); }));
}

// Cuts or pads a text to this many characters.
std::string fitted(std::string_view text, size_t width, bool right = false) {
    const size_t has = width_of(text);
    if (has <= width) {
        const std::string blanks(width - has, ' ');
        return right ? blanks + std::string(text) : std::string(text) + blanks;
    }
    size_t end = 0, count = 0;
    while (end < text.size() && (count < width || continues_character(text[end])))
        count += !continues_character(text[end++]);
    return std::string(text.substr(0, end));
}

// Returns where the lines begin that fit into so many bytes at the end of a text.
size_t first_kept(std::string_view text, size_t bytes) {
    const size_t newline = text.find('\n', text.size() - bytes);
    return newline == std::string_view::npos ? text.size() - bytes : newline + 1;
}

std::string seconds_text(uint64_t ns) {
    constexpr uint64_t ns_a_second = 1'000'000'000;
    const uint64_t seconds = ns / ns_a_second;
    const std::string rest = std::to_string(seconds % 60);
    return std::to_string(seconds / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest;
}

// The cells that tell which row it is, whatever its values.
template <class Row> Row identity(const Row& row, size_t keys) {
    return {row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys)};
}

// An array may have the name of a table that is not an array's.
std::string title_of_array(const std::string& name) {
    const bool is_taken = name == probes_title || name == globals_title || name == statistics_title;
    return is_taken ? name + "[]" : name;
}

std::string column_of_key(size_t key, size_t keys) {
    return keys == 1 ? "key" : "key " + std::to_string(key + 1);
}

} // namespace

// ---- what it takes ------------------------------------------------------------------------------

bool MonitorModel::take(const Event& event) {
    if (event.is_text() || event.format.shows.empty())
        return false;
    const bool begins = event.format.shows == DJS_SHOWS_BEGIN;
    if (!begins && !taking_)
        return false;
    if (!read_shown(event, row_))
        return true;
    switch (row_.kind) {
    case ShownRow::Kind::Begin:
        taking_ = true;
        next_.clear();
        hits_before_ = std::exchange(hits_, {});
        before_ns_ = std::exchange(now_ns_, event.monotonic_ns());
        if (snapshots_ == 0)
            began_ns_ = now_ns_;
        return true;
    case ShownRow::Kind::Probe:
    case ShownRow::Kind::Global:
        add(row_);
        return true;
    case ShownRow::Kind::End:
        break;
    }
    taking_ = false;
    snapshots_++;
    last_text_.clear();
    if (!frozen_) {
        tables_ = std::move(next_);
        changed_ = true;
    }
    return true;
}

void MonitorModel::add(const ShownRow& shown) {
    if (shown.is_histogram)
        return;
    Row row;
    for (const Argument& argument : shown.cells) {
        if (const auto* number = std::get_if<int64_t>(&argument))
            row.emplace_back(*number);
        else if (const auto* text = std::get_if<std::string_view>(&argument))
            row.emplace_back(printable(*text));
        else if (const auto* stack = std::get_if<StackArgument>(&argument))
            row.emplace_back(stack->text());
    }
    const size_t keys = shown.keys;
    if (shown.kind == ShownRow::Kind::Probe) {
        if (shown.is_statistic && keys == 2)
            add_probe(row);
        return;
    }
    std::vector<std::string> columns;
    std::string title = title_of_array(std::string(shown.name));
    if (keys == 0) {
        title = shown.is_statistic ? statistics_title : globals_title;
        columns.emplace_back("name");
        row.insert(row.begin(), std::string(shown.name));
    }
    for (size_t i = 0; i < keys; i++)
        columns.push_back(column_of_key(i, keys));
    const size_t first_value = columns.size();
    if (shown.is_statistic)
        columns.insert(columns.end(), {"count", "min", "max", "sum", "average"});
    else
        columns.emplace_back("value");
    table(title, std::move(columns), first_value, first_value).rows.push_back(std::move(row));
}

void MonitorModel::add_probe(const Row& row) {
    const auto* number = std::get_if<int64_t>(&row[0]);
    std::array<int64_t, statistic_numbers> of{};
    for (size_t i = 0; i < of.size(); i++)
        if (const auto* value = std::get_if<int64_t>(&row[2 + i]))
            of[i] = *value;
    if (!number)
        return;
    hits_[*number] = of[0];
    const auto before = hits_before_.find(*number);
    constexpr int64_t ms_a_second = 1000;
    const int64_t passed_ms = static_cast<int64_t>((now_ns_ - before_ns_) / 1'000'000);
    int64_t rate = 0;
    if (before != hits_before_.end() && before_ns_ && passed_ms > 0)
        rate = (of[0] - before->second) * ms_a_second / passed_ms;
    const bool off = off_.contains(static_cast<uint32_t>(*number));
    Table& probes = table(probes_title,
                          {"#", "on", "hits", "hits/s", "average", "min", "max", "cycles", "probe"},
                          ProbeColumn::State, ProbeColumn::Hits);
    probes.rows.push_back({*number, std::string(off ? "off" : "on"), of[0], rate, of[4], of[1],
                           of[2], of[3], row[1]});
}

MonitorModel::Table& MonitorModel::table(const std::string& title, std::vector<std::string> columns,
                                         size_t keys, size_t sorted_by) {
    const auto found = std::ranges::find(next_, title, &Table::title);
    if (found != next_.end() && found->columns == columns)
        return *found;
    next_.push_back({title, std::move(columns), {}, keys, sorted_by});
    return next_.back();
}

void MonitorModel::take_text(std::string_view text) {
    constexpr size_t kept_bytes = 64 * 1024;
    last_text_.append(text);
    if (last_text_.size() > kept_bytes)
        last_text_.erase(0, first_kept(last_text_, kept_bytes));
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        if (printed_.empty())
            printed_.emplace_back();
        if (printed_.back().size() < kept_bytes)
            printed_.back().append(text.substr(begin, end - begin));
        if (end < text.size())
            printed_.emplace_back();
        begin = end + 1;
    }
    while (printed_.size() > kept_lines)
        printed_.pop_front();
    changed_ = true;
}

void MonitorModel::take_message(std::string_view message) {
    if (!printed_.empty() && !printed_.back().empty())
        printed_.emplace_back();
    if (printed_.empty())
        printed_.emplace_back();
    printed_.back() = message;
    printed_.emplace_back();
    changed_ = true;
}

void MonitorModel::refuse(uint32_t probe, std::string_view why) {
    notice_ = why;
    paused_probes_.erase(probe);
    if (paused_probes_.empty())
        paused_ = false;
    changed_ = true;
}

void MonitorModel::set_switch(uint32_t probe, bool on) {
    if (on)
        off_.erase(probe);
    else
        off_.insert(probe);
    for (Table& each : tables_)
        if (each.title == probes_title)
            for (Row& row : each.rows)
                if (std::get<int64_t>(row[ProbeColumn::Number]) == int64_t{probe})
                    row[ProbeColumn::State] = std::string(on ? "on" : "off");
    changed_ = true;
}

// ---- keys ---------------------------------------------------------------------------------------

MonitorModel::Table* MonitorModel::shown() {
    if (tables_.empty())
        return nullptr;
    const auto found = std::ranges::find(tables_, shown_, &Table::title);
    return found == tables_.end() ? tables_.data() : &*found;
}

MonitorRequest MonitorModel::press(MonitorKey key, char character) {
    changed_ = true;
    notice_.clear();
    const auto page = static_cast<int64_t>(page_);
    constexpr int64_t all = INT32_MAX;
    switch (key) {
    case MonitorKey::Character:
        return press_character(character);
    case MonitorKey::Up:
        move(-1);
        break;
    case MonitorKey::Down:
        move(1);
        break;
    case MonitorKey::PageUp:
        move(-page);
        break;
    case MonitorKey::PageDown:
        move(page);
        break;
    case MonitorKey::Home:
        move(-all);
        break;
    case MonitorKey::End:
        move(all);
        break;
    case MonitorKey::Left:
        sort_beside(-1);
        break;
    case MonitorKey::Right:
        sort_beside(1);
        break;
    }
    return {};
}

MonitorRequest MonitorModel::press_character(char character) {
    Table* const now = shown();
    switch (character) {
    case 'q':
        return {MonitorRequest::Kind::Quit, {}, false};
    case 'p':
        return pause();
    case ' ':
        return switch_selected();
    case 'f':
        frozen_ = !frozen_;
        return {};
    case 'r':
        if (now)
            views_[now->title].ascending = !views_[now->title].ascending;
        return {};
    case '\t':
        if (now) {
            const size_t next = static_cast<size_t>(now - tables_.data()) + 1;
            shown_ = tables_[next % tables_.size()].title;
        }
        return {};
    case '<':
        sort_beside(-1);
        return {};
    case '>':
    case 's':
        sort_beside(1);
        return {};
    default:
        notice_ =
            "keys: tab next table, arrows, < > sort by, r reverse, f freeze, space switch the "
            "probe, p pause all, q quit";
        return {};
    }
}

MonitorModel::Table* MonitorModel::probes() {
    const auto found = std::ranges::find(tables_, probes_title, &Table::title);
    return found == tables_.end() ? nullptr : &*found;
}

// What was off before a pause stays off behind it.
MonitorRequest MonitorModel::pause() {
    const Table* all = probes();
    if (!all)
        return {};
    paused_ = !paused_;
    if (!paused_) {
        const auto resumed = std::exchange(paused_probes_, {});
        return {MonitorRequest::Kind::Switch, {resumed.begin(), resumed.end()}, true};
    }
    for (const Row& row : all->rows) {
        const auto probe = static_cast<uint32_t>(std::get<int64_t>(row[ProbeColumn::Number]));
        if (!off_.contains(probe))
            paused_probes_.insert(probe);
    }
    return {MonitorRequest::Kind::Switch, {paused_probes_.begin(), paused_probes_.end()}, false};
}

MonitorRequest MonitorModel::switch_selected() {
    const Table* all = probes();
    if (!all)
        return {};
    if (shown() != all) {
        notice_ = "space switches a probe: tab leads to the table of probes";
        return {};
    }
    View& view = views_[all->title];
    const Table table = arranged(*all, view);
    if (table.rows.empty())
        return {};
    const auto probe =
        static_cast<uint32_t>(std::get<int64_t>(table.rows[view.at][ProbeColumn::Number]));
    return {MonitorRequest::Kind::Switch, {probe}, off_.contains(probe)};
}

void MonitorModel::move(int64_t rows) {
    const Table* now = shown();
    if (!now || now->rows.empty())
        return;
    View& view = views_[now->title];
    const Table table = arranged(*now, view);
    const auto last = static_cast<int64_t>(table.rows.size()) - 1;
    view.at =
        static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>(view.at) + rows, 0, last));
    view.selected = identity(table.rows[view.at], table.keys);
}

void MonitorModel::sort_beside(int direction) {
    const Table* now = shown();
    if (!now)
        return;
    View& view = views_[now->title];
    const auto columns = static_cast<int64_t>(now->columns.size());
    const auto at = static_cast<int64_t>(column_of(*now, view));
    view.sorted_by = static_cast<size_t>((at + direction + columns) % columns);
}

// ---- what it shows ------------------------------------------------------------------------------

size_t MonitorModel::column_of(const Table& table, const View& view) {
    return std::min(view.sorted_by.value_or(table.sorted_by), table.columns.size() - 1);
}

MonitorModel::Table MonitorModel::arranged(Table table, View& view) {
    const size_t column = column_of(table, view);
    std::ranges::stable_sort(table.rows, [&](const Row& a, const Row& b) {
        return view.ascending ? a[column] < b[column] : b[column] < a[column];
    });
    if (table.rows.empty())
        return table;
    const auto found = std::ranges::find_if(table.rows, [&](const Row& row) {
        return !view.selected.empty() && identity(row, table.keys) == view.selected;
    });
    view.at = found != table.rows.end() ? static_cast<size_t>(found - table.rows.begin())
                                        : std::min(view.at, table.rows.size() - 1);
    view.selected = identity(table.rows[view.at], table.keys);
    return table;
}

std::string MonitorModel::head_line() const {
    std::string line = "djstap " + name_ + "  " + seconds_text(now_ns_ - began_ns_);
    if (paused_)
        line += "  paused";
    if (frozen_)
        line += "  frozen";
    return line + "   q quit  tab table  < > sort  r reverse  space switch  p pause  f freeze";
}

std::string MonitorModel::tab_line() const {
    std::string line;
    const std::string now = shown_.empty() && !tables_.empty() ? tables_.front().title : shown_;
    for (const Table& table : tables_) {
        const std::string title = table.title + " (" + std::to_string(table.rows.size()) + ")";
        line += table.title == now ? "[" + title + "] " : " " + title + "  ";
    }
    return line.empty() ? "waiting for the first values" : line;
}

void MonitorModel::append_table(std::vector<MonitorLine>& out, size_t width, size_t height) {
    using Style = MonitorLine::Style;
    const Table* const now = shown();
    if (!now || height == 0)
        return;
    View& view = views_[now->title];
    Table table = arranged(*now, view);
    const bool is_probes = table.title == probes_title;
    const size_t column = column_of(table, view);
    std::vector<size_t> widths;
    std::vector<std::vector<std::string>> cells;
    for (size_t i = 0; i < table.columns.size(); i++) {
        widths.push_back(width_of(table.columns[i]) + 1);
        table.columns[i] += i != column ? ' ' : view.ascending ? '<' : '>';
    }
    for (const Row& row : table.rows) {
        cells.emplace_back();
        for (size_t i = 0; i < row.size(); i++) {
            const auto* number = std::get_if<int64_t>(&row[i]);
            cells.back().push_back(number ? std::to_string(*number)
                                          : std::get<std::string>(row[i]));
            widths[i] = std::max(widths[i], width_of(cells.back().back()));
        }
    }
    constexpr size_t widest = 60;
    const auto line_of = [&](const std::vector<std::string>& texts, const Row* row) {
        std::string line;
        for (size_t i = 0; i < texts.size(); i++) {
            const bool right = row ? std::holds_alternative<int64_t>((*row)[i])
                                   : i >= table.sorted_by && i + 1 < texts.size() + !is_probes;
            const bool last = i + 1 == texts.size();
            line += last && !right
                        ? texts[i]
                        : fitted(texts[i], std::min(widths[i], widest), right) + (last ? "" : " ");
        }
        return fitted(line, width);
    };
    out.push_back({Style::Head, line_of(table.columns, nullptr)});
    const size_t rows = height - 1;
    page_ = std::max<size_t>(1, rows);
    // No row is left out above while there is room below the last one.
    view.top = std::min({view.top, view.at, cells.size() - std::min(cells.size(), page_)});
    view.top = std::max(view.top + page_, view.at + 1) - page_;
    for (size_t i = view.top; i < cells.size() && i < view.top + rows; i++) {
        const bool off =
            is_probes && std::get<std::string>(table.rows[i][ProbeColumn::State]) == "off";
        out.push_back({i == view.at ? Style::Selected
                       : off        ? Style::Off
                                    : Style::Plain,
                       line_of(cells[i], &table.rows[i])});
    }
}

std::vector<MonitorLine> MonitorModel::lines(size_t width, size_t height) {
    using Style = MonitorLine::Style;
    std::vector<MonitorLine> out;
    changed_ = false;
    constexpr size_t heads = 2;
    if (width == 0 || height < heads)
        return out;
    out.push_back({Style::Title, fitted(head_line(), width)});
    out.push_back({notice_.empty() ? Style::Plain : Style::Message,
                   fitted(notice_.empty() ? tab_line() : notice_, width)});
    const bool open = !printed_.empty() && printed_.back().empty();
    const size_t printed = printed_.size() - (open ? 1 : 0);
    const size_t room = height - heads;
    size_t below = std::min({printed, printed_rows, room / 2});
    append_table(out, width, room - below - (below ? 1 : 0));
    if (below && out.size() + below < height) {
        while (out.size() + below + 1 < height)
            out.push_back({Style::Plain, ""});
        out.push_back({Style::Head, fitted("printed", width)});
    }
    for (size_t i = printed - below; i < printed && out.size() < height; i++)
        out.push_back({Style::Plain, fitted(printable(printed_[i]), width)});
    return out;
}

} // namespace djstap
