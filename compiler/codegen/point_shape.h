// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace djstap::codegen {

/// A probe point as struct djs_site holds it: the points of thousands of functions have few shapes.
struct PointShape {
    std::string shape; // the point, with DJS_POINT_* in place of function, file and line
    std::string file;
    uint32_t line = 0; // DJS_NO_INDEX: the shape is the whole point
};

/// Divides a point such as kernel.function("vfs_read@fs/read_write.c:450").call. `function` is what
/// the site's probefunc() is. A point without a function, a file and a line stays whole.
PointShape shape_of_point(std::string_view point, std::string_view function);

} // namespace djstap::codegen
