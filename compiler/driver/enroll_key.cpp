// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/enroll_key.h"

#include "system/file.h"
#include "system/process.h"

#include <cstdio>

namespace djstap::driver {

namespace {

constexpr std::string_view begin_line = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view end_line = "-----END CERTIFICATE-----";
constexpr char sequence_tag = 0x30; // with which a certificate begins

// Returns the value of a digit of base64; -1 for any other character.
int digit(char c) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t at = digits.find(c);
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::optional<std::string> decode_base64(std::string_view text) {
    std::string bytes;
    unsigned bits = 0, count = 0;
    for (char c : text) {
        if (c == '\n' || c == '\r' || c == '=')
            continue;
        const int value = digit(c);
        if (value < 0)
            return std::nullopt;
        bits = (bits << 6 | static_cast<unsigned>(value)) & 0xffff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes += static_cast<char>(bits >> count & 0xff);
        }
    }
    return bytes;
}

Failure failed(const std::string& what, const std::string& hint = "") {
    return {"--enroll-key: " + what, hint};
}

// Returns a file with the certificate's bytes, which is what mokutil reads.
Result<std::string> certificate_file(Invocation& invocation) {
    const std::string& path = invocation.options.signing_certificate;
    const auto text = read_file(path);
    if (!text)
        return failed(text.failure().message);
    const auto bytes = certificate_bytes(*text);
    if (!bytes)
        return failed(path + " is not a certificate",
                      "docs/running.md tells how a key and its certificate are made");
    auto folder = invocation.work.path();
    if (!folder)
        return folder.failure();
    const std::string file = *folder + "/certificate.der";
    invocation.work.will_hold(file);
    if (Status written = write_file(file, *bytes); !written)
        return written.failure();
    return file;
}

Status enroll(Invocation& invocation) {
    const std::string& path = invocation.options.signing_certificate;
    const auto file = certificate_file(invocation);
    if (!file)
        return file.failure();
    const std::string mokutil = find_program("mokutil");
    if (mokutil.empty())
        return failed("mokutil is not installed", "apt-get install mokutil");
    const auto known = run_program({mokutil, "--test-key", *file});
    if (known && known->output.find("is already enrolled") != std::string::npos) {
        invocation.output().line(path + " is enrolled already");
        return Done{};
    }
    // It asks for a password: the streams are this process's own.
    auto process = Process::start({mokutil, "--import", *file});
    if (!process)
        return process.failure();
    if (const int status = exit_status(process->wait()); status != 0)
        return failed("mokutil failed with status " + std::to_string(status),
                      "it needs root, and a machine that was started by UEFI");
    invocation.output().line(
        "Restart this machine: before the kernel starts, the firmware's MokManager asks for the "
        "password (Enroll MOK).\nThen sign scripts: djstap --sign-with KEY " +
        path);
    return Done{};
}

} // namespace

std::optional<std::string> certificate_bytes(std::string_view text) {
    std::optional<std::string> bytes = std::string(text);
    if (const size_t begin = text.find(begin_line); begin != std::string_view::npos) {
        const size_t from = begin + begin_line.size(), end = text.find(end_line, from);
        if (end == std::string_view::npos)
            return std::nullopt;
        bytes = decode_base64(text.substr(from, end - from));
    }
    return bytes && bytes->size() > 2 && bytes->front() == sequence_tag ? bytes : std::nullopt;
}

bool enroll_key(Invocation& invocation) {
    if (Status done = enroll(invocation); !done) {
        invocation.fail(DiagnosticKind::NotEnrolled, done.failure());
        return false;
    }
    return true;
}

} // namespace djstap::driver
