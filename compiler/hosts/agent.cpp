// SPDX-License-Identifier: GPL-2.0-or-later
#include "hosts/agent.h"

#include "hosts/remote_shell.h"
#include "system/elf_notes.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace djstap::hosts {

namespace {

// One line without single quotes, so that every shell takes it as one word.
//
// The shell reads its lines byte by byte, and head is only given its bytes: nothing that it might
// read too much follows before its answer. What tells djrun to start, and by its end to stop, is a
// FIFO that only this shell has open for writing: djrun stops however the shell ends. A signal
// could get lost between the fork and the exec of djrun.
constexpr std::string_view script =
    "umask 077; set -f; pid=; "
    "d=$(mktemp -d \"${TMPDIR:-/tmp}/djstap-XXXXXX\") || exit 1; "
    "trap \"exec 4>&-; [ -z \\\"\\$pid\\\" ] || wait \\$pid; "
    "rm -rf \\\"\\$d\\\"\" EXIT; "
    "trap \"exit 1\" HUP INT TERM PIPE; "
    "p=$(command -v djrun); "
    "echo \"djstap-host 1\"; echo \"release $(uname -r)\"; echo \"machine $(uname -m)\"; "
    "echo \"notes $(od -An -v -tx1 /sys/kernel/notes 2>/dev/null | tr -d \" \\n\")\"; "
    "if [ -n \"$DJSTAP_DJRUN\" ]; then echo has own; "
    "elif [ -n \"$p\" ]; then echo \"has $(cksum <\"$p\")\"; fi; "
    "command -v gzip >/dev/null && echo \"unpacks gzip\"; "
    "echo facts; "
    "while read -r verb a b; do case \"$verb\" in "
    "clock) echo \"clock $(date +%s%N)\";; "
    "put) head -c \"$b\" >\"$d/$a\"; chmod 700 \"$d/$a\"; echo \"put $a $(wc -c <\"$d/$a\")\";; "
    "unpack) head -c \"$b\" | gzip -dc >\"$d/$a\"; chmod 700 \"$d/$a\"; "
    "echo \"put $a $(wc -c <\"$d/$a\")\";; "
    "use) case \"$a\" in own) r=$DJSTAP_DJRUN;; found) r=$p;; *) r=$d/djrun;; esac;; "
    "run) mkfifo \"$d/go\" && exec 4<>\"$d/go\" 5<\"$d/go\" || exit 1; "
    "( \"$r\" --start-on-input --output=snapshots \"$d/script.ko\" $a $b <&5 5<&-; "
    "printf \"\\\\000exit %d\\\\n\" $? ) 4>&- & pid=$!; exec 5<&-;; "
    "go) echo >&4;; "
    "esac; done";

// The polynomial of POSIX's cksum.
constexpr auto crc_table = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < table.size(); byte++) {
        uint32_t crc = byte << 24;
        for (int bit = 0; bit < 8; bit++)
            crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7U : 0);
        table[byte] = crc;
    }
    return table;
}();

std::string bytes_of_hex(std::string_view digits) {
    std::string bytes;
    const auto value = [](char c) {
        return isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 0x20) - 'a' + 10;
    };
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
        if (!isxdigit(static_cast<unsigned char>(digits[i])) ||
            !isxdigit(static_cast<unsigned char>(digits[i + 1])))
            return {};
        bytes += static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1]));
    }
    return bytes;
}

// The release becomes part of paths, and of a command in a message; a release that is none is
// found nowhere.
std::string word_of(std::string_view text) {
    std::string word(text);
    std::ranges::replace_if(
        word,
        [](unsigned char c) {
            return !isalnum(c) &&
                   std::string_view("._+~-").find(static_cast<char>(c)) == std::string_view::npos;
        },
        '?');
    return word;
}

} // namespace

std::string agent_command() {
    return "exec sh -c " + quoted_for_shell(script);
}

bool take_fact(AgentFacts& facts, std::string_view line) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos)
        return false;
    const std::string_view name = line.substr(0, blank);
    const std::string value(line.substr(blank + 1));
    if (name == "release")
        facts.release = word_of(value);
    else if (name == "machine")
        facts.machine = word_of(value);
    else if (name == "notes")
        facts.build_id = hexadecimal(gnu_build_id(bytes_of_hex(value)).value_or(""));
    else if (name == "unpacks")
        facts.unpacks = value == "gzip";
    else if (name == "has" && value == "own")
        facts.has_own_djrun = true;
    else if (name == "has")
        facts.djrun = value;
    else
        return false;
    return true;
}

std::string cksum(std::string_view bytes) {
    uint32_t crc = 0;
    const auto add = [&crc](uint8_t byte) { crc = crc << 8 ^ crc_table[(crc >> 24) ^ byte]; };
    for (const char c : bytes)
        add(static_cast<uint8_t>(c));
    for (size_t length = bytes.size(); length; length >>= 8)
        add(static_cast<uint8_t>(length));
    return std::to_string(~crc) + " " + std::to_string(bytes.size());
}

} // namespace djstap::hosts
