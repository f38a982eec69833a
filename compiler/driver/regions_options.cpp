// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/regions_options.h"

#include "diagnostics/suggest.h"
#include "system/file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

namespace djstap::driver {

namespace {

// Splits a list at commas and white space; "@FILE" is the list in that file.
Status add_places(const std::string& list, std::vector<std::string>& places) {
    std::string text = list;
    if (list.starts_with('@')) {
        Result<std::string> content = read_file(list.substr(1));
        if (!content)
            return content.failure();
        text = *content;
    }
    std::replace(text.begin(), text.end(), ',', ' ');
    std::istringstream words(text);
    for (std::string word; words >> word;)
        places.push_back(word);
    return Done{};
}

const char* const description =
    "djstap regions answers which instructions of a program, a library, a kernel image or a "
    "kernel\n"
    "module can be replaced by a jump of five bytes. It prints for each function the number of\n"
    "instructions (I), those that the kernel's own rule allows (K) and those where a jump is "
    "proved\n"
    "safe (B), with the reasons of all refusals.";

const char* const footer = R"(Examples:
  djstap regions /bin/true
  djstap regions -r 6.1 --function vfs_read
  djstap regions -r 6.1 --unsafe
  djstap regions -r 6.1 --svg vmlinux.svg
  djstap regions --model=kernel --at vfs_read+0x13 -r 6.1
docs/regions.md describes the rules and the reasons.)";

constexpr const char* what_to_name =
    "name a program, a library, a kernel image or a module, or a kernel with -r";

// What the value of an option is.
std::string usage_of(const std::string& option) {
    static const std::map<std::string, std::string> usages{
        {"--model", "--model=kernel, --model=relocate and --model=short exist"},
        {"--function", "--function NAME draws a function; djstap regions FILE lists them"},
        {"--at", "--at takes addresses or NAME+OFFSET, with commas between them, or @FILE"},
        {"--svg", "--svg takes the file to write, in addition to the one to analyze"},
        {"--text", "--text takes a file with a kernel's bytes from _text to _etext, or those of a "
                   "module's section .text"},
        {"-r", "-r takes the release of an installed kernel, or the beginning of one: -r 6.1"}};
    const auto found = usages.find(option);
    return found == usages.end() ? std::string() : found->second;
}

// What the words say before they are parsed.
struct Words {
    std::string wrong;     // the option that has no value, an empty one, or one too many
    std::string complaint; // about it
    std::string last;      // the option whose value is the last word; "" if none
};

Words examine(const CLI::App& app, const std::vector<std::string>& words) {
    Words out;
    std::map<std::string, int> times;
    for (size_t i = 0; i < words.size() && words[i] != "--"; i++) {
        const size_t equals = words[i].find('=');
        const bool attached = words[i].starts_with("--") && equals != std::string::npos;
        const std::string name = attached ? words[i].substr(0, equals) : words[i];
        const CLI::Option* option = name.starts_with('-') ? app.get_option_no_throw(name) : nullptr;
        out.last.clear();
        if (!option)
            continue;
        auto complain = [&](const char* complaint) {
            out.wrong = name;
            out.complaint = complaint;
            return out;
        };
        if (option->get_items_expected_max() == 0) {
            if (attached)
                return complain(" takes no value");
            continue;
        }
        if (!attached && ++i == words.size())
            return complain(" has no value");
        const std::string value = attached ? words[i].substr(equals + 1) : words[i];
        if (value.empty())
            return complain(" has an empty value");
        if (!attached && value.starts_with('-') && app.get_option_no_throw(value))
            return complain((" has no value: " + value + " is an option").c_str());
        if (++times[name] > 1 && name != "--at")
            return complain(" was given more than once");
        if (!attached)
            out.last = name;
    }
    return out;
}

Failure no_file(const Words& seen, const std::string& last_word) {
    std::error_code error;
    if (!seen.last.empty() && std::filesystem::is_regular_file(last_word, error))
        return {"no file was given", last_word + " is the value of " + seen.last +
                                         "; name the file to analyze behind it"};
    return {"no file was given", what_to_name};
}

bool is_same_file(const std::string& one, const std::string& other) {
    std::error_code error;
    return std::filesystem::equivalent(one, other, error) && !error;
}

} // namespace

