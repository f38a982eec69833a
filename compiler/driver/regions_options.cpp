// SPDX-License-Identifier: GPL-2.0-or-later
#include "driver/regions_options.h"

#include "diagnostics/suggest.h"
#include "system/file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
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
    "djstap regions answers which instructions of a program, a library or a kernel image can be\n"
    "replaced by a jump of five bytes. It prints for each function the number of instructions "
    "(I),\n"
    "those that the kernel's own rule allows (K) and those where a jump is proved safe (B), with\n"
    "the reasons of all refusals.";

const char* const footer = R"(Examples:
  djstap regions /bin/true
  djstap regions -r 6.1 --function vfs_read
  djstap regions -r 6.1 --unsafe
  djstap regions -r 6.1 --svg vmlinux.svg
  djstap regions --model=kernel --at vfs_read+0x13 -r 6.1
docs/regions.md describes the rules and the reasons.)";

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
                   "also calls and jumps, which can be encoded again (the default)")
        ->type_name("kernel|relocate");
    app.add_option("--function", options.function,
                   "draw a function: each instruction, and whether a jump may replace it")
        ->type_name("NAME");
    app.add_option("--at", lists,
                   "answer for these places: addresses or NAME+OFFSET, in hexadecimal; @FILE reads "
                   "them from a file")
        ->type_name("PLACE,…")
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
                   "to _etext, where the kernel has patched itself")
        ->type_name("DUMP");
    app.add_flag("--json", options.json, "print JSON");
    app.add_option("-r", options.kernel, "analyze the vmlinux of this kernel")
        ->type_name("RELEASE");
    app.add_option("file", options.file, "the file")->type_name("FILE");
    app.footer(footer);
    try {
        std::reverse(arguments.begin(), arguments.end()); // the order that CLI11 expects
        app.parse(arguments);
    } catch (const CLI::ParseError& error) {
        return Failure{error.what(), "djstap regions --help lists the options"};
    }
    if (help)
        return Text{app.help()};
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
    if (!model.empty() && model != "kernel" && model != "relocate")
        return Failure{"--model=" + model + " is not one of kernel, relocate", ""};
    if (model == "kernel")
        options.model = regions::Model::Kernel;
    for (const std::string& list : lists)
        if (Status added = add_places(list, options.places); !added)
            return added.failure();
    if (!lists.empty() && options.places.empty())
        return Failure{"--at: the list contains no place", ""};
    if (options.file.empty() == options.kernel.empty())
        return Failure{options.file.empty() ? "no file was given" : "both a file and -r were given",
                       "name a program, a library or a kernel image, or a kernel with -r"};
    if (int{!options.function.empty()} + int{!options.places.empty()} + int{!options.map.empty()} +
            int{options.lines} + int{options.unsafe} >
        1)
        return Failure{"--function, --at, --svg, --lines and --unsafe exclude each other",
                       "give one of them"};
    return options;
}

} // namespace djstap::driver
