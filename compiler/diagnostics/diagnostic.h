// SPDX-License-Identifier: GPL-2.0-or-later
// Diagnostics: named, registered in kinds/*.def, collected as values. A phase that fails returns
// nothing and leaves at least one error here; nothing throws across a phase.
#pragma once
#include "diagnostics/source.h"

#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djstap {

enum class Severity { Warning, Error };

// Every message of djstap, in one table: kinds/*.def, one file per phase.
enum class DiagnosticKind : uint16_t {
#define DIAGNOSTIC(Name, Tag, Level, Message) Name,
#include "diagnostics/kinds/all.def"
#undef DIAGNOSTIC
};

struct DiagnosticInfo {
    std::string_view tag; // "unknown-function": shown in brackets, identifies it in tests and JSON
    Severity severity;
    std::string_view message; // {0}, {1} … are replaced by the arguments; describes the situation
};
const DiagnosticInfo& info(DiagnosticKind kind);
// Returns all of them, for the coverage test.
std::vector<DiagnosticInfo> all_diagnostics();

struct DiagnosticNote {
    SourceRange range;
    std::string message;
};

struct Diagnostic {
    DiagnosticKind kind;
    SourceRange range; // invalid if no source text is to blame (a missing kernel)
    std::string message;
    std::string hint_text; // says what to do: "did you mean 'print'?"
    std::vector<DiagnosticNote> notes;

    Diagnostic& hint(std::string text) {
        hint_text = std::move(text);
        return *this;
    }
    Diagnostic& note(SourceRange at, std::string text) {
        notes.push_back({at, std::move(text)});
        return *this;
    }
};

class Diagnostics {
  public:
    explicit Diagnostics(const SourceManager& sources) : sources_(sources) {}

    // Records a diagnostic; hint() and note() may be chained on the result. An identical diagnostic
    // at an identical place is recorded once.
    Diagnostic& report(DiagnosticKind kind, SourceRange range,
                       std::initializer_list<std::string> arguments = {});

    bool has_errors() const { return errors_ > 0; }
    size_t error_count() const { return errors_; }
    const std::deque<Diagnostic>& all() const { return all_; }
    // Removes and returns the diagnostics that were reported after the first `count`.
    std::vector<Diagnostic> take_back(size_t count);
    // Reports diagnostics again that take_back() removed.
    void restore(std::vector<Diagnostic> taken);
    const SourceManager& sources() const { return sources_; }

  private:
    const SourceManager& sources_;
    std::deque<Diagnostic> all_;
    size_t errors_ = 0;
};

struct RenderOptions {
    bool color = false;
    bool warnings = true; // -w turns them off
};

// "file:line:col: error: message [tag]", the line, a caret under the range, "hint: …", the notes.
std::string render(const Diagnostic& diagnostic, const SourceManager& sources,
                   const RenderOptions& options = {});
// Renders every diagnostic in the order of the reports.
std::string render_all(const Diagnostics& diagnostics, const RenderOptions& options = {});
// Returns one JSON object on one line.
std::string render_json(const Diagnostic& diagnostic, const SourceManager& sources);

// The output format of diagnostics: --diagnostics=NAME.
struct DiagnosticStyle {
    std::string_view name;
    std::string (*render)(const Diagnostic& diagnostic, const SourceManager& sources,
                          const RenderOptions& options);
};
// Returns all styles. The first is text.
std::span<const DiagnosticStyle> diagnostic_styles();
inline const DiagnosticStyle& text_style() {
    return diagnostic_styles().front();
}

} // namespace djstap