ParsedRegionsOptions parse_regions_options(std::vector<std::string> arguments) {
    RegionsOptions options;
    std::string model;
    std::vector<std::string> lists;
    bool help = false;
    CLI::App app{description};
    app.name("djstap regions");
    app.set_help_flag();
    app.allow_extras();
    app.add_flag("-h,--help", help, "print this help");
    app.add_option("--model", model,
                   "what runs outside of its function: what the kernel copies for its kprobes, or "
                   "also calls and jumps, which can be encoded again (the default); short: also "
                   "where a short jump leads to one nearby, in unused space between functions or "
                   "where other instructions are moved away for it")
        ->type_name("kernel|relocate|short");
    app.add_option("--function", options.function,
                   "draw a function: each instruction, and whether a jump may replace it")
        ->type_name("NAME");
    app.add_option(
           "--at", lists,
           "answer for these places, with commas between them: addresses or NAME+OFFSET, in "
           "hexadecimal; @FILE reads them from a file")
        ->type_name("PLACES")
        ->type_size(1)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    app.add_option("--svg", options.map,
                   "draw a map of all functions, coloured by how much of them a jump may replace")
        ->type_name("FILE");
    app.add_flag("--lines", options.lines,
                 "compare the file's line program with what was found, and tell what it would "
                 "cost to mark basic blocks there");
    app.add_flag("--unsafe", options.unsafe,
                 "list the places where the kernel would plant a jump and must not");
    app.add_option("--text", options.text,
                   "of a kernel that runs at its link-time addresses: what is in memory from _text "
                   "to _etext, where the kernel has patched itself; of a module: what is in memory "
                   "of its section .text")
        ->type_name("DUMP");
    app.add_flag("--json", options.json, "print JSON");
    app.add_option("-r", options.kernel, "analyze the vmlinux of this kernel")
        ->type_name("RELEASE");
    app.add_option("file", options.file, "the file")->type_name("FILE");
    app.footer(footer);
    const Words seen = examine(app, arguments);
    if (!seen.wrong.empty())
        return Failure{seen.wrong + seen.complaint, usage_of(seen.wrong)};
    if (std::find(arguments.begin(), arguments.end(), "") != arguments.end())
        return Failure{"the name of the file is empty", what_to_name};
    const std::string last_word = arguments.empty() ? std::string() : arguments.back();
    // What follows this word are files, also where they begin with a dash; there is only one.
    std::string file_behind;
    if (const auto end = std::find(arguments.begin(), arguments.end(), "--");
        end != arguments.end()) {
        if (end + 1 != arguments.end())
            file_behind = *(end + 1);
        if (end + 2 < arguments.end())
            return Failure{"more than one file was given: " + *(end + 2), "analyze one at a time"};
        arguments.erase(end, arguments.end());
    }
    try {
        std::reverse(arguments.begin(), arguments.end()); // the order that CLI11 expects
        app.parse(arguments);
    } catch (const CLI::ParseError& error) {
        return Failure{error.what(), "djstap regions --help lists the options"};
    }
    if (help)
        return Text{app.help()};
    if (!file_behind.empty()) {
        if (!options.file.empty())
            return Failure{"more than one file was given: " + file_behind, "analyze one at a time"};
        options.file = file_behind;
    }
    for (const std::string& extra : app.remaining()) {
        const std::string name = extra.substr(0, extra.find('='));
        if (!name.starts_with('-'))
            return Failure{"more than one file was given: " + extra, "analyze one at a time"};
        std::vector<std::string> names;
        for (const CLI::Option* option : app.get_options())
            for (const std::string& each : option->get_lnames())
                names.push_back("--" + each);
        const std::string hint = did_you_mean(name, names);
        return Failure{"unknown option " + name,
                       hint.empty() ? "djstap regions --help lists the options" : hint};
    }
    static const std::map<std::string, regions::Model> models{
        {"kernel", regions::Model::Kernel},
        {"relocate", regions::Model::Relocate},
        {"short", regions::Model::Short}};
    if (const auto known = models.find(model); known != models.end())
        options.model = known->second;
    else if (!model.empty())
        return Failure{
            "--model=" + model + " is not one of kernel, relocate, short",
            "kernel: what the kernel copies for its kprobes; relocate, the default: also "
            "calls and jumps; short: also by way of a jump nearby"};
    for (const std::string& list : lists)
        if (Status added = add_places(list, options.places); !added)
            return added.failure();
    if (!lists.empty() && options.places.empty())
        return Failure{"--at: the list contains no place", usage_of("--at")};
    if (options.file.empty() && options.kernel.empty())
        return no_file(seen, last_word);
    if (!options.file.empty() && !options.kernel.empty())
        return Failure{"both a file and -r were given", what_to_name};
    if (!options.map.empty() && is_same_file(options.map, options.file))
        return Failure{"--svg: " + options.map + " is the file to analyze", usage_of("--svg")};
    if (int{!options.function.empty()} + int{!options.places.empty()} + int{!options.map.empty()} +
            int{options.lines} + int{options.unsafe} >
        1)
        return Failure{"--function, --at, --svg, --lines and --unsafe exclude each other",
                       "give one of them"};
    return options;
}

} // namespace djstap::driver
