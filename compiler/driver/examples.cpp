// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/examples.h"

#include "diagnostics/suggest.h"
#include "driver/script.h"
#include "tools/command_line.h"

#include <algorithm>
#include <filesystem>

namespace djstap::driver {

namespace {

namespace fs = std::filesystem;

// Returns the names of the examples, without .stp, sorted.
std::vector<std::string> example_names(const Invocation& invocation) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(invocation.places.examples, error), end; !error && at != end;
         at.increment(error))
        if (at->path().extension() == ".stp")
            names.push_back(at->path().stem());
    std::ranges::sort(names);
    return names;
}

// Returns the file of an example's name, which may end in .stp, or of a path, which has a /.
std::optional<std::string> find_example(Invocation& invocation, std::string name) {
    if (name.find('/') != std::string::npos)
        return name;
    if (name.ends_with(".stp"))
        name.resize(name.size() - 4);
    const std::vector<std::string> names = example_names(invocation);
    if (std::ranges::find(names, name) != names.end())
        return fs::path(invocation.places.examples) / (name + ".stp");
    const std::string hint =
        fs::exists(name + ".stp")
            ? "a script of your own is named by a path: --example ./" + name + ".stp"
            : did_you_mean(name, names);
    invocation.diagnostics.report(DiagnosticKind::UnknownExample, {}, {name})
        .hint(hint.empty() ? "djstap --examples lists them" : hint);
    return std::nullopt;
}

struct Read {
    uint32_t source = 0;
    ToolHeader header;
};

std::optional<Read> read_tool(Invocation& invocation, const std::string& path) {
    Result<std::string> text = read_script(path);
    if (!text) {
        invocation.fail(DiagnosticKind::CannotReadScript, text.failure());
        return std::nullopt;
    }
    const uint32_t source = invocation.sources.add(path, std::move(*text));
    auto header = read_header(invocation.sources, source, invocation.diagnostics);
    return header ? std::optional(Read{source, std::move(*header)}) : std::nullopt;
}

// The initial values of a tool's options are those of its globals. Its arguments may be missing:
// their names take their place.
bool read_globals(Invocation& invocation, Read& tool, std::vector<std::string> arguments) {
    for (size_t i = arguments.size(); i < tool.header.arguments.size(); i++)
        arguments.push_back(tool.header.arguments[i].name);
    PreprocessorContext context = invocation.preprocessor();
    context.arguments = std::move(arguments);
    const auto file = parse_file(invocation.sources, tool.source, context,
                                 invocation.tapsets().macros(), invocation.diagnostics);
    return file && take_globals(tool.header, *file, invocation.diagnostics);
}

std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

// Adds what the tool's own options request to the outputs of the run.
bool take_outputs(Invocation& invocation, const std::vector<std::string>& outputs) {
    Options& options = invocation.options;
    for (const std::string& text : outputs) {
        const auto request = parse_output(text);
        if (!request) {
            invocation.fail(DiagnosticKind::BadToolOption, request.failure());
            return false;
        }
        options.event_fields |= request->kind->has.fields;
        options.output_requests.push_back(*request);
    }
    if (outputs.empty())
        return true;
    if (options.recorder) {
        invocation.fail(
            DiagnosticKind::BadToolOption,
            {"-F leaves the example loaded, but what it writes at the end is wanted", "omit -F"});
        return false;
    }
    if (const Status checked = check_outputs(options.outputs()); !checked) {
        invocation.fail(DiagnosticKind::BadToolOption, checked.failure());
        return false;
    }
    return true;
}

} // namespace

ExampleStep take_example(Invocation& invocation) {
    Options& options = invocation.options;
    const auto path = find_example(invocation, options.example);
    auto tool = path ? read_tool(invocation, *path) : std::nullopt;
    if (!tool)
        return ExampleStep::Failed;
    auto request =
        parse_request(tool->header, options.example, options.arguments, invocation.diagnostics);
    if (!request || !read_globals(invocation, *tool,
                                  request->help ? std::vector<std::string>() : request->arguments))
        return ExampleStep::Failed;
    if (request->help) {
        invocation.output().writer().append(
            help_text(tool->header, "djstap --example " + options.example));
        return ExampleStep::Described;
    }
    options.script_file = *path;
    options.arguments = std::move(request->arguments);
    // -G, which comes later, has the last word.
    options.global_values.insert(options.global_values.begin(), request->global_values.begin(),
                                 request->global_values.end());
    return take_outputs(invocation, request->outputs) ? ExampleStep::Run : ExampleStep::Failed;
}

bool list_examples(Invocation& invocation) {
    std::vector<ListedTool> tools;
    for (const std::string& name : example_names(invocation)) {
        auto tool = read_tool(invocation, fs::path(invocation.places.examples) / (name + ".stp"));
        if (!tool || !read_globals(invocation, *tool, {}))
            continue;
        ListedTool& listed = tools.emplace_back();
        listed.name = name;
        listed.subject = tool->header.subject;
        listed.summary = tool->header.summary;
        for (const ToolOption& option : tool->header.options)
            listed.options.push_back(
                {option.name, std::string(name_of(option.type)), option.initial, option.text});
    }
    for (const std::string& word : invocation.options.arguments)
        std::erase_if(tools, [word = lower_case(word)](const ListedTool& tool) {
            return lower_case(tool.name + "\n" + tool.subject + "\n" + tool.summary).find(word) ==
                   std::string::npos;
        });
    std::ranges::stable_sort(tools, {}, &ListedTool::subject);
    invocation.output().tools(tools);
    if (tools.empty() && !invocation.diagnostics.has_errors()) {
        std::string words;
        for (const std::string& word : invocation.options.arguments)
            words += (words.empty() ? "" : " ") + word;
        invocation.diagnostics
            .report(DiagnosticKind::NoExamples, {},
                    {words.empty() ? "there are no examples in " + invocation.places.examples
                                   : "no example is about '" + words + "'"})
            .hint(words.empty() ? "" : "djstap --examples lists all of them");
    }
    return !invocation.diagnostics.has_errors();
}

} // namespace djstap::driver
