// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/images.h"

#include "diagnostics/suggest.h"
#include "image/glob.h"
#include "image/module_file.h"
#include "probes/plan.h"

#include <algorithm>
#include <filesystem>

namespace djstap {

ProbedImage ProbedImage::of(const Image& image) {
    return {image.kind(),    image.name(), image.file(), image.build_id(), image.build_id_address(),
            image.segments()};
}

Result<const DebugInfo*> ImageView::debuginfo() const {
    if (failure_)
        return *failure_;
    if (!info_) {
        auto opened = DebugInfo::open(*image_, progress_);
        if (!opened) {
            failure_ = opened.failure();
            return *failure_;
        }
        info_ = std::move(*opened);
    }
    return info_.get();
}

Result<const ImageView*> Images::kernel_view() {
    if (failure_)
        return *failure_;
    if (!kernel_view_) {
        auto open = [this]() -> Result<std::unique_ptr<Kernel>> {
            auto files = find_kernel(release_);
            if (!files)
                return files.failure();
            if (Status complete = complete_ ? complete_(*files) : Status(Done{}); !complete)
                return complete.failure();
            return Kernel::open(std::move(*files), progress_);
        };
        auto opened = open();
        if (!opened) {
            failure_ = opened.failure();
            return *failure_;
        }
        kernel_ = opened->get();
        kernel_view_ = std::make_unique<ImageView>(std::move(*opened), "kernel", progress_);
    }
    return kernel_view_.get();
}

Result<const Kernel*> Images::kernel() {
    auto view = kernel_view();
    if (!view)
        return view.failure();
    return kernel_;
}

Result<std::vector<std::string>> Images::modules_matching(std::string_view glob) {
    auto opened = kernel();
    if (!opened)
        return opened.failure();
    if (!module_files_)
        module_files_ = module_files((*opened)->files());
    auto loaded = loaded_modules((*opened)->files());
    std::vector<std::string> names;
    for (const auto& [name, file] : *module_files_)
        if (glob_match(glob, name) &&
            (!loaded || std::find(loaded->begin(), loaded->end(), name) != loaded->end()))
            names.push_back(name);
    return names;
}

Result<const ImageView*> Images::module(const std::string& name_or_path) {
    if (auto known = modules_.find(name_or_path); known != modules_.end())
        return known->second;
    auto opened = kernel();
    if (!opened)
        return opened.failure();
    const std::string name = module_name_of(name_or_path);
    std::string file = name_or_path;
    if (name_or_path.find('/') == std::string::npos) {
        if (!module_files_)
            module_files_ = module_files((*opened)->files());
        auto found = module_files_->find(name);
        if (found == module_files_->end()) {
            std::vector<std::string> names;
            for (const auto& [each, path] : *module_files_)
                names.push_back(each);
            bool built_in = is_built_in((*opened)->files(), name);
            return Failure{"kernel " + (*opened)->release() + " has no module '" + name + "'",
                           built_in ? "it is built into the kernel: kernel.function probes it"
                           : names.empty()
                               ? "djstap searched for its modules in " + (*opened)->files().modules
                               : did_you_mean(name, names)};
        }
        file = found->second;
    }
    if (auto other = views_.find(name); other != views_.end()) {
        const std::string& known = other->second->image().file();
        std::error_code error;
        if (!std::filesystem::equivalent(known, file, error))
            return Failure{"the script names two files of module '" + name + "': " + known +
                               " and " + file,
                           "one module of a name is loaded at a time"};
        return modules_[name_or_path] = other->second.get();
    }
    auto module = open_module(**opened, file);
    if (!module)
        return module.failure();
    const std::string prefix = "module(\"" + (*module)->name() + "\")";
    auto view = std::make_unique<ImageView>(std::move(*module), prefix, progress_);
    if (auto info = view->debuginfo(); !info)
        return info.failure();
    return modules_[name_or_path] = views_.emplace(name, std::move(view)).first->second.get();
}

} // namespace djstap
