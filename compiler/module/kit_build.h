// SPDX-License-Identifier: GPL-2.0-or-later
// Builds the runtime for one kernel with that kernel's Kbuild.
#pragma once
#include "module/manifest.h"
#include "module/module.h"

namespace djstap::module {

// Part of a kit's key: changes whenever kits are built differently.
inline constexpr std::string_view recipe_version = "5";

// A source of a kit: its name relative to the folder, by which lists are sorted, and its content.
struct SourceFile {
    std::string name;
    std::string text;
};
Result<std::vector<SourceFile>> read_sources(const RuntimeSources& sources);

// Returns the features of `list` (a features.list) that the kernel with these headers has.
Result<std::vector<std::string>> find_features(const std::string& build_dir, std::string_view list);

// Returns new sources, at most `parts` + 1, which include all sources that Kbuild lists as objects
// (but not the stub): compiling them instead takes a fraction of the time.
std::vector<SourceFile> combine_sources(const std::vector<SourceFile>& sources, size_t parts);

// Fails if headers, compiler or tools for building `kernel`'s modules are missing; names the Debian
// package that contains them.
Status check_requirements(const Kernel& kernel);

class Parts;

// Builds a kit into `folder`, which exists and is empty: its files, the manifest last. `wanted`
// returns the parts that it needs besides what every kit contains; it is called once, and may wait.
// If that fails, Kbuild builds a kit of the whole runtime.
Result<RuntimeKit> build_kit(const Kernel& kernel, const std::vector<SourceFile>& sources,
                             const Parts& parts,
                             const std::function<std::set<std::string>()>& wanted,
                             const std::string& folder, const ModuleProgress& progress);

// The same by Kbuild at once, because of `why`.
Result<RuntimeKit> build_kit_by_kbuild(const Kernel& kernel, const std::vector<SourceFile>& sources,
                                       const Parts& parts, const std::string& why,
                                       const std::string& folder, const ModuleProgress& progress);

// Compiles those of the parts that the kit lacks, and adds them to it: new files in its folder, and
// a new manifest, which names them.
Result<RuntimeKit> extend_kit(const RuntimeKit& kit, const Kernel& kernel,
                              const std::vector<SourceFile>& sources, const Parts& parts,
                              const std::set<std::string>& wanted, const ModuleProgress& progress);

// Loads the kit in that folder if it exists, is intact (sizes and checksums are compared) and
// belongs to `kernel`.
std::optional<RuntimeKit> load_kit(const std::string& folder, const Kernel& kernel);

} // namespace djstap::module
