# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers of djstap's outputs that share no code with it: protocol buffers by their wire format, CTF by babeltrace2,
JSON by its schema, CSV, XML and gzip by Python's own modules. A malformed file raises an exception."""
import csv
import gzip
import json
import os
import re
import subprocess
import xml.etree.ElementTree

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "json.schema.json")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
        if shift > 63:
            raise ValueError("a varint is too long")


def message(data):
    """Yields (field, value) of a message: integers, and bytes for what has a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        field, kind = key >> 3, key & 7
        if not field:
            raise ValueError("field 0")
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            if at + length > len(data):
                raise ValueError(f"field {field} ends behind its message")
            value, at = data[at:at + length], at + length
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
            if at + length > len(data):
                raise ValueError(f"field {field} ends behind its message")
            value, at = int.from_bytes(data[at:at + length], "little"), at + length
        else:
            raise ValueError(f"wire type {kind}")
        yield field, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def numbers(value):
    """A repeated integer: packed, or one of them."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        out.append(number)
    return out


TYPES = {1: "begin", 2: "end", 3: "instant", 4: "counter"}


def perfetto(path):
    """Returns the events: dictionaries with type, time, track (a title), name, category, value, arguments. Checks that
    tracks are described before they are used, and that slices nest."""
    tracks, events, depth = {}, [], {}
    with open(path, "rb") as file:
        data = file.read()
    for field, packet in message(data):
        assert field == 1, f"field {field} in a trace"
        content = dict(message(packet))
        assert content.get(10), "a packet without a sequence"
        if 60 in content:
            track = dict(message(content[60]))
            assert track[1] and track[1] not in tracks, "a track is described twice"
            if 4 in track:
                thread = dict(message(track[4]))
                tracks[track[1]] = f"thread {thread[2]} of {thread[1]}"
            elif 3 in track:
                tracks[track[1]] = f"process {dict(message(track[3]))[1]}"
            else:
                tracks[track[1]] = ("counter " if 8 in track else "") + track[2].decode()
        if 11 not in content:
            continue
        event = {"arguments": {}, "time": content[8]}
        for field, value in message(content[11]):
            if field == 9:
                event["type"] = TYPES[value]
            elif field == 11:
                event["track"] = tracks[value]
            elif field == 23:
                event["name"] = value.decode()
            elif field == 22:
                event["category"] = value.decode()
            elif field == 30:
                event["value"] = signed(value)
            elif field == 4:
                argument = dict(message(value))
                event["arguments"][argument[10].decode()] = (
                    signed(argument[4]) if 4 in argument else argument[6].decode())
        assert (event["type"] == "counter") == event["track"].startswith("counter "), event
        open_slices = depth.setdefault(event["track"], [])
        if event["type"] == "begin":
            open_slices.append(event)
        elif event["type"] == "end":
            assert open_slices, "a slice ends that did not begin"
            assert open_slices.pop()["time"] <= event["time"], "a slice ends before it begins"
        events.append(event)
    return events


def perfetto_clocks(path):
    """Returns (time, {clock: what it shows}, the clock of the trace) of each snapshot of the clocks."""
    with open(path, "rb") as file:
        packets = [dict(message(packet)) for _, packet in message(file.read())]
    found = []
    for packet in packets:
        if 6 in packet:
            fields = list(message(packet[6]))
            clocks = [dict(message(value)) for field, value in fields if field == 1]
            found.append((packet[8], {clock[1]: clock[2] for clock in clocks}, dict(fields)[2]))
    return found


def perfetto_threads(path):
    """Returns {number of a thread: its name}."""
    with open(path, "rb") as file:
        tracks = [dict(message(content[60])) for content in (dict(message(packet)) for _, packet in message(file.read()))
                  if 60 in content]
    threads = [dict(message(track[4])) for track in tracks if 4 in track]
    return {thread[2]: thread[5].decode() for thread in threads}


