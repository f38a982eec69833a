// SPDX-License-Identifier: GPL-2.0-or-later
#include "module/direct_build.h"

#include "module/build_output.h"
#include "module/elf.h"
#include "module/option_tries.h"
#include "module/tool.h"
#include "module/units.h"
#include "module/verify.h"
#include "module/versions.h"
#include "system/file.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <set>

namespace djstap::module {

namespace {

constexpr std::string_view stub = "stub", skeleton = "djs_skeleton";

// What modpost requires of a module. Pointers to the functions, as module_init() makes them:
// objtool warns of functions without landing pads otherwise.
constexpr std::string_view skeleton_source =
    "static const char djs_license[] __attribute__((__section__(\".modinfo\"), __used__, "
    "__aligned__(1))) = \"license=GPL\";\n"
    "int init_module(void);\n"
    "void cleanup_module(void);\n"
    "int init_module(void) { return 0; }\n"
    "void cleanup_module(void) {}\n"
    "int (*volatile djs_skeleton_init)(void) = init_module;\n"
    "void (*volatile djs_skeleton_exit)(void) = cleanup_module;\n";

class Direct {
  public:
    explicit Direct(const DirectBuild& build) : build_(build) {}

    Result<std::vector<std::string>> run() {
        if (Status ok =
                write_file(build_.scratch.file(std::string(skeleton) + ".c"), skeleton_source);
            !ok)
            return ok.failure();
        make_ = build_.make;
        make_.push_back(build_.module_name + "-y=" + std::string(skeleton) + ".o " +
                        std::string(stub) + ".o");
        // That module lacks the runtime, to which the stub may refer.
        make_.insert(make_.end(), {"KBUILD_MODPOST_WARN=1", "PAHOLE=:", "modules"});
        tries_ = answer_option_tries(make_, build_dir(), build_.scratch.path());
        if (!tries_)
            return Failure{"Kbuild's tries of options have no certain answers", ""};
        command_ = compile_command(tries_->commands, build_.scratch.path(), stub);
        if (command_.empty())
            return Failure{"Kbuild's command for a source is not known", ""};
        // Without a second thread it runs when its turn comes.
        auto kbuild = std::async(build_.jobs > 1 ? std::launch::async : std::launch::deferred,
                                 [this] { return run_kbuild(); });
        const std::vector<Unit> units = build_.units();
        if (units.empty())
            return Failure{"the runtime has no sources", ""};
        total_ = units.size() + 1;
        std::vector<std::function<bool()>> jobs;
        std::vector<std::string> objects;
        for (const Unit& unit : units) {
            if (Status ok = write_file(build_.scratch.file(unit.source.name), unit.source.text);
                !ok)
                return ok.failure();
            jobs.emplace_back([this, &unit] { return compile(unit); });
            objects.push_back(build_.scratch.file(unit.name() + ".o"));
        }
        // The first unit takes longest. One thread waits for Kbuild before it compiles others.
        jobs.insert(jobs.begin() + 1, [&kbuild] { return kbuild.get(); });
        if (!run_jobs(jobs, build_.jobs))
            return Failure{failure_, ""};
        if (!is_as_kbuild_compiles())
            return Failure{"Kbuild compiles with another command", ""};
        return objects;
    }

  private:
    const std::string& build_dir() const { return build_.kernel.files().build_dir; }

    // Notes the first failure.
    bool fail(const std::string& why) {
        const std::lock_guard<std::mutex> guard(lock_);
        if (failure_.empty())
            failure_ = why;
        return false;
    }

    bool compile(const Unit& unit) {
        auto outcome = run_tool({"sh", "-c",
                                 "cd " + quoted_for_shell(build_dir()) + " && set -e; " +
                                     command_for(command_, stub, unit.name(), unit.cold)});
        if (!outcome)
            return fail(outcome.failure().message);
        if (outcome->status != 0 || has_warnings(outcome->output))
            return fail(unit.name() + ":" + relevant_lines(outcome->output));
        report();
        return true;
    }

    bool run_kbuild() {
        std::vector<std::string> words = make_;
        words.insert(words.end(), tries_->variables.begin(), tries_->variables.end());
        auto outcome = run_tool(words);
        if (!outcome)
            return fail(outcome.failure().message);
        if (!asked_nothing_else(*tries_, outcome->output))
            return fail("Kbuild tries other options");
        if (outcome->status != 0)
            return fail("Kbuild fails:" + relevant_lines(outcome->output));
        report();
        return true;
    }

