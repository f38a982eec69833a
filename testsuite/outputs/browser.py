#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a flame graph in Chromium (headless), and compares the picture with the graph: each bar is where it should be, in its
color; after a click on one of them it fills the width, and what is not above or below it has disappeared.

    browser.py --program build/release/bin/many_events

The status is 77 if there is no Chromium.
"""
import argparse
import colorsys
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

EVENTS = 100  # so that bars are wide enough
TIMEOUT = 300
SPACE = {"svg": "http://www.w3.org/2000/svg"}
WIDEST = 1180  # of a bar
NEAR = 4  # of 255, by which a color may differ: rounding, and the color space of the browser
CLICK = """<script><![CDATA[
  [].slice.call(document.querySelectorAll("g.bar")).forEach(function (bar) {
    if (bar.getAttribute("data-name") === "%s" && bar.getAttribute("data-begin") === "%s")
      bar.dispatchEvent(new MouseEvent("click"));
  });
]]></script></svg>"""


class Picture:
    """A PNG as Chromium writes it: 8 bits of red, green, blue and maybe alpha, not interlaced."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
        at, packed = 8, b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            if kind == b"IHDR":
                self.width, self.height, depth, color, *_, interlaced = struct.unpack(">IIBBBBB", data[at + 8:at + 21])
                assert depth == 8 and color in (2, 6) and not interlaced
            elif kind == b"IDAT":
                packed += data[at + 8:at + 8 + length]
            at += length + 12
        self.bytes = 3 if color == 2 else 4
        self._unfilter(zlib.decompress(packed))

    def _unfilter(self, data):
        stride, step = self.width * self.bytes, self.bytes
        above, self.rows = bytearray(stride), []
        for y in range(self.height):
            kind, row = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
            for i in range(stride if kind else 0):
                left, up, corner = (row[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
                row[i] = (row[i] + (left, up, (left + up) // 2, self._paeth(left, up, corner))[kind - 1]) & 255
            self.rows.append(row)
            above = row

    @staticmethod
    def _paeth(left, up, corner):
        distances = [abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)]
        return (left, up, corner)[distances.index(min(distances))]

    def at(self, x, y):
        return tuple(self.rows[y][x * self.bytes:x * self.bytes + 3])


def color_of(fill):
    """Returns the red, green and blue of `hsl(H,S%,L%)`."""
    hue, saturation, lightness = map(int, re.fullmatch(r"hsl\((\d+),(\d+)%,(\d+)%\)", fill).groups())
    return tuple(round(255 * each) for each in colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100))


def is_near(one, other):
    return all(abs(a - b) <= NEAR for a, b in zip(one, other))


class Browser:
    def __init__(self, program, folder):
        self.command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
                        "--force-color-profile=srgb", f"--user-data-dir={folder}/profile", "--virtual-time-budget=10000"]

    def run(self, options, path):
        return subprocess.run([*self.command, *options, "file://" + path], capture_output=True, text=True, timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL, check=True).stdout

    def picture(self, path, height):
        self.run([f"--screenshot={path}.png", f"--window-size=1200,{height}"], path)
        return Picture(path + ".png")


def bars_of(text):
    """Returns [(name, begin, x, y, width, color, whether it is shown)] of a graph."""
    found = []
    for bar in xml.etree.ElementTree.fromstring(text).findall("svg:g[@class='bar']", SPACE):
        rect = bar.find("svg:rect", SPACE)
        x, y, width = (float(rect.get(name)) for name in ("x", "y", "width"))
        found.append((bar.get("data-name"), bar.get("data-begin"), x, y, width, color_of(rect.get("fill")),
                      "none" not in (bar.get("style") or "")))
    return found


def compare(picture, bars):
    """Returns how many bars were compared, and the failures. The corner of a bar is in front of its text."""
    compared, bad = 0, []
    for name, _, x, y, width, color, shown in bars:
        if width < 3 or not shown:
            continue
        compared += 1
        for across in (x + 1, x + width - 2):
            seen = picture.at(round(across), int(y) + 1)
            if not is_near(seen, color):
                bad.append(f"{name} at {across:.0f}, {y:.0f} is {seen}, not {color}")
    return compared, bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("there is no Chromium")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "flames.svg")
        subprocess.run([options.program, str(EVENTS), "svg", path], capture_output=True, check=True)
        browser = Browser(browser, folder)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        height = int(re.search(r'<svg [^>]*height="(\d+)"', text)[1])
        before = bars_of(text)
        compared, bad = compare(browser.picture(path, height), before)
        print(f"{compared} of {len(before)} bars compared in a picture of 1200 x {height}")
        # A click on a bar that is neither the widest nor narrow.
        clicked = max((each for each in before if each[4] < WIDEST / 2), key=lambda each: each[4])
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("</svg>", CLICK % clicked[:2]))
        after = bars_of(re.search(r"<svg.*</svg>", browser.run(["--dump-dom"], path), re.DOTALL)[0])
        again, worse = compare(browser.picture(path, height), after)
        bad += worse
        widths = {each[:2]: each[4] for each in after if each[6]}
        print(f"{again} bars compared after a click on {clicked[0]}, {len(after) - len(widths)} of {len(after)} have disappeared")
        if abs(widths[clicked[:2]] - WIDEST) > 1:
            bad.append(f"{clicked[0]} is {widths[clicked[:2]]} wide after a click")
        if len(widths) in (0, len(after)) or compared < 50 or not again:
            bad.append("too few bars, or none has disappeared")
    for each in bad[:20]:
        print(each)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
