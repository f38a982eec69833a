// SPDX-License-Identifier: GPL-2.0-or-later
// Analyzes a program, which may be any file: its headers, symbols, unwind information, relocations,
// tables and code. A module is linked first.
#include "regions/regions.h"
#include "image/module_file.h"
#include "regions/module_text.h"
#include "target.h"

using namespace djstap;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto file = ElfFile::hold(std::string(fuzz::view(data, size)), "input");
    if (!file)
        return 0;
    if (is_module(**file)) {
        auto linked = link_module_code(std::string(fuzz::view(data, size)), "input");
        if (linked)
            file = ElfFile::hold(std::move(*linked), "input");
        if (!linked || !file)
            return 0;
        // As if it were in memory where the file's addresses are.
        if (const ElfSection* text = (*file)->section(".text")) {
            const auto merged = regions::module_text(**file, text->bytes);
            fuzz::require(!merged || *merged == text->bytes, "text that changes", "");
        }
    }
    for (regions::Model model :
         {regions::Model::Short, regions::Model::Relocate, regions::Model::Kernel}) {
        auto analysis = regions::Analysis::of(**file, {model, 1});
        if (!analysis)
            return 0;
        size_t safe = 0;
        for (size_t i = 0; i < analysis->functions().size(); i++) {
            const regions::FunctionResult& function = analysis->functions()[i];
            fuzz::require(function.safe <= function.instructions, "more places than instructions",
                          function.name);
            size_t counted = 0;
            for (const regions::Place& place : analysis->places(i)) {
                counted += place.safe();
                const regions::ReplacedBytes replaced = analysis->replaced_bytes(place);
                fuzz::require(replaced.bytes.size() == replaced.known.size(),
                              "bytes of which nothing is known", function.name);
            }
            fuzz::require(counted == function.safe, "two answers for a function", function.name);
            safe += counted;
        }
        for (const regions::UnsafePlace& place : analysis->unsafe())
            safe += analysis->describe(place.address).size();
        if (safe == SIZE_MAX)
            return 1;
    }
    return 0;
}
