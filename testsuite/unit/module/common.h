// SPDX-License-Identifier: GPL-2.0-or-later
// What the module tests share: temporary folders, kernels, script objects.
#pragma once
#include "module/module.h"
#include "module/tool.h"
#include "system/file.h"
#include "system/temporary.h"

#include "../surroundings.h"

#include <gtest/gtest.h>

namespace djstap::module::test {

using djstap::test::Environment;
using djstap::test::TestFolder;

// A cache for the tests alone, removed at the end.
struct CacheFolder : TestFolder {
    const Environment is_used{"DJSTAP_CACHE", path};
};

inline std::string test_folder() {
    return std::string(DJSTAP_SOURCE_DIR) + "/testsuite/unit/module";
}
inline RuntimeSources tiny_runtime() {
    return {test_folder() + "/runtime"};
}

// Returns every kernel that modules can be built for here.
inline std::vector<KernelFiles> buildable_kernels() {
    std::vector<KernelFiles> found;
    for (const std::string& release : installed_releases()) {
        auto files = find_kernel(release);
        if (files && !files->build_dir.empty() && !files->vmlinux.empty())
            found.push_back(*files);
    }
    return found;
}

// Compiles script.c like the kernel's own code, with -D for each of `defines`.
inline std::string script_object(const Kernel& kernel, const std::vector<std::string>& defines,
                                 const std::string& folder) {
    std::string compiler = kernel.config("CC_VERSION_TEXT");
    compiler = compiler.substr(0, compiler.find(' '));
    std::vector<std::string> words{compiler,
                                   "-c",
                                   "-O2",
                                   "-std=gnu11",
                                   "-nostdinc",
                                   "-mcmodel=kernel",
                                   "-mno-red-zone",
                                   "-mno-sse",
                                   "-mno-mmx",
                                   "-mno-80387",
                                   "-fno-pic",
                                   "-fno-pie",
                                   "-fno-stack-protector",
                                   "-fno-asynchronous-unwind-tables",
                                   "-fno-jump-tables",
                                   "-mpreferred-stack-boundary=3",
                                   "-mfunction-return=thunk-extern",
                                   "-mindirect-branch=thunk-extern",
                                   "-mindirect-branch-register",
                                   "-mindirect-branch-cs-prefix",
                                   "-mharden-sls=all"};
    words.push_back(kernel.has_ibt() ? "-fcf-protection=branch" : "-fcf-protection=none");
    if (std::string padding = kernel.config("FUNCTION_PADDING_BYTES");
        !padding.empty() && padding != "0" && kernel.config("PREFIX_SYMBOLS") == "y") {
        words.push_back("-fpatchable-function-entry=" + padding + "," + padding);
        words.push_back("-falign-functions=16");
    }
    for (const std::string& define : defines)
        words.push_back("-D" + define);
    const std::string object = folder + "/script.o";
    words.insert(words.end(), {"-o", object, test_folder() + "/script.c"});
    auto outcome = run_tool(words);
    EXPECT_TRUE(outcome && outcome->status == 0) << (outcome ? outcome->output : "");
    auto bytes = read_file(object);
    EXPECT_TRUE(bytes);
    return bytes ? *bytes : "";
}

} // namespace djstap::module::test
