// SPDX-License-Identifier: GPL-2.0-or-later
// Building the runtime for one kernel with that kernel's Kbuild.
#pragma once
#include "module/manifest.h"
#include "module/module.h"

namespace djstap::module {

// Changes with how a kit is made: part of a kit's key.
inline constexpr std::string_view recipe_version = "3";

// The sources that go into a kit: names relative to the folder (sorted) and contents.
struct SourceFile {
    std::string name;
    std::string text;
};
Result<std::vector<SourceFile>> read_sources(const RuntimeSources& sources);

// The features of `list` (a features.list) that the kernel with these headers has.
Result<std::vector<std::string>> find_features(const std::string& build_dir, std::string_view list);

// New sources, at most `parts` and one more, that include all sources which Kbuild lists as objects
// (but not the stub): compiled in their place they take a fraction of the time.
std::vector<SourceFile> combine_sources(const std::vector<SourceFile>& sources, size_t parts);

// Fails where headers, compiler or tools for building `kernel`'s modules are not there; names the
// Debian package that has them.
Status check_requirements(const Kernel& kernel);

// Builds the kit into `folder`, which exists and is empty: its files, the manifest last.
Result<RuntimeKit> build_kit(const Kernel& kernel, const std::vector<SourceFile>& sources,
                             const std::string& folder, const ModuleProgress& progress);

// The kit in that folder, where it is there, whole (sizes and checksums are compared) and
// `kernel`'s.
std::optional<RuntimeKit> load_kit(const std::string& folder, const Kernel& kernel);

} // namespace djstap::module
