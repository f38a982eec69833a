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

std::vector<std::vector<ast::PointComponent>>
PointShapes::matching(const std::vector<ast::PointComponent>& components) const {
    std::vector<std::vector<ast::PointComponent>> out;
    auto has = [&](std::string_view text) {
        return std::any_of(components.begin(), components.end(), [&](const auto& each) {
            return each.name.find(text) != std::string::npos;
        });
    };
    if (!has("*") || has("**"))
        return out;
    for (const auto& [shape, traits] : shapes_) {
        if (traits & PointIsNotSupported)
            continue;
        std::vector<ast::PointComponent> meant = components;
        size_t begin = 0, count = 0;
        for (; count < meant.size() && begin < shape.size(); count++) {
            const size_t end = std::min(shape.find('.', begin), shape.size());
            const std::string part = shape.substr(begin, end - begin);
            const std::string name = part.substr(0, part.find('('));
            if (!matches_component(meant[count].name, name) ||
                part.substr(name.size()) != argument_of(meant[count]))
                break;
            meant[count].name = name;
            begin = end + 1;
        }
        if (count == meant.size() && begin > shape.size())
            out.push_back(std::move(meant));
    }
    return out;
}

std::string PointShapes::numbered(PointTrait trait) const {
    for (const PointShape& each : shapes_)
        if (each.traits & trait && each.shape == root_of(each.shape) + "(NUMBER)")
            return root_of(each.shape);
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
