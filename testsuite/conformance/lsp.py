#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Speaks the Language Server Protocol with djstap, as an editor does.

    lsp.py --djstap PROGRAM --kernel RELEASE
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

SCRIPT = """global hits
function twice(n) { return 2 * n }
probe kernel.function("vfs_read") {
    hits[execname()] = twice($count)
    /* é😀 */ printf("%s %d\\n", "é", nothing())
}
probe vfs.read { println(pathname) }
"""


class Client:
    def __init__(self, djstap, arguments=()):
        self.process = subprocess.Popen([djstap, "--lsp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0
        self.notices = []

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self):
        length = None
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, value = line.decode().split(":")
            if name == "Content-Length":
                length = int(value)
        if length is None:
            return None
        message = json.loads(self.process.stdout.read(length))
        assert message["jsonrpc"] == "2.0"
        return message

    def request(self, method, params=None):
        """Returns the result or the error of a request."""
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params or {}})
        while True:
            message = self.receive()
            assert message is not None, "the server is gone"
            if "method" in message:
                self.notices.append(message)
            else:
                assert message["id"] == self.last, message
                return message.get("result", message.get("error"))

    def notify(self, method, params=None):
        self.send({"method": method, "params": params or {}})

    def diagnostics(self):
        while not self.notices:
            self.notices.append(self.receive())
        return self.notices.pop(0)["params"]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=60)


def place(text, needle, behind=False):
    """The position of a part of the text, in UTF-16 code units."""
    offset = text.index(needle) + (len(needle) if behind else 0)
    before = text[:offset].split("\n")
    return {"line": len(before) - 1, "character": len(before[-1].encode("utf-16-le")) // 2}


def session(djstap, kernel):
    client = Client(djstap, ["-r", kernel])
    uri = "file:///tmp/a%20script.stp"
    document = {"textDocument": {"uri": uri}}

    assert client.request("textDocument/hover", document)["code"] == -32002
    capabilities = client.request("initialize", {"processId": None, "capabilities": {}})["capabilities"]
    assert capabilities["hoverProvider"] and capabilities["definitionProvider"] and capabilities["textDocumentSync"]["change"] == 1
    client.notify("initialized")
    assert client.request("textDocument/hover", {**document, "position": {"line": 0, "character": 0}})["code"] == -32600
    assert client.request("workspace/symbol")["code"] == -32601

    client.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "systemtap", "version": 1, "text": SCRIPT}})
    found = client.diagnostics()
    assert found["uri"] == uri
    unknown = [each for each in found["diagnostics"] if each["code"] == "unknown-function"]
    assert len(unknown) == 1 and unknown[0]["severity"] == 1 and unknown[0]["source"] == "djstap", found
    # é and the emoji are one and two units.
    assert unknown[0]["range"]["start"] == place(SCRIPT, "nothing()"), unknown
    assert unknown[0]["range"]["end"]["character"] == place(SCRIPT, "nothing()")["character"] + len("nothing"), unknown

    def at(method, needle, text=SCRIPT, behind=False):
        return client.request(f"textDocument/{method}", {**document, "position": place(text, needle, behind)})

    assert "command name" in at("hover", "execname")["contents"]["value"], at("hover", "execname")
    assert "count: size_t" in at("hover", "$count")["contents"]["value"]
    assert "vfs.read" in at("hover", "read { println")["contents"]["value"]
    assert "kernel.function" in at("hover", "function(\"vfs_read")["contents"]["value"]
    assert at("hover", "hits[") is None
    own = at("definition", "twice($count)")
    assert own == {"uri": uri, "range": {"start": place(SCRIPT, "twice(n)"),
                                         "end": place(SCRIPT, "twice(n)") | {"character": place(SCRIPT, "twice(n)")["character"] + 5}}}, own
    assert at("definition", "hits[")["range"]["start"] == {"line": 0, "character": 7}
    library = at("definition", "execname")
    path = library["uri"].removeprefix("file://")
    with open(path, encoding="utf-8") as file:
        assert "execname" in file.read().split("\n")[library["range"]["start"]["line"]], library
    assert at("definition", "\"vfs_read\"") is None

    # While it is being typed.
    typed = SCRIPT + "probe kernel.function(\"vfs_readl"
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": typed}]})
    completion = at("completion", "vfs_readl", typed, behind=True)
    assert [item["label"] for item in completion["items"]] == ['vfs_readlink")'], completion
    assert completion["items"][0]["textEdit"]["range"] == {"start": place(typed, "vfs_readl"), "end": place(typed, "vfs_readl", behind=True)}
    assert any(each["severity"] == 1 for each in client.diagnostics()["diagnostics"])
    typed = SCRIPT.replace("\"é\", nothing()", "\"é\", twi")
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": typed}]})
    assert [item["label"] for item in at("completion", "\"é\", twi", typed, behind=True)["items"]] == ["twice"]
    client.diagnostics()

    typed = SCRIPT.replace("twice($count)", "twice($coun")
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 4}, "contentChanges": [{"text": typed}]})
    assert [item["label"] for item in at("completion", "twice($coun", typed, behind=True)["items"]] == ["$count"]
    client.diagnostics()

    right = SCRIPT.replace("nothing()", "pid()")
    client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 5}, "contentChanges": [{"text": right}]})
    assert all(each["severity"] == 2 for each in client.diagnostics()["diagnostics"])
    client.notify("textDocument/didClose", document)
    assert client.diagnostics() == {"uri": uri, "diagnostics": []}
    assert client.request("shutdown") is None
    client.notify("exit")
    assert client.end() == 0


def mistakes(djstap, kernel):
    """What is no message is answered, as long as its end can be found; what breaks the stream ends the server."""
    client = Client(djstap, ["-r", kernel])
    for body, code in ((b"{", -32700), (b"[1]", -32600), (b"7", -32600), (b"\xff\xfe", -32700)):
        client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert client.receive()["error"]["code"] == code, body
    for identity in (b"null", b"{}", b"[" * 300000 + b"]" * 300000):
        body = b'{"id": ' + identity + b', "method": "shutdown", "params": ' + identity + b"}"
        client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert client.receive()["error"]["code"] == -32600, body[:50]
    client.request("initialize", {"capabilities": {}})
    for params in ({}, {"textDocument": 7}, {"textDocument": {"uri": 7}}, {"textDocument": {"uri": "x"}, "position": {"line": -1}}, 7, [1]):
        for method in ("textDocument/hover", "textDocument/completion", "textDocument/definition", "textDocument/didOpen",
                       "textDocument/didChange", "textDocument/didClose"):
            if "did" in method:
                client.notify(method, params)
            else:
                client.request(method, params)
    for text in ("", "probe", "\0", "probe kernel.function(\"", "é" * 1000, "{" * 10000, "global a = \"" + "x" * 100000):
        client.notify("textDocument/didOpen", {"textDocument": {"uri": "u", "text": text}})
        for position in ({"line": 0, "character": 0}, {"line": 0, "character": 4294967295}, {"line": 9999, "character": 3}):
            for method in ("hover", "completion", "definition"):
                client.request("textDocument/" + method, {"textDocument": {"uri": "u"}, "position": position})
    client.send_bytes(b"no header\r\n\r\n")
    assert client.end() == 1
    # An editor that dies says nothing.
    client = Client(djstap)
    assert client.end() == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--djstap", required=True)
    parser.add_argument("--kernel", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        djstap = os.path.abspath(options.djstap)
        os.chdir(folder)
        session(djstap, options.kernel)
        mistakes(djstap, options.kernel)
    print("the server answered as it should")


if __name__ == "__main__":
    sys.exit(main())
