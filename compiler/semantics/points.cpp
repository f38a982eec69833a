// SPDX-License-Identifier: GPL-2.0-or-later
#include "semantics/points.h"

#include <algorithm>

namespace djstap {

namespace {

// Returns "kernel" for "kernel.function(STRING)", "module" for "module(STRING)".
std::string root_of(const std::string& shape) {
    return shape.substr(0, shape.find_first_of(".("));
}

std::string beginning_of(const std::string& shape) {
    const size_t dot = shape.find('.');
    const std::string first = shape.substr(0, dot);
    if (dot == std::string::npos || first.ends_with(')'))
        return root_of(shape);
    return first + "." + root_of(shape.substr(dot + 1));
}

void add_once(std::vector<std::string>& to, std::string text) {
    if (std::find(to.begin(), to.end(), text) == to.end())
        to.push_back(std::move(text));
}

} // namespace

PointShapes::PointShapes(std::vector<PointShape> shapes) : shapes_(std::move(shapes)) {
    for (const PointShape& each : shapes_) {
        add_once(roots_, root_of(each.shape));
        if (!(each.traits & PointIsNotSupported))
            add_once(beginnings_, beginning_of(each.shape));
    }
}

uint32_t PointShapes::traits(const ast::ProbePoint& point) const {
    const std::string wanted = shape_of(point);
    for (const PointShape& each : shapes_)
        if (each.shape == wanted)
            return each.traits;
    const std::string& root = point.components.front().name;
    uint32_t common = ~0u;
    for (const PointShape& each : shapes_)
        if (root_of(each.shape) == root)
            common &= each.traits;
    return common == ~0u ? 0 : common & ~uint32_t{PointIsNotSupported};
}

namespace {

// The parts of a shape: "function(STRING)".
std::vector<std::string> parts_of(const std::string& shape) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin < shape.size();) {
        const size_t end = std::min(shape.find('.', begin), shape.size());
        parts.push_back(shape.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

std::string name_of_part(const std::string& part) {
    return part.substr(0, part.find('('));
}

// Matches components from `c` on with the parts of a shape from `p` on, and adds what they mean
// there.
bool match_shape(const std::vector<ast::PointComponent>& components, size_t c,
                 const std::vector<std::string>& parts, size_t p,
                 std::vector<ast::PointComponent>& meant) {
    if (c == components.size() || p == parts.size())
        return c == components.size() && p == parts.size();
    const ast::PointComponent& component = components[c];
    std::string pattern = component.name;
    bool crosses = false; // ** may be several parts, of which the last one may have an argument
    for (size_t at = 0; (at = pattern.find("**", at)) != std::string::npos; crosses = true)
        pattern.replace(at, 2, "*");
    std::string joined;
    for (size_t end = p; end < (crosses ? parts.size() : p + 1); end++) {
        const std::string name = name_of_part(parts[end]);
        joined += (end > p ? "\x01" : "") + name; // not a dot, which * does not match
        const std::string argument = parts[end].substr(name.size());
        if (argument == argument_of(component) && matches_component(pattern, joined)) {
            const size_t before = meant.size();
            for (size_t i = p; i <= end; i++) {
                meant.push_back(component);
                meant.back().name = name_of_part(parts[i]);
                if (i < end)
                    meant.back().argument = ast::PointComponent::Argument::None;
            }
            if (match_shape(components, c + 1, parts, end + 1, meant))
                return true;
            meant.resize(before);
        }
        if (!argument.empty())
            return false;
    }
    return false;
}

} // namespace

std::vector<std::vector<ast::PointComponent>>
PointShapes::matching(const std::vector<ast::PointComponent>& components) const {
    std::vector<std::vector<ast::PointComponent>> out;
    if (std::none_of(components.begin(), components.end(),
                     [](const auto& each) { return each.name.find('*') != std::string::npos; }))
        return out;
    for (const auto& [shape, traits] : shapes_) {
        std::vector<ast::PointComponent> meant;
        if (!(traits & PointIsNotSupported) &&
            match_shape(components, 0, parts_of(shape), 0, meant))
            out.push_back(std::move(meant));
    }
    return out;
}

std::string PointShapes::numbered(PointTrait trait) const {
    constexpr std::string_view number = "(NUMBER)";
    for (const PointShape& each : shapes_)
        if (each.traits & trait && each.shape.find('(') == each.shape.size() - number.size() &&
            each.shape.ends_with(number))
            return each.shape.substr(0, each.shape.size() - number.size());
    return {};
}

bool matches_component(const std::string& pattern, const std::string& name) {
    size_t p = 0, n = 0, star = std::string::npos, mark = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            mark = n;
        } else if (p < pattern.size() && (pattern[p] == name[n] || pattern[p] == '?')) {
            ++p, ++n;
        } else if (star != std::string::npos) {
            p = star + 1;
            n = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

std::string argument_of(const ast::PointComponent& component) {
    using Argument = ast::PointComponent::Argument;
    return component.argument == Argument::Number   ? "(NUMBER)"
           : component.argument == Argument::String ? "(STRING)"
                                                    : "";
}

std::string shape_of(const ast::ProbePoint& point) {
    std::string shape, last;
    for (const ast::PointComponent& component : point.components) {
        std::string part = component.name + argument_of(component);
        // A chain of calls is any number of them: .callee("f").callee("g").
        if (part != last || component.name != "callee")
            shape += (shape.empty() ? "" : ".") + part;
        last = std::move(part);
    }
    return shape;
}

} // namespace djstap
