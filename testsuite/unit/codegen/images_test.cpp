// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/images.h"

#include <gtest/gtest.h>

namespace djstap {

namespace {

ProbedImage module(const std::string& name) {
    ProbedImage image;
    image.kind = ImageKind::Module;
    image.name = name;
    image.segments = {{name + "_code", name + "_code", 0x1000, 0x1000, 0x1000, 0x2000, true},
                      {name + "_cold", name + "_cold", 0x2000, 0x2000, 0x2000, 0x2800, true},
                      {name + "_data", name + "_data", 0x3000, 0x3000, 0x3000, 0x4000, false}};
    return image;
}

class ImageTables : public testing::Test {
  protected:
    ImageTables() {
        kernel_.image.name = "kernel";
        kernel_.image.segments = {{"_printk", "_printk", 0x5000, 0x5000, 0, UINT64_MAX}};
        plan_.images = {module("first"), {}, module("second")};
    }
    ProbePlan plan_;
    CodegenKernel kernel_;
};

} // namespace

TEST_F(ImageTables, KernelIsTheFirstEvenWhereNothingOfItIsNamed) {
    codegen::ImageTable table(plan_, kernel_);
    ASSERT_EQ(table.segments().size(), 1u);
    EXPECT_EQ(table.segments()[0].segment->symbol, "_printk");
    EXPECT_EQ(table.images(), std::vector<const ProbedImage*>({&kernel_.image}));
    EXPECT_EQ(table.number_of(1, 0x1234), 0u);
}

TEST_F(ImageTables, AllCodeOfAModuleIsComparedAndDataThatIsNamed) {
    const auto symbols = [](const codegen::ImageTable& table) {
        std::vector<std::string> names;
        for (const auto& use : table.segments())
            names.push_back(use.segment->symbol);
        return names;
    };
    using Names = std::vector<std::string>;
    codegen::ImageTable table(plan_, kernel_);
    EXPECT_EQ(table.number_of(2, 0x1fff), 1u);
    EXPECT_EQ(symbols(table), Names({"_printk", "second_code", "second_cold"}));
    EXPECT_EQ(table.number_of(0, 0x3000), 5u);
    EXPECT_EQ(symbols(table), Names({"_printk", "second_code", "second_cold", "first_code",
                                     "first_cold", "first_data"}));
    EXPECT_EQ(table.number_of(2, 0x2000), 2u);
    EXPECT_EQ(table.number_of(0, 0x3fff), 5u);
    EXPECT_EQ(table.segments().size(), 6u);
    EXPECT_EQ(table.images(), std::vector<const ProbedImage*>(
                                  {&kernel_.image, &plan_.images[2], &plan_.images[0]}));
}

TEST_F(ImageTables, AddressOutsideOfAllSegmentsHasNone) {
    codegen::ImageTable table(plan_, kernel_);
    EXPECT_EQ(table.number_of(0, 0xfff), std::nullopt);
    EXPECT_EQ(table.number_of(0, 0x2800), std::nullopt);
    EXPECT_EQ(table.number_of(0, 0x4000), std::nullopt);
}

TEST_F(ImageTables, UserSpaceHasNone) {
    kernel_.user_space = true;
    codegen::ImageTable table(plan_, kernel_);
    EXPECT_TRUE(table.segments().empty());
    EXPECT_TRUE(table.images().empty());
}

} // namespace djstap
