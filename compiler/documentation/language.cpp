// SPDX-License-Identifier: GPL-2.0-or-later
// The words of the language and the kinds of probe points: language.def.
#include "documentation/documentation.h"

#include <algorithm>

namespace djstap {

namespace {

struct Row {
    DocumentedKind kind;
    std::string_view names; // separated by spaces
    std::string_view signature;
    std::string_view text;
};

constexpr Row rows[] = {
#define DOCUMENTED(kind, names, signature, text) {DocumentedKind::kind, names, signature, text},
#include "documentation/language.def"
#undef DOCUMENTED
};

// Returns whether a point has this beginning: "kernel.function(STRING).call" has "kernel.function".
bool begins_with(const std::string& point, const std::string& name) {
    const std::string plain = plain_name(point);
    return plain == name || plain.starts_with(name + ".");
}

} // namespace

std::vector<Documentation> document_language(const std::vector<std::string>& points) {
    std::vector<Documentation> out;
    for (const Row& row : rows) {
        for (std::string_view names = row.names; !names.empty();) {
            const size_t end = std::min(names.find(' '), names.size());
            Documentation& each = out.emplace_back();
            each.kind = row.kind;
            each.name = names.substr(0, end);
            each.text = row.text;
            each.summary = first_sentence(each.text);
            if (row.kind == DocumentedKind::ProbePoint) {
                for (const std::string& point : points)
                    if (begins_with(point, each.name))
                        each.points.push_back(point);
            } else {
                each.signatures.emplace_back(row.signature);
            }
            names.remove_prefix(std::min(end + 1, names.size()));
        }
    }
    return out;
}

} // namespace djstap
