// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/flame_graph.h"

#include "session/svg_text.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

namespace djstap {

namespace {

constexpr double chart_width = 1180, margin = 10, narrowest = 0.1;
constexpr int row_height = 17, top = 40, bottom = 28;

// A function in the graph: its place among all counts, and its depth.
struct Bar {
    std::string_view name;
    double begin = 0, count = 0;
    size_t depth = 0;
};

std::vector<std::string_view> frames_of(std::string_view stack) {
    std::vector<std::string_view> frames;
    for (;;) {
        const size_t end = stack.find(';');
        frames.push_back(stack.substr(0, end));
        if (end == std::string_view::npos)
            return frames;
        stack.remove_prefix(end + 1);
    }
}

// Stacks with the same beginning share its bars. They follow one another once they are sorted by
// their frames; the map is sorted by characters.
std::vector<Bar> bars_of(const std::map<std::string, int64_t, std::less<>>& samples,
                         double& total) {
    std::vector<std::pair<std::vector<std::string_view>, double>> stacks;
    for (const auto& [stack, count] : samples)
        stacks.emplace_back(frames_of(stack), static_cast<double>(count));
    std::ranges::sort(stacks);
    std::vector<Bar> done, open;
    total = 0;
    const auto close = [&](size_t depth) {
        for (; open.size() > depth; open.pop_back())
            done.push_back(open.back());
    };
    for (const auto& [frames, count] : stacks) {
        size_t same = 0;
        // In their order, none is the beginning of the one before it.
        while (same < open.size() && open[same].name == frames[same])
            same++;
        close(same);
        for (size_t depth = same; depth < frames.size(); depth++)
            open.push_back({frames[depth], total, 0, depth});
        for (Bar& bar : open)
            bar.count += count;
        total += count;
    }
    close(0);
    return done;
}

// A warm color that is always the same for a name.
std::string color_of(std::string_view name) {
    uint32_t hash = 2166136261U;
    for (const char character : name)
        hash = (hash ^ static_cast<unsigned char>(character)) * 16777619U;
    char text[32];
    std::snprintf(text, sizeof text, "hsl(%u,%u%%,%u%%)", 8 + hash % 42, 70 + hash / 64 % 22,
                  58 + hash / 4096 % 12);
    return text;
}

// What makes the graph interactive; it works without, too.
constexpr const char* script = R"js(
(function () {
  "use strict";
  var svg = document.documentElement, bars = [].slice.call(document.querySelectorAll("g.bar"));
  var note = document.getElementById("note"), reset = document.getElementById("reset");
  var width = +svg.getAttribute("data-width"), margin = +svg.getAttribute("data-margin");
  function value(bar, name) { return +bar.getAttribute("data-" + name); }
  function fit(bar, wide) {
    var label = bar.querySelector("text"), name = bar.getAttribute("data-name"), room = Math.floor((wide - 6) / 7);
    label.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 2) + "..";
  }
  function show(begin, count) {
    bars.forEach(function (bar) {
      var from = value(bar, "begin"), size = value(bar, "count");
      var left = Math.max(from, begin), right = Math.min(from + size, begin + count);
      var wide = (right - left) / count * width;
      bar.style.display = wide > 0.1 ? "" : "none";
      if (wide <= 0.1) return;
      var x = margin + (left - begin) / count * width, rect = bar.querySelector("rect");
      rect.setAttribute("x", x);
      rect.setAttribute("width", Math.max(wide - 0.5, 0.1));
      bar.querySelector("text").setAttribute("x", x + 3);
      fit(bar, wide);
    });
    reset.style.display = count < value(svg, "total") ? "" : "none";
  }
  function search(word) {
    var found = [], sum = 0, end = 0;
    bars.forEach(function (bar) {
      var hit = word !== "" && bar.getAttribute("data-name").indexOf(word) >= 0;
      bar.querySelector("rect").style.fill = hit ? "#c060f0" : "";
      if (hit) found.push([value(bar, "begin"), value(bar, "begin") + value(bar, "count")]);
    });
    found.sort(function (a, b) { return a[0] - b[0] || b[1] - a[1]; });
    found.forEach(function (part) {
      if (part[1] > end) { sum += part[1] - Math.max(part[0], end); end = part[1]; }
    });
    note.textContent = word === "" ? "" : "'" + word + "': " + (100 * sum / value(svg, "total")).toFixed(1) + " %";
  }
  bars.forEach(function (bar) {
    bar.addEventListener("click", function () { show(value(bar, "begin"), value(bar, "count")); });
    bar.addEventListener("mouseover", function () { note.textContent = bar.querySelector("title").textContent; });
  });
  reset.addEventListener("click", function () { show(0, value(svg, "total")); });
  window.addEventListener("keydown", function (event) {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "f") return;
    event.preventDefault();
    search(window.prompt("Search for functions whose name contains", "") || "");
  });
})();
)js";

