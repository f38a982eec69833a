// SPDX-License-Identifier: GPL-2.0-or-later
// What djstap regions --function draws: the lines of the source between the instructions.
#include "driver/regions_output.h"

#include "../regions/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace djstap::driver {
namespace {

// The source is that of the assembler: two instructions are on line 5.
class DrawnFunction : public testing::Test {
  protected:
    // ":LINE" for each line of the source, "+OFFSET" for each instruction.
    std::string drawn(const std::string& debug_file) const {
        std::istringstream text(
            function_as_text(*analyzed_, debug_file, *analyzed_->function("f")));
        std::string line, shape;
        for (int i = 0; std::getline(text, line); i++) {
            const std::string file = "program.s";
            if (const size_t at = line.rfind(file + ":"); at != std::string::npos)
                shape += line.substr(at + file.size()) + " ";
            else if (i >= 2) // behind the title and the legend
                shape += line.substr(3, line.find(' ', 3) - 3) + " ";
        }
        return shape;
    }

    const test::Program program_ = test::Program::compiled(
        ".text\n.globl f\n.type f, @function\n"
        "f: xor %eax, %eax\nmov %eax, %edx; mov %edx, %ecx\nret\n.size f, .-f\n",
        "program.s", {"gcc", "-g", "-nostdlib", "-static", "-Wl,-e,f"});
    const test::Analyzed analyzed_{program_.path()};
};

TEST_F(DrawnFunction, HasALineOfTheSourceBeforeItsInstructions) {
    ASSERT_TRUE(analyzed_.ok() && analyzed_->function("f"));
    EXPECT_EQ(drawn(program_.path()), ":4 +0 :5 +2 +4 :6 +6 ");
    EXPECT_EQ(drawn(""), "+0 +2 +4 +6 ") << "without debug information";
}

TEST_F(DrawnFunction, AsJsonNamesTheLineOfEachInstruction) {
    ASSERT_TRUE(analyzed_.ok() && analyzed_->function("f"));
    const auto lines = [&](const std::string& debug_file) {
        const auto json = nlohmann::json::parse(
            function_as_json(*analyzed_, debug_file, *analyzed_->function("f")));
        std::string all;
        for (const auto& place : json.at("places")) {
            const auto line = place.at("line").get<std::string>();
            all += line.empty() ? "none " : line.substr(line.rfind('/') + 1) + " ";
        }
        return all;
    };
    EXPECT_EQ(lines(program_.path()), "program.s:4 program.s:5 program.s:5 program.s:6 ");
    EXPECT_EQ(lines(""), "none none none none ");
}

} // namespace
} // namespace djstap::driver
