// SPDX-License-Identifier: GPL-2.0-or-later
// Reads relocatable objects and finished modules, like the linker's steps, the reader of debug
// files and djrun.
#include "image/decompress.h"
#include "image/module_file.h"
#include "module/elf.h"
#include "module/verify.h"
#include "session/meta.h"
#include "target.h"

using namespace djstap;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string bytes(fuzz::view(data, size));
    // As the debug information of a module is read.
    if (auto whole = decompress_sections(bytes, "input"))
        (void)link_module_image(std::move(*whole), "input");
    auto object = module::ElfObject::read(bytes, "input");
    if (!object) {
        (void)parse_meta(bytes); // JSON, the other description of a module
        return 0;
    }
    size_t sum = 0;
    for (size_t i = 0; i < object->sections().size(); i++)
        for (const module::ObjectRelocation& relocation : object->relocations(i))
            sum += object->symbols()[relocation.symbol].name.size();
    for (const module::ObjectSymbol& symbol : object->symbols())
        sum += object->section_of(symbol) ? 1 : 0;
    if (const module::ObjectSection* meta = object->section(".djstap.meta"))
        (void)parse_meta(meta->bytes);
    (void)module::read_versions(*object);
    const RuntimeKit kit;
    (void)module::check_script_object(*object, kit);
    (void)module::check_module(*object, kit);
    return sum == SIZE_MAX;
}
