# SPDX-License-Identifier: GPL-2.0-or-later
"""Bar charts as SVG."""
import math
from xml.sax.saxutils import escape

LABEL_WIDTH, BAR_WIDTH, VALUE_WIDTH = 270, 380, 60
BAR, GAP, TOP = 13, 12, 58
COLOURS = ["#2f6f9f", "#d98b2b", "#7a7a7a"]


def bars(title, series, rows, unit, linear_to=0):
    """Returns a chart of horizontal bars on a logarithmic axis from 1, or on a linear one from 0 to `linear_to`.

    series: names; rows: (label, [a value for each series, or None if there is none]).
    """
    highest = max((value for _, values in rows for value in values if value), default=10)
    decades = max(1, math.ceil(math.log10(highest)))

    marks = [linear_to * tenth // 10 for tenth in range(0, 11, 2)] if linear_to else [10 ** decade for decade in range(decades + 1)]

    def x(value):
        if linear_to:
            return LABEL_WIDTH + BAR_WIDTH * value / linear_to
        return LABEL_WIDTH + BAR_WIDTH * math.log10(max(value, 1)) / decades

    row_height = BAR * len(series) + GAP
    height = TOP + row_height * len(rows) + 40
    width = LABEL_WIDTH + BAR_WIDTH + VALUE_WIDTH
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           f'<text x="10" y="20" font-size="15" fill="#222">{escape(title)}</text>']
    for index, name in enumerate(series):
        left = 10 + 150 * index
        out.append(f'<rect x="{left}" y="32" width="11" height="11" fill="{COLOURS[index]}"/>'
                   f'<text x="{left + 16}" y="42" fill="#222">{escape(name)}</text>')
    bottom = TOP + row_height * len(rows)
    for mark in marks:
        at = x(mark)
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 6}" y2="{bottom}" stroke="#ddd"/>'
                   f'<text x="{at:.1f}" y="{bottom + 15}" text-anchor="middle" fill="#555">{mark}</text>')
    out.append(f'<text x="{LABEL_WIDTH + BAR_WIDTH / 2:.0f}" y="{bottom + 32}" text-anchor="middle" '
               f'fill="#555">{escape(unit)}</text>')
    for number, (label, values) in enumerate(rows):
        top = TOP + number * row_height
        middle = top + BAR * len(series) / 2 + 4
        out.append(f'<text x="{LABEL_WIDTH - 8}" y="{middle:.0f}" text-anchor="end" fill="#222">{escape(label)}</text>')
        for index, value in enumerate(values):
            y = top + BAR * index
            if value is None:
                out.append(f'<text x="{LABEL_WIDTH + 4}" y="{y + 10}" font-size="10" fill="#999">not run here</text>')
                continue
            out.append(f'<rect x="{LABEL_WIDTH}" y="{y}" width="{max(x(value) - LABEL_WIDTH, 2):.1f}" '
                       f'height="{BAR - 2}" fill="{COLOURS[index]}"/>'
                       f'<text x="{max(x(value), LABEL_WIDTH + 2) + 4:.1f}" y="{y + 10}" font-size="10" '
                       f'fill="#222">{value:.{1 if linear_to else 0}f}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
