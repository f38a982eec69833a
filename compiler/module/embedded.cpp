// SPDX-License-Identifier: GPL-2.0-or-later
// Embedded C code of a script: compiled like Kbuild does, and linked with the script's object.
#include "arch/arch.h"
#include "cache/cache.h"
#include "module/elf.h"
#include "module/kept_object.h"
#include "module/kit_build.h"
#include "module/manifest.h"
#include "module/module.h"
#include "module/tool.h"
#include "module/versions.h"
#include "system/temporary.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace djstap {

namespace fs = std::filesystem;
using namespace module;

namespace {

// THIS_MODULE, which the part of a module that Kbuild makes defines.
constexpr std::string_view module_symbol = "__this_module";

// What follows an object in the cache: a damaged one would become part of the kernel.
std::string seal_of(std::string_view bytes) {
    return hexadecimal(hash_bytes(bytes));
}

// Removes the seal. Returns false if it is not that of these bytes.
bool take_seal(std::string& bytes) {
    const size_t length = seal_of("").size();
    if (bytes.size() <= length)
        return false;
    const std::string seal = bytes.substr(bytes.size() - length);
    bytes.resize(bytes.size() - length);
    return seal == seal_of(bytes);
}

class Compiler {
  public:
    Compiler(const RuntimeKit& kit, const RuntimeSources& sources, std::string_view c_source,
             const TemporaryFolder& scratch)
        : kit_(kit), sources_(sources), c_source_(c_source), scratch_(scratch) {}

    // Returns the object of the C code alone: from the cache, or compiled now.
    Result<std::string> object() {
        const KeptObject kept(cache_directory() + "/embedded/" +
                              hexadecimal(hash_bytes(c_source_, hash_bytes(kit_.directory))) +
                              hexadecimal(hash_bytes(kit_.compiler)));
        if (const std::string path = kept.find(); !path.empty())
            if (auto known = read_cached(path); known && take_seal(*known))
                return *known;
        if (Status ok = compile(); !ok)
            return ok.failure();
        auto bytes = read_file(scratch_.file("embedded.o"));
        const auto files = read_file(scratch_.file("files"));
        if (bytes && files) // without a cache it is compiled each time
            static_cast<void>(
                kept.keep(*bytes + seal_of(*bytes), *files, kit_.build_dir, scratch_.path()));
        return bytes;
    }

    // Links the objects into one; the names are of files in the scratch folder. File symbols are
    // stripped: objtool takes an object with several of them for a whole module.
    Status join(const std::string& to, const std::vector<std::string>& from) {
        std::vector<std::string> words{"ld", "-m", arch::names().linker,
                                       "-r", "-o", scratch_.file(to)};
        for (const std::string& name : from)
            words.push_back(scratch_.file(name));
        if (Status ok = run(words, ""); !ok)
            return ok;
        return run({"objcopy", "--wildcard", "--strip-symbol=*.c", scratch_.file(to)}, "");
    }

    Status assemble(const std::string& name) {
        return shell("-c -o " + quoted_for_shell(scratch_.file(name + ".o")) + " " +
                         quoted_for_shell(scratch_.file(name + ".c")),
                     "");
    }

  private:
    Status compile() {
        if (Status ok = write_file(scratch_.file("embedded.c"), c_source_); !ok)
            return ok;
        return shell("-I" + quoted_for_shell(sources_.directory) + " -I" +
                         quoted_for_shell(sources_.directory + "/embedded") +
                         KeptObject::listing_options(scratch_.file("files")) +
                         " -g0 -Wno-unused-variable -Wno-unused-label"
                         " -Wno-unused-function -Wno-unused-but-set-variable"
                         " -Wno-declaration-after-statement -Wno-missing-prototypes"
                         " -Wno-missing-declarations -Wno-unused-value"
                         " -Wno-error -c -o " +
                         quoted_for_shell(scratch_.file("embedded.o")) + " " +
                         quoted_for_shell(scratch_.file("embedded.c")),
                     "the script's C code does not compile:");
    }

