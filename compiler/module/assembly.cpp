// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/assembly.h"

#include "cache/cache.h"
#include "module/build_output.h"
#include "module/elf.h"
#include "module/tool.h"
#include "module/verify.h"
#include "system/file.h"

#include <algorithm>
#include <filesystem>

namespace djstap::module {

namespace fs = std::filesystem;

namespace {

void sort_once(std::vector<std::string>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
}

Status copy(const std::string& from, const std::string& to) {
    std::error_code error;
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error)
        return Failure{to + ": cannot write: " + error.message(), ""};
    return Done{};
}

} // namespace

Status Assembly::run(const std::vector<std::string>& words) const {
    auto outcome = run_tool(words);
    if (!outcome)
        return outcome.failure();
    if (outcome->status != 0 || !outcome->output.empty())
        return Failure{"building the runtime for " + kit_.release + " failed in " +
                           fs::path(words[0]).filename().string() + ":" +
                           relevant_lines(outcome->output),
                       ""};
    return Done{};
}

Status Assembly::ld(const std::vector<std::string>& rest) const {
    std::vector<std::string> words;
    for (const std::string& word : kit_.linker)
        if (!word.starts_with("--build-id"))
            words.push_back(word);
    words.insert(words.end(), rest.begin(), rest.end());
    return run(words);
}

Status Assembly::link_pieces(const std::vector<std::string>& objects) const {
    std::vector<std::string> words{"-o", file(pieces_object)};
    words.insert(words.end(), objects.begin(), objects.end());
    if (Status ok = ld(words); !ok)
        return ok;
    return run({"strip", "--strip-debug", "-R", ".comment", "-R", ".djstap.offsets", "-R",
                ".rela.djstap.offsets", file(pieces_object)});
}

Status Assembly::link_runtime(const std::string& stand_ins_object) const {
    const std::string runtime = file(runtime_object);
    Status ok = stand_ins_object.empty()
                    ? copy(file(pieces_object), runtime)
                    : ld({"-o", runtime, file(pieces_object), stand_ins_object});
    if (ok && !stand_ins_object.empty())
        ok = run({"strip", "--strip-debug", "-R", ".comment", runtime});
    if (!ok || !kit_.delayed_objtool)
        return ok;
    if (ok = copy(runtime, file(plain_runtime)); !ok)
        return ok;
    std::vector<std::string> words = kit_.objtool;
    words.push_back(runtime);
    if (ok = run(words); !ok)
        return ok;
    return run({"strip", "--wildcard", "--strip-symbol=__pfx_*", runtime});
}

Status Assembly::read_runtime_symbols(const std::set<std::string>& replaced, bool versioned) const {
    auto runtime_bytes = read_file(file(runtime_object));
    auto module_bytes = read_file(file(module_object));
    for (const auto* bytes : {&runtime_bytes, &module_bytes})
        if (!*bytes)
            return bytes->failure();
    auto runtime = ElfObject::read(*runtime_bytes, "runtime.o");
    auto module_part = ElfObject::read(*module_bytes, "module.o");
    for (const auto* object : {&runtime, &module_part})
        if (!*object)
            return object->failure();
    if (versioned) {
        auto versions = read_versions(*module_part);
        if (!versions)
            return versions.failure();
        kit_.versioned_symbols = *versions;
    }
    // Without versions, modpost has still resolved each symbol.
    const bool listed = !kit_.versioned_symbols.empty() && versioned;
    std::vector<std::string> others;
    kit_.runtime_symbols.clear();
    kit_.runtime_functions.clear();
    for (const ObjectSymbol& symbol : runtime->symbols()) {
        const std::string name(symbol.name);
        if (name.empty())
            continue;
        if (!symbol.undefined()) {
            if (!symbol.global() || !name.starts_with("djs_") || replaced.contains(name))
                continue;
            kit_.runtime_symbols.push_back(name);
            if (symbol.type == STT_FUNC)
                kit_.runtime_functions.push_back(name);
        } else if (name != "djs_script" && !module_part->defined_symbol(name)) {
            if (!listed)
                others.push_back(name);
            else if (!std::binary_search(kit_.versioned_symbols.begin(),
                                         kit_.versioned_symbols.end(), name))
                return Failure{"the runtime needs '" + name +
                                   "', which has no version in the kernel's table",
                               ""};
        }
    }
    kit_.versioned_symbols.insert(kit_.versioned_symbols.end(), others.begin(), others.end());
    for (auto* list : {&kit_.runtime_symbols, &kit_.runtime_functions, &kit_.versioned_symbols})
        sort_once(*list);
    return Done{};
}

Status Assembly::keep(const std::string& folder) const {
    std::vector<KitFile> files;
    for (std::string_view name :
         {pieces_object, runtime_object, plain_runtime, module_object, linker_script}) {
        if (name == plain_runtime && !kit_.delayed_objtool)
            continue;
        auto bytes = read_file(file(name));
        if (!bytes)
            return bytes.failure();
        files.push_back({file_name(kit_, name), bytes->size(), hash_bytes(*bytes)});
        if (Status ok = write_cached(folder + "/" + files.back().name, *bytes); !ok)
            return ok;
    }
    return write_cached(folder + "/" + std::string(manifest_name), write_manifest(kit_, files));
}

} // namespace djstap::module
