# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes what --output=snapshots writes (docs/snapshots.proto), made up: recordings for the agent and for merging."""
import struct


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def zigzag(number):
    return -2 * number - 1 if number < 0 else 2 * number


def number(tag, value):
    return varint(tag << 3) + varint(value)


def text(tag, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(value)) + value


def fixed(tag, value):
    return varint(tag << 3 | 1) + struct.pack("<Q", value)


def packed(tag, values, code=zigzag):
    return text(tag, b"".join(varint(code(each)) for each in values))


def frame(tag, message):
    body = text(tag, message)
    return varint(len(body)) + body


def key(*parts):
    return b"".join(b"l" + struct.pack("<q", part) if isinstance(part, int) else
                    b"s" + struct.pack("<I", len(part.encode())) + part.encode() for part in parts)


def description(name, variables, release="6.1.0", build_id="ab12"):
    """variables: (name, "number" | "text" | "statistic", number of keys, histogram, comment)"""
    out = number(1, 1) + text(2, name) + text(3, name + ".stp") + text(4, release) + text(5, build_id)
    for each in variables:
        out += text(6, text(1, each[0]) + text(2, each[1]) + number(3, each[2]) + number(4, int(each[3])) + text(5, each[4]))
    return frame(1, out)


def element(keys, values, buckets=()):
    out = text(1, key(*keys)) if keys else b""
    out += text(3, values) if isinstance(values, str) else packed(2, values)
    return out + (packed(4, buckets) if buckets else b"")


def values(index, elements, shape=None):
    """shape: kind, buckets, low, high, width"""
    out = number(1, index)
    if shape:
        out += text(2, number(1, shape[0]) + number(2, shape[1]) + b"".join(number(3 + i, zigzag(each)) for i, each in enumerate(shape[2:])))
    return out + b"".join(text(3, each) for each in elements)


def variables_at(time_ns, shown, counts=(), incomplete=False):
    out = fixed(1, time_ns) + fixed(2, time_ns) + number(3, int(incomplete)) + packed(4, counts, lambda each: each)
    return frame(2, out + b"".join(text(5, each) for each in shown))


def printed(time_ns, words):
    return frame(3, fixed(1, time_ns) + text(2, words))


def message(words, is_error=True, place=""):
    return frame(4, number(1, int(is_error)) + text(2, words) + text(3, place))


def end(counts=()):
    return frame(5, packed(1, counts, lambda each: each))
