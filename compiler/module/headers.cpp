// SPDX-License-Identifier: GPL-2.0-or-later
// Types of C headers: an object that contains nothing but their debug information.
#include "arch/arch.h"
#include "cache/cache.h"
#include "module/kept_object.h"
#include "module/module.h"
#include "module/tool.h"
#include "system/hash.h"
#include "system/temporary.h"
#include "system/trust.h"

#include <filesystem>

namespace djstap {

using namespace module;

namespace {

// The function gives the object code; all types of the headers are described, used or not.
constexpr std::string_view end_of_source = "void djs_headers(void);\nvoid djs_headers(void) {}\n";
constexpr std::string_view debug_options =
    " -g -gdwarf-5 -gz=none -fno-eliminate-unused-debug-types -w -Wno-error -c -o ";

std::string source_of(const std::vector<std::string>& headers) {
    std::string source;
    for (const std::string& header : headers)
        source += "#include <" + header + ">\n";
    return source.append(end_of_source);
}

// Compiles with a compiler's command in a folder; names of files are added to the command. Returns
// the path of the object in the cache, which has a build-id; `key`: what it depends on besides the
// source and the headers.
Result<std::string> compile_types(const std::string& command, const std::string& folder,
                                  const std::string& key, const std::vector<std::string>& headers) {
    const std::string source = source_of(headers);
    const KeptObject kept(cache_directory() + "/headers/" +
                          hexadecimal(hash_bytes(source, hash_bytes(key))) +
                          hexadecimal(hash_bytes(command)));
    if (std::string path = kept.find(); !path.empty() && check_trusted(path))
        return path;
    auto scratch = TemporaryFolder::create_in_memory();
    if (!scratch)
        return scratch.failure();
    if (Status written = write_file(scratch->file("headers.c"), source); !written)
        return written.failure();
    std::string words = "cd " + quoted_for_shell(folder) + " && exec " + command;
    words.append(KeptObject::listing_options(scratch->file("files")))
        .append(debug_options)
        .append(quoted_for_shell(scratch->file("headers.o")))
        .append(" ")
        .append(quoted_for_shell(scratch->file("headers.c")));
    auto compiled = run_tool({"sh", "-c", words});
    if (!compiled)
        return compiled.failure();
    if (compiled->status != 0) {
        std::string errors = first_errors(compiled->output);
        const std::string own = scratch->file("");
        for (size_t at; (at = errors.find(own)) != std::string::npos;)
            errors.erase(at, own.size());
        return Failure{"its headers do not compile:" + errors, ""};
    }
    auto linked = run_tool({"ld", "-m", arch::names().linker, "-r", "--build-id", "-o",
                            scratch->file("types.o"), scratch->file("headers.o")});
    if (!linked)
        return linked.failure();
    if (linked->status != 0)
        return Failure{"ld failed:" + first_errors(linked->output), ""};
    auto bytes = read_file(scratch->file("types.o"));
    if (!bytes)
        return bytes.failure();
    auto files = read_file(scratch->file("files"));
    if (!files)
        return files.failure();
    return kept.keep(*bytes, *files, folder, scratch->path());
}

} // namespace

Result<std::string> compile_kernel_headers(const RuntimeKit& kit,
                                           const std::vector<std::string>& headers) {
    return compile_types(kit.compiler, kit.build_dir, kit.directory, headers);
}

Result<std::string> compile_user_headers(const std::vector<std::string>& headers) {
    std::error_code error;
    return compile_types("cc -x c", std::filesystem::current_path(error), "", headers);
}

} // namespace djstap