    Status shell(const std::string& options, const std::string& what) {
        return run({"sh", "-c",
                    "cd " + quoted_for_shell(kit_.build_dir) + " && exec " + kit_.compiler + " " +
                        options},
                   what);
    }

    Status run(const std::vector<std::string>& words, const std::string& what) {
        auto outcome = run_tool(words);
        if (!outcome)
            return outcome.failure();
        if (outcome->status == 0)
            return Done{};
        return Failure{
            (what.empty() ? words[0] + " failed:" : what) + first_errors(outcome->output), ""};
    }

    const RuntimeKit& kit_;
    const RuntimeSources& sources_;
    std::string_view c_source_;
    const TemporaryFolder& scratch_;
};

// Returns the kernel symbols that the object needs and neither the kit nor the script's own object
// has.
Result<std::set<std::string>> missing_symbols(std::string_view bytes, std::string_view script,
                                              const RuntimeKit& kit) {
    auto object = ElfObject::read(bytes, "the script's C code");
    if (!object)
        return object.failure();
    auto own = ElfObject::read(script, "the script");
    if (!own)
        return own.failure();
    std::set<std::string> missing;
    std::set<std::string> defined{std::string(module_symbol)};
    for (const ObjectSymbol& symbol : own->symbols())
        if (!symbol.undefined())
            defined.emplace(symbol.name);
    for (const ObjectSymbol& symbol : object->symbols())
        if (symbol.undefined() && !symbol.name.empty() &&
            !defined.contains(std::string(symbol.name)) && !kit.has_runtime_symbol(symbol.name) &&
            !kit.has_kernel_symbol(symbol.name))
            missing.emplace(symbol.name);
    return missing;
}

} // namespace

Result<EmbeddedObject> add_embedded_code(const RuntimeKit& kit, const RuntimeSources& sources,
                                         std::string_view c_source, std::string_view object) {
    auto scratch = TemporaryFolder::create_in_memory();
    if (!scratch)
        return scratch.failure();
    Compiler compiler(kit, sources, c_source, *scratch);
    auto code = compiler.object();
    if (!code)
        return code.failure();
    auto needed = missing_symbols(*code, object, kit);
    if (!needed)
        return needed.failure();
    auto rows = version_rows(
        kit.build_dir, *needed,
        std::set<std::string>(kit.versioned_symbols.begin(), kit.versioned_symbols.end()));
    if (!rows)
        return rows.failure();
    if (!rows->unknown.empty())
        return Failure{"the script's C code refers to '" + *rows->unknown.begin() +
                           "', which the kernel does not export to modules",
                       "use only functions that the C code or a kernel header declares"};
    const std::string table = version_source(*rows);
    std::vector<std::string> parts{"script.o", "code.o"};
    Status ok = write_file(scratch->file("script.o"), object);
    if (ok)
        ok = write_file(scratch->file("code.o"), *code);
    if (ok && !table.empty()) {
        parts.push_back("versions.o");
        ok = write_file(scratch->file("versions.c"), table);
        if (ok)
            ok = compiler.assemble("versions");
    }
    if (ok)
        ok = compiler.join("joined.o", parts);
    if (!ok)
        return ok.failure();
    auto joined = read_file(scratch->file("joined.o"));
    if (!joined)
        return joined.failure();
    EmbeddedObject out{std::move(*joined), kit};
    out.kit.embedded_code = true;
    out.kit.kernel_symbols.emplace_back(module_symbol);
    for (auto* symbols : {&out.kit.kernel_symbols, &out.kit.versioned_symbols}) {
        symbols->insert(symbols->end(), needed->begin(), needed->end());
        std::sort(symbols->begin(), symbols->end());
        symbols->erase(std::unique(symbols->begin(), symbols->end()), symbols->end());
    }
    return out;
}

} // namespace djstap
