// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel of some lines of C, whose every name, line and type is known. Its index is built anew
// each time.
#pragma once
#include "debuginfo/debuginfo.h"
#include "image/kernel.h"
#include "system/process.h"

#include "../surroundings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace djstap {

class MadeKernel {
  public:
    // `sources`: name and text of each unit of C, or of assembly.
    explicit MadeKernel(const std::vector<std::pair<std::string, std::string>>& sources,
                        const std::vector<std::string>& options = {"-O0"},
                        const std::string& compiler = "gcc") {
        std::vector<std::string> objects;
        for (const auto& [path, text] : sources) {
            std::filesystem::create_directories(
                std::filesystem::path(folder_ + "/" + path).parent_path());
            std::ofstream(folder_ + "/" + path) << text;
            objects.push_back(path + ".o");
            std::vector<std::string> words = {"env",
                                              "-C",
                                              folder_,
                                              compiler,
                                              "-g",
                                              "-c",
                                              path,
                                              "-o",
                                              path + ".o",
                                              "-gdwarf-5",
                                              "-ffreestanding",
                                              "-mcmodel=kernel",
                                              "-fno-pie",
                                              "-fno-stack-protector",
                                              "-fcf-protection=none",
                                              "-fno-asynchronous-unwind-tables"};
            words.insert(words.end(), options.begin(), options.end());
            run(words);
        }
        std::vector<std::string> link = {"env",
                                         "-C",
                                         folder_,
                                         "ld",
                                         "--build-id",
                                         "-e",
                                         "0",
                                         "-Ttext=0xffffffff81000000",
                                         "--defsym=_stext=0xffffffff81000000",
                                         "--defsym=_etext=etext",
                                         "-o",
                                         "vmlinux"};
        link.insert(link.end(), objects.begin(), objects.end());
        run(link);
        KernelFiles files;
        files.release = "6.1.0-made";
        files.root = folder_;
        files.vmlinux = folder_ + "/vmlinux";
        // So that it is found as a build tree is, too.
        std::filesystem::create_directories(folder_ + "/include/config");
        std::ofstream(folder_ + "/include/config/kernel.release") << files.release << "\n";
        std::ofstream(folder_ + "/.config") << "CONFIG_HZ=100\n";
        auto opened = Kernel::open(files);
        EXPECT_TRUE(opened) << opened.failure().message;
        if (!opened)
            return;
        image = std::move(*opened);
        auto read = DebugInfo::open(*image);
        EXPECT_TRUE(read) << read.failure().message;
        if (read)
            info = std::move(*read);
    }
    ~MadeKernel() {
        info.reset();
        image.reset();
    }
    MadeKernel(const MadeKernel&) = delete;
    MadeKernel& operator=(const MadeKernel&) = delete;

    const std::string& folder() const { return folder_; }
    uint64_t address(const std::string& symbol) const { return image->symbol(symbol)->address; }

    std::unique_ptr<Kernel> image;
    std::unique_ptr<DebugInfo> info;

  private:
    static void run(const std::vector<std::string>& words) {
        const auto ran = run_program(words);
        EXPECT_TRUE(ran && ran->status == 0) << (ran ? ran->output : ran.failure().message);
    }

    const test::TestFolder own_folder_;
    const std::string folder_ = own_folder_.path;
    const test::Environment cache_{"DJSTAP_CACHE", folder_ + "/cache"};
};

} // namespace djstap
