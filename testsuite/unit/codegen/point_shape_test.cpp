// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/point_shape.h"

#include "include/script.h"

#include <gtest/gtest.h>

namespace djstap::codegen {
namespace {

// What the runtime makes of it again.
std::string written(std::string_view point, std::string_view function, size_t size = 512) {
    const PointShape parts = shape_of_point(point, function);
    std::string text(size, '?');
    text.resize(parts.line == DJS_NO_INDEX ? djs_text_copy(text.data(), parts.shape.c_str(), size)
                                           : djs_text_point(text.data(), size, parts.shape.c_str(),
                                                            std::string(function).c_str(),
                                                            parts.file.c_str(), parts.line));
    return text;
}

TEST(PointShape, FunctionFileAndLineLeaveIt) {
    const std::string point = R"(kernel.function("vfs_read@fs/read_write.c:450").call)";
    const PointShape parts = shape_of_point(point, "vfs_read");
    EXPECT_EQ(parts.shape, "kernel.function(\"\1@\2:\3\").call");
    EXPECT_EQ(parts.file, "fs/read_write.c");
    EXPECT_EQ(parts.line, 450U);
    EXPECT_EQ(written(point, "vfs_read"), point);
}

TEST(PointShape, PointsOfEveryFormAreWrittenAsTheyWere) {
    for (auto [point, function] : {
             std::pair{R"(kernel.function("f@a.c:4294967294").return)", "f"},
             {R"(kernel.function("f@a.c:4294967295"))", "f"},
             {R"(kernel.function("f@a.c:007"))", "f"},
             {R"(kernel.function("f@a.c:0"))", "f"},
             {R"(kernel.function("f@a.c:99999999999"))", "f"},
             {R"(kernel.function("f@a.c"))", "f"},
             {R"(kernel.function("f@a.c:"))", "f"},
             {R"(kernel.function("f"))", "f"},
             {R"(kernel.function("f@a.c:12+3").inline)", "f"},
             {R"(kernel.function("f@a.c:12").callee("g@b.c:7"))", "f"},
             {R"(kernel.function("f@a.c:12").callee("g@b.c:7"))", "g"},
             {R"(module("m").function("f@a.c:12"))", "other"},
             {R"(process("/tmp/f@a.c:1/p").function("f@a.c:12"))", "f"},
             {"process(\"/tmp/\1\").function(\"f@a.c:12\")", "f"},
             {"process(\"/tmp/p\").function(\"f@\2.c:12\")", "f"},
             {R"(timer.ms(10))", ""},
             {R"(kernel.trace("sys_enter"))", "sys_enter"},
             {"", ""},
         })
        EXPECT_EQ(written(point, function), point);
}

TEST(PointShape, TextsAreTruncatedToTheirRoom) {
    const std::string point = R"(kernel.function("vfs_read@fs/read_write.c:450").call)";
    for (size_t size = 1; size <= point.size() + 1; size++)
        EXPECT_EQ(written(point, "vfs_read", size), point.substr(0, size - 1));
}

} // namespace
} // namespace djstap::codegen
