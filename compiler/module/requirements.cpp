// SPDX-License-Identifier: GPL-2.0-or-later
// What building modules for a kernel requires, and the packages that contain what is missing.
#include "module/kit_build.h"
#include "module/tool.h"
#include "system/file.h"

#include <unistd.h>

namespace djstap::module {

namespace {

bool readable(const std::string& path) {
    return access(path.c_str(), R_OK) == 0;
}

std::string install(const std::string& package) {
    return "apt-get install " + package;
}

// Returns the kernel release that modules built with these headers are for.
std::string release_of_headers(const std::string& build_dir) {
    auto text = read_file(build_dir + "/include/generated/utsrelease.h");
    if (!text)
        return {};
    size_t begin = text->find("UTS_RELEASE \"");
    if (begin == std::string::npos)
        return {};
    begin = text->find('"', begin) + 1;
    return text->substr(begin, text->find('"', begin) - begin);
}

} // namespace

Status check_requirements(const Kernel& kernel) {
    const std::string& release = kernel.release();
    const std::string& folder = kernel.files().build_dir;
    const std::string headers = "linux-headers-" + release;
    if (folder.empty())
        return Failure{"the kernel headers of " + release +
                           " are not installed: missing /lib/modules/" + release + "/build",
                       install(headers)};
    for (const char* file : {"/Makefile", "/.config", "/Module.symvers", "/scripts/mod/modpost",
                             "/include/generated/utsrelease.h"}) {
        if (!readable(folder + file))
            return Failure{"the kernel headers of " + release + " are incomplete: missing " +
                               folder + file,
                           install("--reinstall " + headers)};
    }
    std::string of_headers = release_of_headers(folder);
    if (of_headers != release)
        return Failure{"the kernel headers in " + folder + " are those of " + of_headers +
                           ", the kernel is " + release,
                       install(headers)};
    if (kernel.config("OBJTOOL") == "y" &&
        access((folder + "/tools/objtool/objtool").c_str(), X_OK))
        return Failure{"the kernel headers of " + release + " are incomplete: missing " + folder +
                           "/tools/objtool/objtool",
                       install("--reinstall " + headers)};
    if (find_program("make").empty())
        return Failure{"make is not installed", install("make")};
    std::string compiler = kernel.config("CC_VERSION_TEXT");
    compiler = compiler.substr(0, compiler.find(' '));
    if (compiler.empty())
        compiler = "gcc";
    // scripts/kernels unpacks a compiler that this machine's distribution lacks beside the kernel.
    const std::string own = kernel.files().root + "/build-tools/usr/bin/" + compiler;
    if (find_program(compiler).empty() && access(own.c_str(), X_OK)) {
        std::string package = compiler.substr(
            compiler.rfind("-gcc") == std::string::npos ? 0 : compiler.rfind("-gcc") + 1);
        return Failure{"the compiler that " + release + " was built with, " + compiler +
                           ", is not installed",
                       install(package) + " (or " + headers + ", which needs it)"};
    }
    if (find_program("ld").empty())
        return Failure{"the linker ld is not installed", install("binutils")};
    return Done{};
}

} // namespace djstap::module