std::string bar_text(const Bar& bar, double total, int height) {
    const double x = margin + bar.begin / total * chart_width;
    const double width = bar.count / total * chart_width;
    const int y = height - bottom - static_cast<int>(bar.depth + 1) * row_height;
    const auto room = static_cast<size_t>(std::max(0.0, (width - 6) / 7));
    const std::string name = svg_escaped(bar.name), count = svg_number(bar.count, "%.0f");
    std::string label(bar.name);
    if (room < 3)
        label.clear();
    else if (label.size() > room)
        label = label.substr(0, room - 2) + "..";
    return "<g class=\"bar\" data-name=\"" + name + "\" data-begin=\"" +
           svg_number(bar.begin, "%.0f") + "\" data-count=\"" + count + "\"><title>" + name + ": " +
           count + " (" + svg_number(100 * bar.count / total) + " %)</title><rect x=\"" +
           svg_number(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
           svg_number(std::max(width - 0.5, 0.1)) + "\" height=\"" +
           std::to_string(row_height - 1) + "\" fill=\"" + color_of(bar.name) + "\"/><text x=\"" +
           svg_number(x + 3) + "\" y=\"" + std::to_string(y + 12) + "\">" + svg_escaped(label) +
           "</text></g>\n";
}

} // namespace

std::string flame_graph(const std::map<std::string, int64_t, std::less<>>& samples,
                        const std::string& title) {
    double total = 0;
    std::vector<Bar> bars = bars_of(samples, total);
    size_t depth = 0, omitted = 0;
    for (Bar& bar : bars)
        bar.depth++;
    if (total > 0)
        bars.push_back({"all", 0, total, 0});
    std::erase_if(bars, [&](const Bar& bar) {
        const bool narrow = bar.count / total * chart_width < narrowest;
        omitted += narrow;
        return narrow;
    });
    for (const Bar& bar : bars)
        depth = std::max(depth, bar.depth + 1);
    const int height = top + bottom + static_cast<int>(depth) * row_height;
    const std::string width = svg_number(chart_width + 2 * margin, "%.0f");
    std::string out =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "version=\"1.1\" width=\"" +
        width + "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " + width + " " +
        std::to_string(height) + "\" data-total=\"" + svg_number(total, "%.0f") +
        "\" data-width=\"" + svg_number(chart_width, "%.0f") + "\" data-margin=\"" +
        svg_number(margin, "%.0f") +
        "\">\n<style>text{font:12px monospace;fill:#111}text.title{font:bold 16px sans-serif}"
        "g.bar{cursor:pointer}g.bar:hover "
        "rect{stroke:#000}#reset{cursor:pointer;fill:#06c}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fbf7ee\"/>\n<text class=\"title\" x=\"10\" "
        "y=\"24\">" +
        svg_escaped(title) + "</text>\n<text id=\"reset\" x=\"" +
        svg_number(chart_width - 80, "%.0f") +
        "\" y=\"24\" style=\"display:none\">show all</text>\n";
    for (const Bar& bar : bars)
        out += bar_text(bar, total, height);
    std::string note;
    if (total <= 0)
        note = "no samples";
    else if (omitted)
        note = std::to_string(omitted) + (omitted == 1 ? " function is" : " functions are") +
               " too narrow to be shown";
    return out + "<text id=\"note\" x=\"10\" y=\"" + std::to_string(height - 9) + "\">" + note +
           "</text>\n<script><![CDATA[" + script + "]]></script>\n</svg>\n";
}

} // namespace djstap
