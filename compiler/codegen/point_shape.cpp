// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/point_shape.h"

#include "include/script.h"

#include <llvm/ADT/StringExtras.h>

namespace djstap::codegen {

PointShape shape_of_point(std::string_view point, std::string_view function) {
    const PointShape whole{std::string(point), "", DJS_NO_INDEX};
    const std::string_view characters{"\1\2\3"};
    static_assert(DJS_POINT_FUNCTION == 1 && DJS_POINT_FILE == 2 && DJS_POINT_LINE == 3);
    const std::string quoted = '"' + std::string(function) + '@';
    const size_t start = point.find(quoted);
    if (function.empty() || start == point.npos || point.find_first_of(characters) != point.npos)
        return whole;
    const size_t file_start = start + quoted.size();
    const size_t file_end = point.find_first_of(":\"", file_start);
    if (file_end == point.npos || point[file_end] != ':')
        return whole;
    const std::string_view rest = point.substr(file_end + 1);
    const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    uint32_t line = 0;
    // Numbers that would be written in another way stay in the text.
    if (!llvm::to_integer(llvm::StringRef(digits), line, 10) || line == DJS_NO_INDEX ||
        std::to_string(line) != digits)
        return whole;
    std::string shape(point.substr(0, start + 1));
    shape.append({DJS_POINT_FUNCTION, '@', DJS_POINT_FILE, ':', DJS_POINT_LINE});
    shape.append(rest.substr(digits.size()));
    return {shape, std::string(point.substr(file_start, file_end - file_start)), line};
}

} // namespace djstap::codegen
