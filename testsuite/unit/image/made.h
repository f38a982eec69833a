// SPDX-License-Identifier: GPL-2.0-or-later
// Files that the tests make with the usual tools.
#pragma once
#include "image/elf_file.h"
#include "system/file.h"
#include "system/process.h"

#include "../surroundings.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace djstap::test {

namespace fs = std::filesystem;

// A folder, and what is made in it.
struct Folder : TestFolder {
    // Runs a shell's commands there, which must succeed.
    void shell(const std::string& commands) const {
        const auto ran = run_program({"env", "-C", path, "sh", "-ec", commands});
        EXPECT_TRUE(ran && ran->status == 0) << commands << "\n"
                                             << (ran ? ran->output : ran.failure().message);
    }
    std::string bytes(const std::string& name) const {
        auto read = read_file(file(name));
        EXPECT_TRUE(read) << name;
        return read ? *read : "";
    }
    std::unique_ptr<ElfFile> elf(const std::string& name) const {
        auto opened = ElfFile::open(file(name));
        EXPECT_TRUE(opened) << (opened ? "" : opened.failure().message);
        return opened ? std::move(*opened) : nullptr;
    }
};

// The headers of an ELF file's sections, to be changed.
class Sections {
  public:
    explicit Sections(std::string& bytes) : bytes_(bytes) {
        std::memcpy(&header_, bytes.data(), sizeof header_);
        all.resize(header_.e_shnum);
        std::memcpy(all.data(), bytes.data() + header_.e_shoff, all.size() * sizeof(Elf64_Shdr));
    }
    std::string name(const Elf64_Shdr& section) const {
        return bytes_.data() + all[header_.e_shstrndx].sh_offset + section.sh_name;
    }
    Elf64_Shdr& operator[](const std::string& wanted) {
        for (Elf64_Shdr& each : all)
            if (name(each) == wanted)
                return each;
        ADD_FAILURE() << "no section " << wanted;
        return all[0];
    }
    void store() const {
        std::memcpy(bytes_.data() + header_.e_shoff, all.data(), all.size() * sizeof(Elf64_Shdr));
    }

    std::vector<Elf64_Shdr> all;

  private:
    std::string& bytes_;
    Elf64_Ehdr header_{};
};

} // namespace djstap::test
