// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/handler_names.h"
#include "module/kit_files.h"
#include "module/manifest.h"
#include "module/module.h"
#include "module/name.h"
#include "module/sign.h"
#include "module/tool.h"
#include "module/verify.h"
#include "system/file.h"
#include "system/stopwatch.h"
#include "system/temporary.h"

#include <cstring>
#include <filesystem>
#include <set>
#include <sys/stat.h>

namespace djstap {

namespace fs = std::filesystem;
using namespace module;

namespace {

// Returns the output of a tool, indented, at most a few lines.
std::string shown(std::string_view output) {
    std::string text;
    int lines = 0;
    while (!output.empty() && lines++ < 8) {
        size_t end = std::min(output.find('\n'), output.size());
        text.append("\n  ").append(output.substr(0, end));
        output.remove_prefix(std::min(end + 1, output.size()));
    }
    return text;
}

// Runs objtool or ld: any output is a failure, because objtool succeeds after warnings about code
// that leaves a module unsound.
Status run_quiet(const RuntimeKit& kit, const std::vector<std::string>& words) {
    const std::string tool = fs::path(words[0]).filename();
    auto outcome = run_tool(words);
    if (!outcome)
        return Failure{outcome.failure().message,
                       tool == "objtool" || tool.starts_with("objtool.")
                           ? "apt-get install linux-headers-" + kit.release
                           : "apt-get install binutils"};
    if (outcome->status == 0 && outcome->output.empty())
        return Done{};
    if (outcome->output.empty())
        return Failure{tool + " ended with status " + std::to_string(outcome->status), ""};
    return Failure{tool + " rejects the script's code:" + shown(outcome->output), ""};
}

class Linker {
  public:
    Linker(const RuntimeKit& kit, const ModuleRequest& request, const TemporaryFolder& scratch,
           BuiltModule& built)
        : kit_(kit), request_(request), scratch_(scratch), built_(built) {}

    Status run() {
        for (auto step : {&Linker::check_object, &Linker::write_object, &Linker::link,
                          &Linker::check_result, &Linker::sign, &Linker::write_output}) {
            if (Status ok = (this->*step)(); !ok)
                return ok;
        }
        return Done{};
    }

  private:
    Status check_object() {
        auto object = ElfObject::read(request_.object, "the script's object");
        if (!object)
            return object.failure();
        for (const ObjectSymbol& symbol : object->symbols())
            if (!symbol.undefined() && !symbol.name.empty())
                script_names_.emplace(symbol.name);
        auto facts = check_script_object(*object, kit_);
        if (!facts)
            return facts.failure();
        // The kernel seals every landing pad to which objtool has seen no pointer (makes it
        // unreachable through pointers). With IBT, objtool must therefore see pointers between
        // runtime and script in one run. The runtime has none to a script's functions; if the
        // script has some to the runtime's, both go through objtool together: slower, but sound.
        built_.whole_objtool =
            kit_.delayed_objtool && (facts->takes_runtime_addresses || request_.whole_objtool);
        built_.times.check += watch_.lap();
        return Done{};
    }

    Status write_object() {
        Status ok = write_file(script(), request_.object);
        built_.times.write = watch_.lap();
        return ok;
    }

    Status link() {
        if (!built_.whole_objtool) {
            if (Status ok = objtool(script()); !ok)
                return ok;
            return ld({"-T", kit_file(linker_script), "-o", module(), kit_file(runtime_object),
                       script(), kit_file(module_object)});
        }
        const std::string whole = scratch_.file("whole.o");
        if (Status ok = ld({"-o", whole, kit_file(plain_runtime), script()}); !ok)
            return ok;
        if (Status ok = objtool(whole); !ok)
            return ok;
        return ld({"-T", kit_file(linker_script), "-o", module(), whole, kit_file(module_object)});
    }

    Status check_result() {
        auto bytes = read_file(module());
        if (!bytes)
            return bytes.failure();
        built_.bytes = std::move(*bytes);
        auto object = ElfObject::read(built_.bytes, "the linked module");
        if (!object)
            return object.failure();
        if (Status ok = check_module(*object, kit_); !ok)
            return ok;
        auto places = find_placeholders(built_.bytes, *object);
        if (!places)
            return places.failure();
        put_name(built_.bytes, *places, request_.name);
        name_handlers_as_one(built_.bytes, *object, script_names_);
        built_.times.check += watch_.lap();
        return Done{};
    }

    Status sign() {
        if (request_.signing_key.empty())
            return Done{};
        Status ok = sign_module(kit_, request_.signing_key, module(), built_.bytes);
        built_.is_signed = bool(ok);
        built_.times.sign = watch_.lap();
        return ok;
    }

    Status write_output() {
        if (request_.output.empty())
            return Done{};
        if (Status ok = replace_file(request_.output, built_.bytes); !ok)
            return ok;
        built_.path = request_.output;
        built_.times.output = watch_.lap();
        return Done{};
    }

    Status objtool(const std::string& object) {
        if (kit_.objtool.empty())
            return Done{};
        std::vector<std::string> words = kit_.objtool;
        words.push_back(object);
        Status ok = run_quiet(kit_, words);
        built_.times.objtool += watch_.lap();
        return ok;
    }

    Status ld(std::initializer_list<std::string> rest) {
        std::vector<std::string> words = kit_.linker;
        words.insert(words.end(), rest);
        Status ok = run_quiet(kit_, words);
        built_.times.link += watch_.lap();
        return ok;
    }

    std::string script() const { return scratch_.file("script.o"); }
    std::string module() const { return scratch_.file("module.ko"); }
    std::string kit_file(std::string_view name) const {
        return kit_.files->path(file_name(kit_, name));
    }

    const RuntimeKit& kit_;
    const ModuleRequest& request_;
    const TemporaryFolder& scratch_;
    BuiltModule& built_;
    std::set<std::string, std::less<>> script_names_; // what the script's object defines
    Stopwatch watch_;
};

} // namespace

Result<std::set<std::string>> needed_symbols(std::string_view bytes) {
    auto object = ElfObject::read(bytes, "the script's object");
    if (!object)
        return object.failure();
    std::set<std::string> names;
    for (const ObjectSymbol& symbol : object->symbols())
        if (symbol.undefined() && symbol.name.starts_with("djs_"))
            names.emplace(symbol.name);
    return names;
}

Result<BuiltModule> link_module(const RuntimeKit& kit, const ModuleRequest& request) {
    Stopwatch watch;
    if (Status ok = check_module_name(request.name); !ok)
        return ok.failure();
    BuiltModule built;
    {
        auto scratch = TemporaryFolder::create_in_memory();
        if (!scratch)
            return scratch.failure();
        if (Status ok = Linker(kit, request, *scratch, built).run(); !ok)
            return ok.failure();
    }
    built.times.total = watch.lap();
    return built;
}

} // namespace djstap
