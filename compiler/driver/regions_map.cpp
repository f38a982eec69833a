// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/regions_map.h"

#include "driver/regions_output.h"
#include "session/svg_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace djstap::driver {

namespace {

using regions::Analysis;
using regions::FunctionResult;
using regions::Reason;

constexpr double map_width = 1400, margin = 10, address_width = 150;
constexpr double narrowest = 6, widest = 170, letter_width = 6.1;
constexpr int row_height = 17, top = 84, bottom = 30;
constexpr size_t most_cells = 20000, longest_name = 80;

// How much of a cell may be patched, in percent: up to `most`.
struct Share {
    double most = 0;
    const char* color = "";
    const char* text = "";
};
constexpr std::array<Share, 6> shares{{{0, "#b2382b", "nothing"},
                                       {50, "#e8896a", "up to 50 %"},
                                       {75, "#f3cdb0", "up to 75 %"},
                                       {90, "#d5e8bd", "up to 90 %"},
                                       {99.999, "#8cc48a", "more than 90 %"},
                                       {100, "#3d8f52", "everything"}}};
constexpr const char* not_counted_color = "#c9c7c1";

// One function, or several that follow one another.
struct Cell {
    size_t first = 0, count = 0;
    uint64_t instructions = 0, by_kernel = 0, safe = 0;
    size_t entries = 0;   // functions that can be patched at the entry
    bool allowed = false; // some function counts
    double x = 0, width = 0;
    size_t row = 0;
};

std::string shortened(const std::string& name, size_t most) {
    return name.size() <= most ? name : name.substr(0, most - std::min<size_t>(most, 2)) + "..";
}

std::vector<Cell> cells_of(const Analysis& analysis) {
    const auto& functions = analysis.functions();
    const size_t share = (functions.size() + most_cells - 1) / most_cells;
    std::vector<Cell> cells;
    for (size_t i = 0; i < functions.size(); i++) {
        const FunctionResult& function = functions[i];
        if (cells.empty() || cells.back().count == share)
            cells.push_back({i});
        Cell& cell = cells.back();
        cell.count++;
        cell.instructions += function.instructions;
        cell.by_kernel += function.by_kernel;
        cell.safe += function.safe;
        cell.entries += function.entry_safe;
        cell.allowed |= function.is_counted();
    }
    return cells;
}

// Sets the places of all cells, and returns the number of rows.
size_t lay_out(std::vector<Cell>& cells) {
    double x = 0;
    size_t row = 0;
    for (Cell& cell : cells) {
        const auto size = static_cast<double>(cell.instructions) / static_cast<double>(cell.count);
        cell.width = std::clamp(std::sqrt(size) * 3, narrowest, widest);
        if (x + cell.width > map_width) {
            x = 0;
            row++;
        }
        cell.x = x;
        cell.row = row;
        x += cell.width;
    }
    return cells.empty() ? 0 : row + 1;
}

// The CSS class of a cell.
std::string class_of(const Cell& cell) {
    if (!cell.allowed)
        return "n";
    const double percent =
        100.0 * static_cast<double>(cell.safe) / static_cast<double>(cell.instructions);
    size_t number = 0;
    while (number + 1 < shares.size() && percent > shares[number].most)
        number++;
    return "s" + std::to_string(number);
}

std::string tip(const Analysis& analysis, const Cell& cell) {
    const FunctionResult& first = analysis.functions()[cell.first];
    std::string text = shortened(first.name, longest_name);
    if (cell.count > 1)
        text += " and " + std::to_string(cell.count - 1) + " more";
    text += " at " + hexadecimal(first.address) + ": I " + std::to_string(cell.instructions) +
            ", K " + std::to_string(cell.by_kernel) + ", B " + std::to_string(cell.safe);
    if (cell.count > 1)
        return text + ", entries " + std::to_string(cell.entries);
    const auto most = std::max_element(first.reasons.begin(), first.reasons.end());
    if (*most)
        text += ", mostly " +
                std::string(regions::reason_tag(static_cast<Reason>(most - first.reasons.begin())));
    return text + (cell.entries ? "" : "; not at the entry");
}

std::string label(const Analysis& analysis, const Cell& cell, size_t room) {
    const std::string more = cell.count > 1 ? " +" + std::to_string(cell.count - 1) : "";
    return shortened(analysis.functions()[cell.first].name, room - more.size()) + more;
}

std::string cell_text(const Analysis& analysis, const Cell& cell) {
    const double x = margin + address_width + cell.x;
    const std::string y = std::to_string(top + static_cast<int>(cell.row) * row_height);
    std::string text = "<g><title>" + svg_escaped(tip(analysis, cell)) + "</title><rect class=\"" +
                       class_of(cell) + "\" x=\"" + svg_number(x, "%.1f") + "\" y=\"" + y +
                       "\" width=\"" + svg_number(cell.width - 1, "%.1f") + "\" height=\"" +
                       std::to_string(row_height - 1) + "\"/>";
    const std::string middle =
        std::to_string(top + static_cast<int>(cell.row) * row_height + row_height - 5);
    if (cell.allowed && cell.entries < cell.count)
        text += "<path d=\"M" + svg_number(x, "%.1f") + " " + y + "v" +
                std::to_string(row_height - 1) + "\"/>";
    const auto room = static_cast<size_t>(std::max(0.0, (cell.width - 8) / letter_width));
    if (room >= 6)
        text += "<text x=\"" + svg_number(x + 4, "%.1f") + "\" y=\"" + middle + "\">" +
                svg_escaped(label(analysis, cell, room)) + "</text>";
    return text + "</g>\n";
}

std::string legend() {
    std::string text;
    double x = margin;
    auto add = [&](const std::string& mark, const std::string& words) {
        text += "<g transform=\"translate(" + svg_number(x, "%.0f") + " 50)\">" + mark +
                "<text class=\"l\" x=\"20\" y=\"11\">" + words + "</text></g>\n";
        x += 40 + 7 * static_cast<double>(words.size());
    };
    for (size_t i = 0; i < shares.size(); i++)
        add("<rect class=\"s" + std::to_string(i) + "\" width=\"14\" height=\"14\"/>",
            shares[i].text);
    add("<rect class=\"n\" width=\"14\" height=\"14\"/>", "not counted");
    add("<path d=\"M7 0v14\"/>", "not at the entry");
    return text;
}

std::string style() {
    std::string text = "text{font:10px monospace;fill:#111;pointer-events:none}"
                       "text.t{font:bold 16px sans-serif}text.l{font:12px sans-serif}"
                       "text.a{fill:#777}path{stroke:#111;stroke-width:2.5}"
                       "g:hover>rect{stroke:#000}rect.hit{fill:#c060f0}";
    for (size_t i = 0; i < shares.size(); i++)
        text += "rect.s" + std::to_string(i) + "{fill:" + shares[i].color + "}";
    return text + "rect.n{fill:" + not_counted_color + "}";
}

// What makes the map interactive; it works without, too.
constexpr const char* script = R"js(
(function () {
  "use strict";
  var cells = [].slice.call(document.querySelectorAll("#cells>g")), note = document.getElementById("note");
  function name(cell) { return cell.querySelector("title").textContent; }
  cells.forEach(function (cell) {
    cell.addEventListener("mouseover", function () { note.textContent = name(cell); });
  });
  window.addEventListener("keydown", function (event) {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "f") return;
    event.preventDefault();
    var word = window.prompt("Search for functions whose name contains", "") || "", found = 0;
    cells.forEach(function (cell) {
      var hit = word !== "" && name(cell).indexOf(word) >= 0;
      cell.querySelector("rect").classList.toggle("hit", hit);
      found += hit;
    });
    note.textContent = word === "" ? "" : "'" + word + "': " + found + " cells";
  });
})();
)js";

} // namespace

