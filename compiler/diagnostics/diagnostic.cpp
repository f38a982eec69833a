// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnostics/diagnostic.h"

#include <array>

namespace djstap {

namespace {

constexpr std::array kinds{
#define DIAGNOSTIC(Name, Tag, Level, Message) DiagnosticInfo{Tag, Severity::Level, Message},
#include "diagnostics/kinds/all.def"
#undef DIAGNOSTIC
};

std::string substitute(std::string_view format, const std::vector<std::string>& arguments) {
    std::string out;
    for (size_t i = 0; i < format.size(); i++) {
        bool slot = format[i] == '{' && i + 2 < format.size() && format[i + 2] == '}';
        size_t index = slot ? static_cast<size_t>(format[i + 1] - '0') : 0;
        if (slot && index < arguments.size()) {
            out += arguments[index];
            i += 2;
        } else {
            out += format[i];
        }
    }
    return out;
}

} // namespace

const DiagnosticInfo& info(DiagnosticKind kind) {
    return kinds.at(static_cast<size_t>(kind));
}

std::vector<DiagnosticInfo> all_diagnostics() {
    return {kinds.begin(), kinds.end()};
}

Diagnostic& Diagnostics::report(DiagnosticKind kind, SourceRange range,
                                std::initializer_list<std::string> arguments) {
    std::string message = substitute(info(kind).message, arguments);
    for (Diagnostic& d : all_)
        if (d.kind == kind && d.range.file == range.file && d.range.begin == range.begin &&
            d.message == message)
            return d;
    if (info(kind).severity == Severity::Error)
        errors_++;
    all_.push_back({kind, range, std::move(message), {}, {}});
    return all_.back();
}

std::vector<Diagnostic> Diagnostics::take_back(size_t count) {
    std::vector<Diagnostic> taken;
    for (size_t i = count; i < all_.size(); i++) {
        errors_ -= info(all_[i].kind).severity == Severity::Error;
        taken.push_back(std::move(all_[i]));
    }
    all_.resize(count, Diagnostic{});
    return taken;
}

void Diagnostics::restore(std::vector<Diagnostic> taken) {
    for (Diagnostic& diagnostic : taken) {
        errors_ += info(diagnostic.kind).severity == Severity::Error;
        all_.push_back(std::move(diagnostic));
    }
}

} // namespace djstap
