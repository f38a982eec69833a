// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/manifest.h"
#include "system/number.h"

#include <cstring>

namespace djstap::module {

namespace {

constexpr std::string_view first_line = "djstap runtime kit 3\n";

// Returns the text up to the next space, and removes it from `rest`.
std::string_view word(std::string_view& rest) {
    size_t end = rest.find(' ');
    std::string_view found = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    return found;
}

bool read_line(std::string_view line, Manifest& manifest) {
    RuntimeKit& kit = manifest.kit;
    std::string_view rest = line;
    std::string_view key = word(rest);
    std::string value(rest);
    if (key == "release") {
        kit.release = value;
    } else if (key == "build-id") {
        kit.build_id = value;
    } else if (key == "ibt") {
        kit.ibt = value == "1";
    } else if (key == "delayed-objtool") {
        kit.delayed_objtool = value == "1";
    } else if (key == "linker") {
        kit.linker.push_back(value);
    } else if (key == "objtool") {
        kit.objtool.push_back(value);
    } else if (key == "compiler") {
        kit.compiler = value;
    } else if (key == "build-dir") {
        kit.build_dir = value;
    } else if (key == "sign-file") {
        kit.sign_file = value;
    } else if (key == "signature-hash") {
        kit.signature_hash = value;
    } else if (key == "part") {
        kit.parts.insert(value);
    } else if (key == "state") {
        return parse_number(rest, kit.state);
    } else if (key == "runtime-symbol") {
        kit.runtime_symbols.push_back(value);
    } else if (key == "runtime-function") {
        kit.runtime_functions.push_back(value);
    } else if (key == "kernel-symbol") {
        kit.kernel_symbols.push_back(value);
    } else if (key == "versioned-symbol") {
        kit.versioned_symbols.push_back(value);
    } else if (key == "offset") {
        KitOffset offset;
        offset.name = word(rest);
        if (!parse_number(word(rest), offset.value))
            return false;
        offset.symbol = rest;
        kit.offsets.push_back(offset);
    } else if (key == "file") {
        KitFile file;
        file.name = word(rest);
        if (!parse_number(word(rest), file.size) || !parse_number(rest, file.checksum, 16))
            return false;
        manifest.files.push_back(file);
    } else {
        return false;
    }
    return true;
}

} // namespace

std::string file_name(const RuntimeKit& kit, std::string_view name) {
    // never changes
    if (!kit.state || name == linker_script)
        return std::string(name);
    return std::to_string(kit.state) + "-" + std::string(name);
}

std::string write_manifest(const RuntimeKit& kit, const std::vector<KitFile>& files) {
    std::string text(first_line);
    auto line = [&text](std::string_view key, std::string_view value) {
        text.append(key).append(" ").append(value).append("\n");
    };
    auto list = [&line](std::string_view key, const std::vector<std::string>& values) {
        for (const std::string& value : values)
            line(key, value);
    };
    line("release", kit.release);
    line("build-id", kit.build_id);
    line("ibt", kit.ibt ? "1" : "0");
    line("delayed-objtool", kit.delayed_objtool ? "1" : "0");
    list("linker", kit.linker);
    list("objtool", kit.objtool);
    line("compiler", kit.compiler);
    line("build-dir", kit.build_dir);
    line("sign-file", kit.sign_file);
    line("signature-hash", kit.signature_hash);
    for (const std::string& part : kit.parts)
        line("part", part);
    line("state", std::to_string(kit.state));
    list("runtime-symbol", kit.runtime_symbols);
    list("runtime-function", kit.runtime_functions);
    list("kernel-symbol", kit.kernel_symbols);
    list("versioned-symbol", kit.versioned_symbols);
    for (const KitOffset& offset : kit.offsets)
        line("offset", offset.name + " " + std::to_string(offset.value) + " " + offset.symbol);
    for (const KitFile& file : files)
        line("file",
             file.name + " " + std::to_string(file.size) + " " + hexadecimal(file.checksum));
    line("end", hexadecimal(hash_bytes(text)));
    return text;
}

std::optional<Manifest> read_manifest(std::string_view text) {
    constexpr size_t last_line = std::string_view("end 0123456789abcdef\n").size();
    if (!text.starts_with(first_line) || text.size() < first_line.size() + last_line)
        return std::nullopt;
    std::string_view body = text.substr(0, text.size() - last_line);
    if (text.substr(body.size()) != "end " + hexadecimal(hash_bytes(body)) + "\n")
        return std::nullopt;
    Manifest manifest;
    body.remove_prefix(first_line.size());
    while (!body.empty()) {
        size_t end = body.find('\n');
        if (end == std::string_view::npos || !read_line(body.substr(0, end), manifest))
            return std::nullopt;
        body.remove_prefix(end + 1);
    }
    return manifest;
}

} // namespace djstap::module