std::string regions_map(const Analysis& analysis, const std::string& title) {
    std::vector<Cell> cells = cells_of(analysis);
    const size_t rows = lay_out(cells);
    const int height = top + bottom + static_cast<int>(rows) * row_height;
    const std::string width = svg_number(map_width + address_width + 2 * margin, "%.0f");
    const regions::Totals totals = analysis.totals();
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
                      "xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"" +
                      width + "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " +
                      width + " " + std::to_string(height) + "\">\n<style>" + style() +
                      "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fbf7ee\"/>\n"
                      "<text class=\"t\" x=\"10\" y=\"24\">Where a jump may be planted: " +
                      svg_escaped(title) + "</text>\n<text class=\"l\" x=\"10\" y=\"42\">" +
                      std::to_string(totals.functions) + " functions, " +
                      std::to_string(totals.instructions) + " instructions, K " +
                      svg_number(totals.percent(totals.by_kernel)) + " %, B " +
                      svg_number(totals.percent(totals.safe)) +
                      " %. The colour is the share of a function's instructions that may be "
                      "replaced by a jump; its width grows with their number.";
    if (!cells.empty() && cells.front().count > 1)
        out += " A cell is " + std::to_string(cells.front().count) + " functions.";
    out += "</text>\n" + legend();
    size_t row = SIZE_MAX;
    for (const Cell& cell : cells)
        if (cell.row != row) {
            row = cell.row;
            out += "<text class=\"a\" x=\"10\" y=\"" +
                   std::to_string(top + static_cast<int>(row) * row_height + row_height - 5) +
                   "\">" + hexadecimal(analysis.functions()[cell.first].address) + "</text>\n";
        }
    out += "<g id=\"cells\">\n";
    for (const Cell& cell : cells)
        out += cell_text(analysis, cell);
    return out + "</g>\n<text class=\"l\" id=\"note\" x=\"10\" y=\"" + std::to_string(height - 9) +
           "\">" + (cells.empty() ? "no function" : "") + "</text>\n<script><![CDATA[" + script +
           "]]></script>\n</svg>\n";
}

} // namespace djstap::driver
