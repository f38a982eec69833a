// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/images.h"

#include "diagnostics/suggest.h"
#include "image/glob.h"
#include "image/module_file.h"
#include "image/no_kernel.h"
#include "image/program.h"
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

Result<const ImageView*> Images::program(const std::string& name_or_path) {
    auto path = find_program_file(name_or_path);
    if (!path)
        return path.failure();
    if (auto known = programs_.find(*path); known != programs_.end())
        return known->second.get();
    auto opened = programs_alone_ ? Result<const Kernel*>(&no_kernel()) : kernel();
    if (!opened)
        return opened.failure();
    auto program = open_program(**opened, *path);
    if (!program)
        return program.failure();
    auto view =
        std::make_unique<ImageView>(std::move(*program), "process(\"" + *path + "\")", progress_);
    if (auto info = view->debuginfo(); !info)
        return info.failure();
    return programs_.emplace(*path, std::move(view)).first->second.get();
}

namespace {

// Splits "kernel<a.h><b.h>"; returns nothing if it is not of this form.
std::optional<std::vector<std::string>> split_headers(std::string_view text) {
    std::vector<std::string> names;
    while (!text.empty()) {
        const size_t end = text.find('>');
        if (text.front() != '<' || end == std::string_view::npos || end == 1)
            return std::nullopt;
        names.emplace_back(text.substr(1, end - 1));
        // It becomes a line of C.
        if (names.back().find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_-+./") != std::string::npos)
            return std::nullopt;
        text.remove_prefix(end + 1);
    }
    return names;
}

} // namespace

Result<const ImageView*> Images::headers(const std::string& names) {
    auto known = headers_.find(names);
    if (known == headers_.end()) {
        auto open = [&]() -> Result<std::unique_ptr<ImageView>> {
            constexpr std::string_view of_kernel = "kernel";
            const bool kernels = names.starts_with(of_kernel);
            const auto list =
                split_headers(std::string_view(names).substr(kernels ? of_kernel.size() : 0));
            if (!list)
                return Failure{"'" + names + "' does not name headers",
                               "they are named like \"kernel<linux/sched.h>\""};
            auto opened = kernel();
            if (!opened)
                return opened.failure();
            const AddressSpace space = kernels ? AddressSpace::Kernel : AddressSpace::User;
            auto object = compile_headers_ ? compile_headers_(**opened, *list, space)
                                           : Failure{"headers cannot be compiled here", ""};
            if (!object)
                return object.failure();
            auto image = open_headers(**opened, *object, names, space);
            if (!image)
                return image.failure();
            auto view = std::make_unique<ImageView>(std::move(*image), names);
            auto info = view->debuginfo();
            if (!info)
                return info.failure();
            if (!(*info)->has_dwarf())
                return Failure{"the debug information of '" + names + "' cannot be used", ""};
            return view;
        };
        known = headers_.emplace(names, open()).first;
    }
    if (!known->second)
        return known->second.failure();
    return known->second->get();
}

} // namespace djstap
