// SPDX-License-Identifier: GPL-2.0-or-later
// Adds parts of the runtime to a kit: compiles them alone, with the command that made the rest.
#include "module/assembly.h"
#include "module/build_output.h"
#include "module/direct_build.h"
#include "module/kit_build.h"
#include "module/parts.h"
#include "module/tool.h"
#include "module/units.h"
#include "system/file.h"
#include "system/stopwatch.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <thread>

namespace djstap::module {

namespace fs = std::filesystem;

namespace {

class Extension {
  public:
    Extension(RuntimeKit& kit, const Kernel& kernel, const std::vector<SourceFile>& sources,
              const Parts& parts, const TemporaryFolder& scratch)
        : kit_(kit), kernel_(kernel), sources_(sources), parts_(parts), scratch_(scratch),
          assembly_(kit, scratch) {}

    Status add(const PartNames& missing) {
        for (auto step : {&Extension::write_sources, &Extension::take_files})
            if (Status ok = (this->*step)(); !ok)
                return ok;
        kit_.state++;
        kit_.parts.insert(missing.begin(), missing.end());
        if (Status ok = compile(missing); !ok)
            return ok;
        if (Status ok = assembly_.link_pieces(objects_); !ok)
            return ok;
        if (Status ok = assembly_.link_runtime(stand_ins_); !ok)
            return ok;
        const bool versioned = kernel_.config("MODVERSIONS") == "y";
        if (Status ok = complete_versions(kit_, assembly_, scratch_, "", versioned); !ok)
            return ok;
        if (Status ok = assembly_.read_runtime_symbols(parts_.replaced(kit_.parts), versioned); !ok)
            return ok;
        return assembly_.keep(kit_.directory);
    }

  private:
    Status write_sources() {
        for (const SourceFile& file : sources_) {
            std::error_code ignored;
            fs::create_directories(fs::path(scratch_.file(file.name)).parent_path(), ignored);
            if (Status ok = write_file(scratch_.file(file.name), file.text); !ok)
                return ok;
        }
        return Done{};
    }

    // Copies the files of the kit's present state.
    Status take_files() {
        for (std::string_view name : {pieces_object, module_object, linker_script}) {
            const std::string from = kit_.directory + "/" + file_name(kit_, name);
            const std::string to =
                name == pieces_object ? scratch_.file("pieces-before.o") : assembly_.file(name);
            std::error_code error;
            fs::copy_file(from, to, error);
            if (error)
                return Failure{from + ": " + error.message(), ""};
        }
        objects_.push_back(scratch_.file("pieces-before.o"));
        return Done{};
    }

    Status compile(const PartNames& missing) {
        std::vector<Unit> units = parts_.units(missing, false, "_" + std::to_string(kit_.state));
        for (const Unit& unit : units)
            objects_.push_back(scratch_.file(unit.name() + ".o"));
        if (const auto replaced = parts_.replaced(kit_.parts); !replaced.empty()) {
            units.push_back({{"djs_absent.c", stand_ins(replaced)}});
            stand_ins_ = scratch_.file("djs_absent.o");
        }
        std::vector<std::function<bool()>> jobs;
        for (const Unit& unit : units)
            jobs.emplace_back([this, &unit] { return compile(unit); });
        if (!run_jobs(jobs, std::max(1u, std::thread::hardware_concurrency())))
            return Failure{failure_, ""};
        return Done{};
    }

    bool compile(const Unit& unit) {
        const std::string object = scratch_.file(unit.name() + ".o");
        std::string command = "cd " + quoted_for_shell(kit_.build_dir) + " && set -e; " +
                              compiler_for(kit_.compiler, unit.cold) + " -I" +
                              quoted_for_shell(scratch_.path()) + " -c -o " +
                              quoted_for_shell(object) + " " +
                              quoted_for_shell(scratch_.file(unit.source.name));
        if (!kit_.delayed_objtool && !kit_.objtool.empty()) {
            command += ";";
            for (const std::string& word : kit_.objtool)
                command += " " + quoted_for_shell(word);
            command += " " + quoted_for_shell(object);
        }
        Status written = write_file(scratch_.file(unit.source.name), unit.source.text);
        if (!written)
            return fail(written.failure().message);
        auto outcome = run_tool({"sh", "-c", command});
        if (!outcome)
            return fail(outcome.failure().message);
        if (outcome->status != 0 || has_warnings(outcome->output))
            return fail(unit.name() + ":" + relevant_lines(outcome->output, scratch_.path()));
        return true;
    }

    // Notes the first failure.
    bool fail(const std::string& why) {
        const std::lock_guard<std::mutex> guard(lock_);
        if (failure_.empty())
            failure_ = why;
        return false;
    }

    RuntimeKit& kit_;
    const Kernel& kernel_;
    const std::vector<SourceFile>& sources_;
    const Parts& parts_;
    const TemporaryFolder& scratch_;
    Assembly assembly_;
    std::vector<std::string> objects_; // the pieces of the runtime
    std::string stand_ins_;            // an object; empty: no part is missing
    std::mutex lock_;
    std::string failure_;
};

} // namespace

Result<RuntimeKit> extend_kit(const RuntimeKit& kit, const Kernel& kernel,
                              const std::vector<SourceFile>& sources, const Parts& parts,
                              const PartNames& wanted, const ModuleProgress& progress) {
    Stopwatch watch;
    PartNames missing;
    std::set_difference(wanted.begin(), wanted.end(), kit.parts.begin(), kit.parts.end(),
                        std::inserter(missing, missing.end()));
    if (progress) {
        std::string names;
        for (const std::string& part : missing)
            names += (names.empty() ? "" : ", ") + part;
        progress("adding to the runtime for " + kit.release + " (once): " + names);
    }
    auto scratch = TemporaryFolder::create_in_memory();
    if (!scratch)
        return scratch.failure();
    RuntimeKit extended = kit;
    if (Status ok = Extension(extended, kernel, sources, parts, *scratch).add(missing); !ok)
        return ok.failure();
    // Who has read the former manifest has opened these, or finds them missing and reads the new
    // one.
    for (std::string_view name : {pieces_object, runtime_object, plain_runtime, module_object}) {
        std::error_code ignored;
        fs::remove(kit.directory + "/" + file_name(kit, name), ignored);
    }
    extended.built = true;
    extended.times.finish = watch.lap();
    return extended;
}

} // namespace djstap::module
