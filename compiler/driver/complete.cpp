// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/complete.h"

#include "completion/place.h"
#include "documentation/variables.h"

#include <algorithm>
#include <optional>

namespace djstap::driver {

namespace {

// More are of no use to someone who looks for a name, and slow in a shell.
constexpr size_t most_offered = 2000;

class Completion {
  public:
    Completion(Invocation& invocation, std::string_view unfinished)
        : invocation_(invocation), place_(completion_place(unfinished)) {}

    std::vector<CompletedName> names() {
        switch (place_.what) {
        case Completes::Nothing:
            return {};
        case Completes::Declaration:
            return completed_declarations(place_.typed);
        case Completes::Component:
            return completed_components(place_.before, place_.typed, probe_shapes(),
                                        invocation_.tapsets().alias_names());
        case Completes::Argument:
            return arguments();
        case Completes::Name:
            return words();
        case Completes::Target:
            return target_variables();
        }
        return {};
    }

    std::string_view typed() const { return place_.typed; }

  private:
    // Parses and lists a point; what is wrong with it is nobody's concern here.
    std::vector<ProbeListing> listed(const std::string& point, bool variables) {
        Diagnostics unseen(invocation_.sources);
        const uint32_t id = invocation_.sources.add("<completion>", "probe " + point + " {}");
        const auto file = parse_file(invocation_.sources, id, invocation_.preprocessor(),
                                     invocation_.tapsets().macros(), unseen);
        if (!file || file->probes.size() != 1 || file->probes[0].points.size() != 1)
            return {};
        auto found =
            list_probes(file->probes[0].points[0], {.variables = variables, .jumps = false},
                        invocation_.images, unseen);
        return found ? *std::move(found) : std::vector<ProbeListing>{};
    }

    // Of `before` as far as it is typed, "kernel.function(", every point that can be one: what
    // needs further components is tried with the first that may follow.
    std::vector<ProbeListing> listed_with_argument() {
        const std::string point = place_.before + "\"" + place_.typed + "*\")";
        std::vector<ProbeListing> found = listed(point, false);
        for (const auto& next : completed_components(point + ".", "", probe_shapes(), {})) {
            if (!found.empty())
                break;
            if (next.text.find('(') == std::string::npos)
                found = listed(point + "." + next.text, false);
        }
        return found;
    }

    std::vector<CompletedName> arguments() {
        std::vector<CompletedName> out;
        if (place_.before == "module(") {
            if (auto modules = invocation_.images.modules_matching(place_.typed + "*"))
                for (const std::string& name : *modules)
                    out.push_back({name + "\")", "module"});
            return out;
        }
        for (const ProbeListing& each : listed_with_argument()) {
            std::string name = completed_argument(each.point, place_.before, place_.typed);
            if (!name.empty() && name.starts_with(place_.typed) &&
                (out.empty() || out.back().text != name + "\")"))
                out.push_back({name + "\")", ""});
        }
        return out;
    }

    std::vector<AliasVariable> alias_variables() {
        std::string alias = place_.before;
        alias.resize(alias.find_last_not_of(" \t\r\n") + 1);
        return AliasVariables(invocation_.tapsets()).of(alias);
    }

    std::vector<CompletedName> words() {
        std::vector<std::string> functions = invocation_.tapsets().function_names();
        std::vector<CompletedName> out =
            completed_words(place_.typed, document_language({}), functions, place_.declared);
        for (const AliasVariable& each : alias_variables())
            if (each.name.starts_with(place_.typed))
                out.push_back({each.name, "variable of " + dotted_name(each.origin->names[0])});
        return out;
    }

    std::vector<CompletedName> target_variables() {
        std::vector<CompletedName> out;
        auto add = [&](const std::string& name, const std::string& what) {
            auto same = [&](const CompletedName& each) { return each.text == name; };
            if (name.starts_with(place_.typed) && std::none_of(out.begin(), out.end(), same))
                out.push_back({name, what});
        };
        bool has_variables = false;
        for (const ProbeListing& each : listed(place_.before, true))
            for (const std::string& variable : each.variables) {
                const size_t colon = variable.find(':');
                add(variable.substr(0, colon),
                    colon == std::string::npos ? "" : variable.substr(colon + 1));
                has_variables = true;
            }
        if (has_variables) // also if $$ is typed, which none of them begins with
            for (const char* all : {"$$vars", "$$parms", "$$locals", "$$return"})
                add(all, "all as text");
        std::ranges::sort(out, {}, &CompletedName::text);
        return out;
    }

    Invocation& invocation_;
    CompletionPlace place_;
};

} // namespace

CompletedNames completed_names(Invocation& invocation, std::string_view unfinished) {
    Completion completion(invocation, unfinished);
    CompletedNames out{completion.names(), completion.typed().size(), true};
    if (out.names.size() > most_offered) {
        out.names.resize(most_offered);
        out.all = false;
    }
    return out;
}

void complete(Invocation& invocation) {
    const std::string& text = invocation.options.unfinished;
    const CompletedNames found = completed_names(invocation, text);
    // A shell would take what is common to a part of the names for common to all of them.
    if (!found.all)
        return;
    const std::string line = text.substr(text.rfind('\n') + 1);
    const std::string before = line.substr(0, line.size() - found.typed);
    for (const CompletedName& name : found.names) {
        std::string shown = before;
        invocation.output().line(
            shown.append(name.text).append("\t").append(name.text).append("\t").append(name.what));
    }
}

} // namespace djstap::driver
