// SPDX-License-Identifier: GPL-2.0-or-later
// The images that the points and values of a script name, opened on first use.
#pragma once
#include "debuginfo/debuginfo.h"
#include "image/kernel.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

// An image with its debug information.
class ImageView {
  public:
    // `prefix`: the first component of its points, "kernel", "module(\"ext4\")" or
    // "process(\"/usr/bin/vi\")". `progress` as
    // for DebugInfo::open.
    ImageView(std::unique_ptr<Image> image, std::string prefix,
              void (*progress)(const std::string&) = nullptr)
        : image_(std::move(image)), prefix_(std::move(prefix)), progress_(progress) {}

    const Image& image() const { return *image_; }
    const std::string& prefix() const { return prefix_; }
    // Opens the debug information on first use.
    Result<const DebugInfo*> debuginfo() const;
    // Returns the result of an earlier debuginfo().
    const DebugInfo& info() const { return *info_; }

  private:
    std::unique_ptr<Image> image_;
    std::string prefix_;
    void (*progress_)(const std::string&);
    mutable std::unique_ptr<DebugInfo> info_;
    mutable std::optional<Failure> failure_;
};

// A kernel and its modules, and programs that run on it.
class Images {
  public:
    // Adds missing files to a kernel's, if possible.
    using Completion = std::function<Status(KernelFiles&)>;
    // Compiles headers to an object with the debug information of their types, and returns its
    // path. The headers are the kernel's, or those of user space.
    using HeaderCompiler = std::function<Result<std::string>(
        const Kernel&, const std::vector<std::string>& headers, AddressSpace)>;
    // `release` as for find_kernel.
    explicit Images(std::string release, void (*progress)(const std::string&) = nullptr,
                    Completion complete = nullptr)
        : release_(std::move(release)), progress_(progress), complete_(std::move(complete)) {}

    Result<const Kernel*> kernel();
    Result<const ImageView*> kernel_view();
    // Returns the module of that name, or in the file of that path, with its debug information
    // opened.
    Result<const ImageView*> module(const std::string& name_or_path);
    void set_header_compiler(HeaderCompiler compiler) { compile_headers_ = std::move(compiler); }
    // Returns the types of headers, with their debug information opened: "<sys/time.h>", or the
    // kernel's "kernel<linux/sched.h><linux/fs.h>".
    Result<const ImageView*> headers(const std::string& names);
    // Returns the program or library that a script names (find_program_file), or the one at a
    // canonical path, with its debug information opened.
    Result<const ImageView*> program(const std::string& name_or_path);
    // What `process` without an argument is: the program of -c or -x.
    void set_target(Result<std::string> program) { target_ = std::move(program); }
    const Result<std::string>& target() const { return target_; }
    // Returns the names of the kernel's matching modules; those that are loaded if the kernel is
    // running.
    Result<std::vector<std::string>> modules_matching(std::string_view glob);
    bool opened_kernel() const { return kernel_view_ != nullptr; }
    // From now on nothing of a kernel can be opened, and this failure is the reason.
    void refuse(const Failure& failure) {
        failure_ = failure;
        refused_ = true;
    }
    // Returns whether refuse() was called.
    bool refused() const { return refused_; }
    // Programs are opened without a kernel: for probes that need none.
    void open_programs_alone() { programs_alone_ = true; }
    bool programs_alone() const { return programs_alone_; }

  private:
    std::string release_;
    void (*progress_)(const std::string&);
    Completion complete_;
    HeaderCompiler compile_headers_;
    const Kernel* kernel_ = nullptr; // that of kernel_view_
    std::unique_ptr<ImageView> kernel_view_;
    std::optional<Failure> failure_;
    bool refused_ = false;
    bool programs_alone_ = false;
    std::optional<std::map<std::string, std::string>> module_files_;
    Result<std::string> target_ =
        Failure{"there is no target process", "-c COMMAND or -x PID makes a process the target"};
    std::map<std::string, std::unique_ptr<ImageView>> programs_; // by canonical path
    std::map<std::string, std::unique_ptr<ImageView>> views_;    // of modules, by name
    std::map<std::string, const ImageView*> modules_;            // by name or path as asked for
    std::map<std::string, Result<std::unique_ptr<ImageView>>> headers_; // by names as asked for
};

} // namespace djstap
