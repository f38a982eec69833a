// SPDX-License-Identifier: GPL-2.0-or-later
// A kit for a kernel that does not exist: its objects are assembled here, its tools are those of
// the machine or scripts, so that no runtime has to be compiled.
#pragma once
#include "common.h"
#include "module/assembly.h"
#include "module/elf.h"

#include <fstream>
#include <set>

namespace djstap::module::test {

class MadeKit : public testing::Test {
  protected:
    MadeKit() {
        kit_.release = "6.1.0-made";
        kit_.linker = {"ld", "-r", "-m", "elf_x86_64"};
        kit_.build_dir = folder_.path;
    }
    // An object in a file.
    std::string assemble(const std::string& path, const std::string& text) const {
        // Without this section, ld warns of the stack.
        EXPECT_TRUE(write_file(folder_.path + "/source.s",
                               text + "\n.section .note.GNU-stack, \"\", @progbits\n"));
        const auto outcome = run_tool({"as", "--64", "-o", path, folder_.path + "/source.s"});
        EXPECT_TRUE(outcome && outcome->status == 0) << (outcome ? outcome->output : "");
        return path;
    }
    std::string own(const std::string& name) const { return folder_.path + "/" + name; }
    static std::string content(const std::string& path) {
        auto bytes = read_file(path);
        EXPECT_TRUE(bytes) << path;
        return bytes ? *bytes : "";
    }
    // A program that notes its arguments in own(NAME.log), one call in a line, and runs this.
    std::string script(const std::string& name, const std::string& text) const {
        const std::string path = own(name);
        EXPECT_TRUE(write_file(path, "#!/bin/sh\necho \"$@\" >> " + path + ".log\n" + text));
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path;
    }
    size_t calls(const std::string& name) const {
        std::ifstream log(own(name) + ".log");
        size_t count = 0;
        for (std::string line; std::getline(log, line);)
            count++;
        return count;
    }
    static std::set<std::string> sections_in(const std::string& path) {
        const std::string bytes = content(path);
        const auto object = ElfObject::read(bytes, path);
        EXPECT_TRUE(object) << (object ? "" : object.failure().message);
        std::set<std::string> names;
        for (const ObjectSection& section : object->sections())
            names.emplace(section.name);
        return names;
    }
    static bool defines(const std::string& path, const std::string& symbol) {
        const std::string bytes = content(path);
        const auto object = ElfObject::read(bytes, path);
        return object && object->defined_symbol(symbol);
    }
    static std::string message_of(const Status& status) {
        return status ? "" : status.failure().message;
    }
    // Rows of a module's version table (struct modversion_info).
    static std::string versions(const std::vector<std::string>& names) {
        std::string text = ".section __versions, \"a\"\n";
        for (const std::string& name : names)
            text += ".quad 1\n.ascii \"" + name + "\"\n.skip " + std::to_string(56 - name.size()) +
                    "\n";
        return text;
    }

    const TestFolder folder_;
    const CacheFolder cache_;
    const TemporaryFolder scratch_ = std::move(*TemporaryFolder::create_in_memory());
    RuntimeKit kit_;
    const Assembly assembly_{kit_, scratch_};
};

} // namespace djstap::module::test
