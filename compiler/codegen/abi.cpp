#include "codegen/abi.h"

#include "include/regex.h"
#include "include/script.h"

#include <array>
#include <llvm/IR/DataLayout.h>

namespace djstap::codegen {

AbiTypes::AbiTypes(llvm::LLVMContext& context)
    : void_type(llvm::Type::getVoidTy(context)), i1(llvm::Type::getInt1Ty(context)),
      i8(llvm::Type::getInt8Ty(context)), i16(llvm::Type::getInt16Ty(context)),
      i32(llvm::Type::getInt32Ty(context)), i64(llvm::Type::getInt64Ty(context)),
      pointer(llvm::PointerType::get(context, 0)),
      percpu_pointer(llvm::PointerType::get(context, 256)) {
    auto* p = pointer;
    auto make = [&](const char* name, std::initializer_list<llvm::Type*> fields) {
        return llvm::StructType::create(context, std::vector<llvm::Type*>(fields), name);
    };
    lock_use = make("djs_lock_use", {i32, i32});
    handler = make("djs_handler", {p, p, p, p, p, p, i32, i32, i32, i32, i32, i32, i64, i64,
                                   llvm::ArrayType::get(i64, 3), i32, i32, p});
    site = make("djs_site", {i64, i64, i64, i32, i32, i32, i32, i8, i8, i16, p, p, p});
    anchor = make("djs_anchor", {p, p, p, i64, i64});
    target = make("djs_target", {p, p, p, i32});
    statistic_shape = make("djs_statistic_shape", {i32, i32, i64, i64, i64, i32, i32, i32, i32});
    map_shape = make("djs_map_shape", {i8, i8, i8, i8, llvm::ArrayType::get(i8, DJS_MAX_KEYS),
                                       llvm::ArrayType::get(i8, 3), i32, i32, statistic_shape});
    map_use = make("djs_map_use", {map_shape, p});
    statistic_use = make("djs_statistic_use", {statistic_shape, p});
    iterator_use = make("djs_iterator_use", {p, p, i32, i32, i32, i32});
    map_order = make("djs_map_order", {i32, i32, i32, i32});
    regex_start = make("djs_regex_start", {i16, i16});
    regex_step = make("djs_regex_step", {i16, i16, i16, i16, i16, regex_start, regex_start});
    regex = make("djs_regex", {p, p, p, p, i32, i32, i32, regex_start, regex_start, regex_start});
    script = make("djs_script",
                  {i32, i32, i32, i32, i32, i32, i32, i32, p,   p,   p,   p,   p, p, i32, i32,
                   p,   i32, i32, p,   p,   p,   p,   i32, i64, i64, i64, i64, p, p, p,   p,
                   i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, p, p});
}

bool AbiTypes::sizes_agree(const llvm::DataLayout& layout) const {
    auto agrees = [&](llvm::StructType* type, size_t size) {
        return layout.getTypeAllocSize(type) == size;
    };
    return agrees(lock_use, sizeof(djs_lock_use)) && agrees(handler, sizeof(djs_handler)) &&
           agrees(site, sizeof(djs_site)) && agrees(anchor, sizeof(djs_anchor)) &&
           agrees(target, sizeof(djs_target)) &&
           agrees(statistic_shape, sizeof(djs_statistic_shape)) &&
           agrees(map_shape, sizeof(djs_map_shape)) && agrees(map_use, sizeof(djs_map_use)) &&
           agrees(statistic_use, sizeof(djs_statistic_use)) &&
           agrees(iterator_use, sizeof(djs_iterator_use)) &&
           agrees(map_order, sizeof(djs_map_order)) && agrees(regex_step, sizeof(djs_regex_step)) &&
           agrees(regex, sizeof(struct djs_regex)) && agrees(script, sizeof(struct djs_script)) &&
           layout.getStructLayout(script)->getElementOffset(24) ==
               offsetof(struct djs_script, anchor) &&
           layout.getStructLayout(script)->getElementOffset(42) ==
               offsetof(struct djs_script, condition_count);
}

namespace {

constexpr std::array runtime_functions{
    RuntimeFunction{"djs_enter", "ppp"},
    RuntimeFunction{"djs_leave", "vp"},
    RuntimeFunction{"djs_lacks_stack", "ii"},
    RuntimeFunction{"djs_lock_enter", "lp"},
    RuntimeFunction{"djs_lock_leave", "vpl"},
    RuntimeFunction{"djs_fail_alone", "vpi"},
    RuntimeFunction{"djs_find_site", "ppl"},
    RuntimeFunction{"djs_reserve", "ppii"},
    RuntimeFunction{"djs_commit", "vppi"},
    RuntimeFunction{"djs_make_room", "ii"},
    RuntimeFunction{"djs_reschedule", "v"},
    RuntimeFunction{"djs_file_set", "vpp"},
    RuntimeFunction{"djs_file_append", "vpp"},
    RuntimeFunction{"djs_file_get", "pp"},
    RuntimeFunction{"djs_conditions_changed", "v"},
    RuntimeFunction{"djs_fail", "vppi"},
    RuntimeFunction{"djs_load", "lplii"},
    RuntimeFunction{"djs_store", "vplili"},
    RuntimeFunction{"djs_copy_memory", "vpplli"},
    RuntimeFunction{"djs_counter_read", "li"},
    RuntimeFunction{"djs_perf_read", "li"},
    RuntimeFunction{"djs_counter_clear", "vi"},
    RuntimeFunction{"djs_statistic_read", "vip"},
    RuntimeFunction{"djs_statistic_clear", "vi"},
    RuntimeFunction{"djs_statistic_record", "vil"},
    RuntimeFunction{"djs_statistic_add", "vppl"},
    RuntimeFunction{"djs_statistic_avg", "lp"},
    RuntimeFunction{"djs_statistic_variance", "lpp"},
    RuntimeFunction{"djs_histogram_store", "vppp"},
    RuntimeFunction{"djs_map_find", "ppp"},
    RuntimeFunction{"djs_map_find_long", "ppl"},
    RuntimeFunction{"djs_map_find_slot", "ppl"},
    RuntimeFunction{"djs_map_insert", "ppp"},
    RuntimeFunction{"djs_map_insert_long", "ppl"},
    RuntimeFunction{"djs_map_insert_slot", "ppl"},
    RuntimeFunction{"djs_map_erase", "ipp"},
    RuntimeFunction{"djs_erase_slice", "vpipii"},
    RuntimeFunction{"djs_has_slice", "ipipii"},
    RuntimeFunction{"djs_map_clear", "pp"},
    RuntimeFunction{"djs_foreach_begin", "vppppli"},
    RuntimeFunction{"djs_foreach_next", "ipp"},
    RuntimeFunction{"djs_more_actions", "ip"},
    RuntimeFunction{"djs_map_key", "lpii"},
    RuntimeFunction{"djs_map_value", "ppi"},
    RuntimeFunction{"djs_format", "lplpppl"},
    RuntimeFunction{"djs_text_copy", "lppl"},
    RuntimeFunction{"djs_text_concat", "lpppl"},
    RuntimeFunction{"djs_text_compare", "ipp"},
    RuntimeFunction{"djs_text_length", "lp"},
    RuntimeFunction{"djs_kernel_register", "lpii"},
    RuntimeFunction{"djs_user_register", "lpii"},
    RuntimeFunction{"djs_regex_search", "ipp"},
    RuntimeFunction{"djs_match_regex", "ippp"},
    RuntimeFunction{"djs_fn_kernel_string", "vppl"},
    RuntimeFunction{"memcpy", "pppl"},
    RuntimeFunction{"memset", "ppil"},
};

} // namespace

std::string_view runtime_signature(std::string_view name) {
    for (const RuntimeFunction& function : runtime_functions)
        if (function.name == name)
            return function.signature;
    return {};
}

} // namespace djstap::codegen