    // Compares the command with the one that Kbuild noted for the stub.
    bool is_as_kbuild_compiles() const {
        auto note = read_file(build_.scratch.file("." + std::string(stub) + ".o.cmd"));
        if (!note)
            return false;
        const size_t begin = note->find(":= ");
        if (begin == std::string::npos)
            return false;
        const std::string line = note->substr(begin + 3, note->find('\n', begin) - begin - 3);
        return compile_command("; " + line + " ; scripts/basic/fixdep ", build_.scratch.path(),
                               stub) ==
               compile_command("; " + command_ + " ; scripts/basic/fixdep ", build_.scratch.path(),
                               stub);
    }

    void report() {
        const std::lock_guard<std::mutex> guard(lock_);
        done_++;
        if (build_.progress && total_)
            build_.progress(done_, total_);
    }

    const DirectBuild& build_;
    std::vector<std::string> make_;
    std::optional<OptionTries> tries_;
    std::string command_;
    std::atomic<size_t> total_ = 0;
    std::mutex lock_;
    size_t done_ = 0;
    std::string failure_;
};

std::set<std::string> names_of(const ElfObject& object, bool undefined) {
    std::set<std::string> names;
    for (const ObjectSymbol& symbol : object.symbols())
        if (symbol.undefined() == undefined && symbol.global() && !symbol.name.empty())
            names.emplace(symbol.name);
    return names;
}

// Returns whether a module of this runtime differs from the skeleton in nothing that modpost knows
// besides the kernel's symbols that it needs.
bool is_usual(const ElfObject& runtime) {
    for (const ObjectSection& section : runtime.sections())
        if (section.name.find("__ksymtab") != std::string_view::npos ||
            section.name.find(".export_symbol") != std::string_view::npos)
            return false;
    for (const ObjectSymbol& symbol : runtime.symbols())
        if (symbol.name.starts_with("__mod_") && symbol.name.ends_with("_device_table"))
            return false;
    const ObjectSection* info = runtime.section(".modinfo");
    if (!info)
        return false;
    bool licensed = false;
    for (std::string_view rest = info->bytes; !rest.empty();) {
        const size_t end = std::min(rest.find('\0'), rest.size());
        const std::string_view entry = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        licensed |= entry == "license=GPL";
        if (entry.starts_with("version=") || entry.starts_with("import_ns="))
            return false;
    }
    return licensed && runtime.defined_symbol("init_module") &&
           runtime.defined_symbol("cleanup_module");
}

} // namespace

Result<std::vector<std::string>> build_directly(const DirectBuild& build) {
    return Direct(build).run();
}

Status complete_versions(const RuntimeKit& kit, const Assembly& assembly,
                         const TemporaryFolder& scratch, const std::string& stub, bool versioned) {
    const std::string module_part = assembly.file(module_object);
    std::vector<std::string> files{assembly.file(runtime_object), module_part};
    if (!stub.empty())
        files.push_back(stub);
    std::vector<std::string> bytes;
    std::vector<ElfObject> objects;
    bytes.reserve(files.size());
    for (const std::string& file : files) {
        auto text = read_file(file);
        if (!text)
            return text.failure();
        bytes.push_back(std::move(*text));
        auto object = ElfObject::read(bytes.back(), file);
        if (!object)
            return object.failure();
        objects.push_back(std::move(*object));
    }
    if (!is_usual(objects[0]))
        return Failure{"the runtime is more than functions and variables", ""};
    std::set<std::string> needed = names_of(objects[0], true);
    if (!stub.empty())
        needed.merge(names_of(objects.back(), true));
    for (const ElfObject& object : objects)
        for (const std::string& name : names_of(object, false))
            needed.erase(name);
    if (stub.empty())
        needed.erase("djs_script");
    std::set<std::string> known;
    if (versioned) {
        auto names = read_versions(objects[1]);
        if (!names)
            return names.failure();
        known.insert(names->begin(), names->end());
    }
    auto rows = version_rows(kit.build_dir, needed, known);
    if (!rows)
        return rows.failure();
    for (const std::set<std::string>* names : {&rows->unknown, &rows->special})
        if (!names->empty())
            return Failure{*names->begin() + " is not simply exported by the kernel", ""};
    const std::string source = version_source(*rows);
    if (!versioned || source.empty())
        return Done{};
    const std::string file = scratch.file("djs_versions"), joined = scratch.file("djs_joined.o");
    if (Status ok = write_file(file + ".c", source); !ok)
        return ok;
    if (Status ok = assembly.run({"sh", "-c",
                                  "cd " + quoted_for_shell(kit.build_dir) + " && exec " +
                                      kit.compiler + " -c -o " + quoted_for_shell(file + ".o") +
                                      " " + quoted_for_shell(file + ".c")});
        !ok)
        return ok;
    if (Status ok = assembly.ld({"-o", joined, module_part, file + ".o"}); !ok)
        return ok;
    std::error_code error;
    std::filesystem::rename(joined, module_part, error);
    if (error)
        return Failure{module_part + ": cannot write: " + error.message(), ""};
    return Done{};
}

} // namespace djstap::module
