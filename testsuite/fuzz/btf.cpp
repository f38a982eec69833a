// SPDX-License-Identifier: GPL-2.0-or-later
// Reads BTF, which comes from files and from the running kernel: uses every type, function and name
// in it.
#include "debuginfo/btf.h"
#include "target.h"

using namespace djstap;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // a copy of its own, so that reads beyond its end are detected
    const std::string bytes(fuzz::view(data, size));
    auto btf = Btf::parse(bytes);
    if (!btf)
        return 0;
    size_t sum = 0;
    for (uint32_t id = 0; id <= btf->size() && id < 2000; id++) {
        sum += btf->type(id).name.size() + btf->members(id).size() + btf->enumerators(id).size();
        sum += btf->resolve(id).name.size();
        sum += write_type(id, [&](TypeId each) { return btf->step(each); }).size();
    }
    bool varargs = false;
    for (std::string_view name : btf->function_names()) {
        const uint32_t function = btf->function(name);
        sum += btf->function_parameters(function, varargs).size() + btf->function_result(function);
    }
    btf->by_name("struct s");
    btf->by_declaration("const struct s __user *");
    return sum == SIZE_MAX;
}
