// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/kit_build.h"

#include "arch/arch.h"
#include "diagnostics/suggest.h"
#include "module/assembly.h"
#include "module/build_output.h"
#include "module/direct_build.h"
#include "module/name.h"
#include "module/offsets.h"
#include "module/parts.h"
#include "module/tool.h"
#include "module/units.h"
#include "module/verify.h"
#include "system/file.h"
#include "system/stopwatch.h"
#include "system/temporary.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

namespace djstap::module {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view stub_object = "stub.o";

std::vector<std::string> split(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

bool is_c_source(const SourceFile& file) {
    return file.name.ends_with(".c");
}

// The build of one kit: paths and intermediate results.
class Builder {
  public:
    Builder(const Kernel& kernel, const std::vector<SourceFile>& sources, const Parts& parts,
            const std::string& folder, const ModuleProgress& progress,
            const TemporaryFolder& scratch, const std::function<PartNames()>& wanted)
        : kernel_(kernel), sources_(sources), parts_(parts), folder_(folder), progress_(progress),
          scratch_(scratch), wanted_(wanted), directly_(wanted != nullptr),
          assembly_(kit_, scratch) {}

    Result<RuntimeKit> run() {
        Stopwatch watch;
        kit_.release = kernel_.release();
        kit_.build_id = kernel_.build_id();
        kit_.ibt = kernel_.has_ibt();
        if (Status ok = make(); !ok)
            return ok.failure();
        kit_.times.kbuild = watch.lap();
        for (auto step : {&Builder::read_commands, &Builder::link_objects, &Builder::read_symbols,
                          &Builder::read_offsets, &Builder::try_link, &Builder::finish}) {
            if (Status ok = (this->*step)(); !ok)
                return ok.failure();
        }
        kit_.times.finish = watch.lap();
        kit_.directory = folder_;
        kit_.built = true;
        return kit_;
    }

  private:
    Status make();
    Status write_sources();
    Status make_directly();
    Status make_by_kbuild();
    std::vector<std::string> make_command(unsigned jobs) const;
    bool versioned() const { return kernel_.config("MODVERSIONS") == "y"; }
    std::string title() const { return "building the runtime for " + kit_.release; }
    Result<ProgramOutcome> run_make(unsigned jobs, const std::string& objects, size_t total);
    Status read_commands();
    Status link_objects();
    Status read_symbols();
    Status read_offsets();
    Status try_link();
    Status finish();

    std::string built(std::string_view name) const { return scratch_.file(name); }
    std::string placeholder(std::string_view suffix) const {
        return scratch_.file(std::string(name_placeholder) + std::string(suffix));
    }

    const Kernel& kernel_;
    const std::vector<SourceFile>& sources_;
    const Parts& parts_;
    const std::string& folder_;
    const ModuleProgress& progress_;
    const TemporaryFolder& scratch_;
    const std::function<PartNames()>& wanted_; // none: Kbuild builds all
    const bool directly_;
    RuntimeKit kit_;
    Assembly assembly_;
    std::string features_;             // options for the compiler
    std::vector<std::string> objects_; // of the runtime, excluding the stub
    std::string stand_ins_;            // an object; empty: the runtime lacks no part
};

Status Builder::make() {
    if (Status ok = write_sources(); !ok)
        return ok;
    return directly_ ? make_directly() : make_by_kbuild();
}

Status Builder::write_sources() {
    for (const SourceFile& file : sources_) {
        std::error_code ignored;
        fs::create_directories(fs::path(built(file.name)).parent_path(), ignored);
        if (Status ok = write_file(built(file.name), file.text); !ok)
            return ok;
        if (file.name == "features.list") {
            auto found = find_features(kernel_.files().build_dir, file.text);
            if (!found)
                return found.failure();
            for (const std::string& feature : *found)
                features_.append(features_.empty() ? "-D" : " -D").append(feature).append("=1");
        }
    }
    return Done{};
}

Status Builder::make_directly() {
    if (progress_)
        progress_(title() + " (once)");
    const unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    const std::vector<std::string> command = make_command(1);
    const auto units = [this] {
        kit_.parts = wanted_();
        std::vector<Unit> all = parts_.units(kit_.parts, true, "");
        if (all.empty())
            return divide_sources(sources_);
        if (const auto replaced = parts_.replaced(kit_.parts); !replaced.empty())
            all.push_back({{"djs_absent.c", stand_ins(replaced)}});
        return all;
    };
    DirectBuild build{kernel_, units, scratch_, command, std::string(name_placeholder), jobs, {}};
    if (progress_)
        build.progress = [this](size_t done, size_t total) {
            progress_(title() + " (once): " + std::to_string(done) + " of " +
                      std::to_string(total));
        };
    auto objects = build_directly(build);
    if (!objects)
        return objects.failure();
    objects_ = std::move(*objects);
    if (!parts_.replaced(kit_.parts).empty()) {
        stand_ins_ = objects_.back();
        objects_.pop_back();
    }
    kit_.combined = true;
    return Done{};
}

Status Builder::make_by_kbuild() {
    kit_.parts = parts_.all();
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    std::vector<SourceFile> combined;
    for (Unit& unit : parts_.units(parts_.all(), true, ""))
        combined.push_back(std::move(unit.source));
    // One of them holds the sources without kernel headers; on two processors both take equally
    // long.
    if (combined.empty())
        combined = combine_sources(sources_, std::clamp(jobs, 2u, 4u) - 1);
    std::string objects;
    for (const SourceFile& file : combined) {
        if (Status ok = write_file(built(file.name), file.text); !ok)
            return ok;
        objects.append(file.name.substr(0, file.name.size() - 1)).append("o ");
    }
    // Sources that cannot be compiled together (two have a static function of one name) are
    // compiled one by one: slower, but correct. If that fails, too, the sources themselves are at
    // fault.
    if (!combined.empty()) {
        auto outcome = run_make(jobs, objects + std::string(stub_object), combined.size() + 1);
        if (outcome && outcome->status == 0 && !has_warnings(outcome->output)) {
            kit_.combined = true;
            return Done{};
        }
    }
    auto outcome = run_make(jobs, {}, std::count_if(sources_.begin(), sources_.end(), is_c_source));
    if (!outcome)
        return outcome.failure();
    if (outcome->status != 0 || has_warnings(outcome->output))
        return Failure{title() + (outcome->status ? " failed:" : " gave warnings:") +
                           relevant_lines(outcome->output, scratch_.path()),
                       ""};
    return Done{};
}

// No debug information: nothing reads it, and it would be most of gcc's output. No BTF either: it
// needs pahole and vmlinux. Newer Kbuild warns if the version of pahole differs.
std::vector<std::string> Builder::make_command(unsigned jobs) const {
    return {"make",
            "-C",
            kernel_.files().build_dir,
            "M=" + scratch_.path(),
            "-j" + std::to_string(jobs),
            "-s",
            "V=0",
            "quiet=quiet_",
            "DJS_NAME=" + std::string(name_placeholder),
            "DJS_FEATURES=" + features_,
            "KCFLAGS=-g0",
            "CONFIG_DEBUG_INFO_BTF_MODULES=",
            "PAHOLE_VERSION=" + kernel_.config("PAHOLE_VERSION")};
}

// Runs Kbuild for the objects that runtime/Kbuild lists, or for others instead.
Result<ProgramOutcome> Builder::run_make(unsigned jobs, const std::string& objects, size_t total) {
    size_t done = 0;
    auto line = [&](std::string_view text) {
        size_t at = text.find("CC [M]");
        if (at == std::string_view::npos || !progress_ ||
            text.find(".mod") != std::string_view::npos)
            return;
        done = std::min(done + 1, total);
        progress_(title() + " (once): " + std::to_string(done) + " of " + std::to_string(total));
    };
    std::vector<std::string> words = make_command(jobs);
    if (!objects.empty())
        words.push_back(std::string(name_placeholder) + "-y=" + objects);
    words.push_back("modules");
    return run_tool(words, line);
}

// Reads the commands that Kbuild noted: the linker's flags and script, objtool's arguments, the
// objects.
Status Builder::read_commands() {
    const std::string build_dir = kernel_.files().build_dir;
    auto link = read_file(scratch_.file("." + std::string(name_placeholder) + ".ko.cmd"));
    auto list = read_file(placeholder(".mod"));
    if (!link || !list)
        return !link ? link.failure() : list.failure();
    for (const std::string& object : directly_ ? std::vector<std::string>() : split(*list)) {
        std::string path = object.starts_with('/') ? object : built(object);
        if (fs::path(path).filename() != stub_object)
            objects_.push_back(path);
    }
    std::string script;
    std::vector<std::string> words = split(link->substr(link->find(":=") + 2));
    for (size_t i = 0; i < words.size() && words[i] != "-o"; i++) {
        if (words[i] == "-T" && i + 1 < words.size()) {
            script = words[++i];
            continue;
        }
        kit_.linker.push_back(words[i]);
    }
    if (kit_.linker.empty() || script.empty())
        return Failure{"unexpected Kbuild link command for " + kit_.release, ""};
    auto text = read_file(script.starts_with('/') ? script : build_dir + "/" + script);
    if (!text)
        return text.failure();
    if (Status ok = write_file(assembly_.file(linker_script), *text); !ok)
        return ok;

    // "cmd_X := gcc … -c -o X Y.c ; objtool …"
    auto compile = read_file(scratch_.file("." + std::string(stub_object) + ".cmd"));
    const size_t noted = compile ? compile->find(":= ") : std::string::npos;
    if (noted != std::string::npos)
        kit_.compiler = compiler_of(
            std::string_view(*compile).substr(noted + 3, compile->find('\n', noted) - noted - 3),
            scratch_.path());
    kit_.build_dir = build_dir;
    if (kit_.compiler.empty())
        return Failure{"unexpected Kbuild compile command for " + kit_.release, ""};

    // With link-time annotation the command is that of the whole module, else that of each object.
    const auto linked = read_file(scratch_.file("." + std::string(name_placeholder) + ".o.cmd"));
    auto objtool = find_objtool({linked ? *linked : "", *compile}, build_dir);
    if (!objtool)
        return objtool.failure();
    if (objtool->command.empty() && kernel_.config("OBJTOOL") == "y")
        return Failure{"unexpected Kbuild objtool command for " + kit_.release, ""};
    kit_.objtool = std::move(objtool->command);
    kit_.delayed_objtool = objtool->is_delayed;
    return Done{};
}

Status Builder::link_objects() {
    if (Status ok = assembly_.link_pieces(objects_); !ok)
        return ok;
    if (Status ok = assembly_.link_runtime(stand_ins_); !ok)
        return ok;
    const std::string module_part = assembly_.file(module_object);
    std::vector<std::string> words{"-o", module_part, placeholder(".mod.o")};
    std::error_code error;
    if (fs::exists(built(".module-common.o"), error))
        words.push_back(built(".module-common.o"));
    if (Status ok = assembly_.ld(words); !ok)
        return ok;
    if (Status ok = assembly_.run({"strip", "--strip-debug", "-R", ".comment", module_part}); !ok)
        return ok;
    return directly_ ? complete_versions(kit_, assembly_, scratch_, built(stub_object), versioned())
                     : Done{};
}

Status Builder::read_symbols() {
    if (Status ok = assembly_.read_runtime_symbols(parts_.replaced(kit_.parts), versioned()); !ok)
        return ok;
    auto bytes = read_file(built(stub_object));
    if (!bytes)
        return bytes.failure();
    auto stub = ElfObject::read(*bytes, "stub.o");
    if (!stub)
        return stub.failure();
    std::set<std::string> offered;
    for (const ObjectSymbol& symbol : stub->symbols())
        if (symbol.undefined() && !symbol.name.empty() && !kit_.has_runtime_symbol(symbol.name))
            offered.emplace(symbol.name);
    if (!versioned()) {
        std::set<std::string> all(kit_.versioned_symbols.begin(), kit_.versioned_symbols.end());
        all.insert(offered.begin(), offered.end());
        kit_.versioned_symbols.assign(all.begin(), all.end());
    }
    // What the compiler itself inserts calls of: thunks, whether the stub uses them or not.
    for (const std::string& symbol : kit_.versioned_symbols)
        if (arch::thunk_of(symbol) != arch::Thunk::None)
            offered.insert(symbol);
    kit_.kernel_symbols.assign(offered.begin(), offered.end());
    return Done{};
}

Status Builder::read_offsets() {
    auto offsets = find_offsets(objects_);
    if (!offsets)
        return offsets.failure();
    kit_.offsets = *offsets;
    return Done{};
}

// Links a whole module with the stub: runs every check that a script's module must pass once in
// advance.
Status Builder::try_link() {
    if (directly_)
        if (Status ok = assembly_.ld({"-T", assembly_.file(linker_script), "-o", placeholder(".ko"),
                                      assembly_.file(runtime_object), built(stub_object),
                                      assembly_.file(module_object)});
            !ok)
            return ok;
    auto bytes = read_file(placeholder(".ko"));
    if (!bytes)
        return bytes.failure();
    auto object = ElfObject::read(*bytes, "the runtime's module");
    if (!object)
        return object.failure();
    auto places = find_placeholders(*bytes, *object);
    if (!places)
        return places.failure();
    return Done{};
}

Status Builder::finish() {
    const std::string sign_file = kernel_.files().build_dir + "/scripts/sign-file";
    std::error_code error;
    if (fs::exists(sign_file, error))
        kit_.sign_file = sign_file;
    kit_.signature_hash = kernel_.config("MODULE_SIG_HASH");
    if (kit_.signature_hash.empty())
        kit_.signature_hash = "sha256";
    return assembly_.keep(folder_);
}

} // namespace

Result<RuntimeKit> build_kit(const Kernel& kernel, const std::vector<SourceFile>& sources,
                             const Parts& parts, const std::function<PartNames()>& wanted,
                             const std::string& folder, const ModuleProgress& progress) {
    auto scratch = TemporaryFolder::create_in_memory();
    if (!scratch)
        return scratch.failure();
    auto kit = Builder(kernel, sources, parts, folder, progress, *scratch, wanted).run();
    return kit ? kit
               : build_kit_by_kbuild(kernel, sources, parts, kit.failure().message, folder,
                                     progress);
}

Result<RuntimeKit> build_kit_by_kbuild(const Kernel& kernel, const std::vector<SourceFile>& sources,
                                       const Parts& parts, const std::string& why,
                                       const std::string& folder, const ModuleProgress& progress) {
    auto scratch = TemporaryFolder::create_in_memory();
    if (!scratch)
        return scratch.failure();
    if (progress)
        progress("building the runtime for " + kernel.release() +
                 " (once) by Kbuild alone, which takes longer: " + why);
    auto kit = Builder(kernel, sources, parts, folder, progress, *scratch, nullptr).run();
    if (kit)
        kit->indirect_because = why;
    return kit;
}

} // namespace djstap::module
