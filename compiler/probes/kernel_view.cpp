// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/probes.h"

#include "diagnostics/suggest.h"
#include "target/glob.h"

#include <algorithm>

namespace djstap {

Result<const Target*> KernelView::target() {
    if (target_failure_)
        return *target_failure_;
    if (!target_) {
        auto files = find_kernel(release_);
        if (!files) {
            target_failure_ = files.failure();
            return *target_failure_;
        }
        if (Status complete = complete_ ? complete_(*files) : Status(Done{}); !complete) {
            target_failure_ = complete.failure();
            return *target_failure_;
        }
        auto opened = Target::open(std::move(*files), progress_);
        if (!opened) {
            target_failure_ = opened.failure();
            return *target_failure_;
        }
        target_ = std::move(*opened);
    }
    return target_.get();
}

Result<const DebugInfo*> KernelView::debuginfo() {
    if (debuginfo_failure_)
        return *debuginfo_failure_;
    if (!debuginfo_) {
        auto kernel = target();
        if (!kernel)
            return kernel.failure();
        auto opened = DebugInfo::open(**kernel, progress_);
        if (!opened) {
            debuginfo_failure_ = opened.failure();
            return *debuginfo_failure_;
        }
        debuginfo_ = std::move(*opened);
    }
    return debuginfo_.get();
}

Result<std::vector<std::string>> KernelView::modules_matching(std::string_view glob) {
    auto kernel = target();
    if (!kernel)
        return kernel.failure();
    if (!module_files_)
        module_files_ = module_files((*kernel)->files());
    auto loaded = loaded_modules((*kernel)->files());
    std::vector<std::string> names;
    for (const auto& [name, file] : *module_files_)
        if (glob_match(glob, name) &&
            (!loaded || std::find(loaded->begin(), loaded->end(), name) != loaded->end()))
            names.push_back(name);
    return names;
}

Result<const ModuleView*> KernelView::module(const std::string& name_or_path) {
    if (auto known = modules_.find(name_or_path); known != modules_.end())
        return known->second.get();
    auto kernel = target();
    if (!kernel)
        return kernel.failure();
    auto view = std::make_unique<ModuleView>();
    view->name = module_name_of(name_or_path);
    view->file = name_or_path;
    if (name_or_path.find('/') == std::string::npos) {
        if (!module_files_)
            module_files_ = module_files((*kernel)->files());
        auto found = module_files_->find(view->name);
        if (found == module_files_->end()) {
            std::vector<std::string> names;
            for (const auto& [name, file] : *module_files_)
                names.push_back(name);
            bool built_in = is_built_in((*kernel)->files(), view->name);
            return Failure{"kernel " + (*kernel)->release() + " has no module '" + view->name + "'",
                           built_in ? "it is built into the kernel: kernel.function probes it"
                           : names.empty()
                               ? "its modules were looked for in " + (*kernel)->files().modules
                               : did_you_mean(view->name, names)};
        }
        view->file = found->second;
    }
    auto linked = linked_module(**kernel, view->file);
    if (!linked)
        return linked.failure();
    auto module = Target::open_module(**kernel, *linked);
    if (!module)
        return module.failure();
    view->target = std::move(*module);
    auto info = DebugInfo::open_module(*view->target, **kernel);
    if (!info)
        return info.failure();
    view->info = std::move(*info);
    view->anchors = module_anchors(*view->target->image());
    return modules_.emplace(name_or_path, std::move(view)).first->second.get();
}

} // namespace djstap