def pprof(path):
    """Returns {"outermost;…;innermost": count} of a profile with one value per sample."""
    with gzip.open(path) as file:
        data = file.read()
    strings, functions, locations, samples, types = [], {}, {}, [], []
    for field, value in message(data):
        if field == 6:
            strings.append(value.decode())
        elif field == 5:
            function = dict(message(value))
            assert function[1] not in functions, "a function is described twice"
            functions[function[1]] = function[2]
        elif field == 4:
            location = dict(message(value))
            assert location[1] not in locations, "a location is described twice"
            locations[location[1]] = dict(message(location[4]))[1]
        elif field == 2:
            samples.append([numbers(v) for _, v in sorted(message(value), key=lambda each: each[0])])
        elif field == 1:
            types.append(dict(message(value)))
    assert strings[0] == "" and len(types) == 1, "no profile"
    assert strings[types[0][1]] == "samples" and strings[types[0][2]] == "count"
    stacks = {}
    for where, (count,) in samples:
        stack = ";".join(strings[functions[locations[each]]] for each in reversed(where))
        stacks[stack] = stacks.get(stack, 0) + count
    return stacks


def pprof_times(path):
    """Returns (when the profile begins, how long it lasts) in nanoseconds."""
    with gzip.open(path) as file:
        fields = dict(message(file.read()))
    return fields[9], fields[10]


def folded(path):
    stacks = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, count = re.fullmatch(r"(.*[^ ]) (\d+)\n", line).groups()
            stacks[stack] = stacks.get(stack, 0) + int(count)
    return stacks


def svg(path):
    """Returns the bars of a flame graph: {(name, depth, begin): count}. Checks that each lies above a wider one, and
    that nothing outside of the file is named."""
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert not re.search(r"(href|src)\s*=|url\(|@import", text), "it needs another file"
    assert re.findall(r"https?://[^\"' ]*", text) == ["http://www.w3.org/2000/svg"]
    bars, base = {}, None
    space = {"svg": "http://www.w3.org/2000/svg"}
    found = root.findall("svg:g[@class='bar']", space)
    for bar in found:
        base = max(base or 0, float(bar.find("svg:rect", space).get("y")))
    for bar in found:
        rect = bar.find("svg:rect", space)
        depth = round((base - float(rect.get("y"))) / 17)
        begin, count = int(bar.get("data-begin")), int(bar.get("data-count"))
        assert float(rect.get("x")) >= 0 and float(rect.get("width")) > 0
        assert bar.find("svg:title", space).text.startswith(f"{bar.get('data-name')}: {count} (")
        bars[bar.get("data-name"), depth, begin] = count
    for (name, depth, begin), count in bars.items():
        assert depth == 0 or any(d == depth - 1 and b <= begin and begin + count <= b + c
                                 for (_, d, b), c in bars.items()), f"{name} lies above nothing"
    return bars


def table(path):
    """Returns the rows of a CSV file as dictionaries."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = list(csv.reader(file, strict=True))
    assert all(len(row) == len(rows[0]) for row in rows), "rows differ in length"
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def json_lines(path):
    """Returns the objects of a session's JSON output, which its schema allows."""
    import jsonschema
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    with open(path, encoding="utf-8") as file:
        objects = [json.loads(line) for line in file]
    for each in objects[:20000]:
        validator.validate(each)
    return objects


def ctf(path):
    """Returns the lines of babeltrace2, without the time: "NAME: { CONTEXT }, { FIELDS }"."""
    run = subprocess.run(["babeltrace2", "--no-delta", path], capture_output=True, text=True,
                         env={**os.environ, "LC_ALL": "C.UTF-8"})
    if run.returncode or run.stderr:
        raise ValueError(run.stderr or "babeltrace2 fails")
    return [re.sub(r"^\[[^]]*\] ", "", line) for line in run.stdout.splitlines()]


READERS = {"perfetto": perfetto, "pprof": pprof, "folded": folded, "svg": svg, "csv": table, "json": json_lines,
           "ctf": ctf}
# What these leave out.
DETAILS = {"perfetto-clocks": perfetto_clocks, "perfetto-threads": perfetto_threads, "pprof-times": pprof_times}
