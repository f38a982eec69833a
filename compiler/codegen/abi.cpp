// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/abi.h"

#include "include/floating.h"
#include "include/regex.h"
#include "include/registers.h"
#include "include/script.h"
#include "include/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <llvm/IR/DataLayout.h>
#include <type_traits>
#include <utility>

namespace djstap::codegen {

namespace {

// Returns the structure for a C type that was already created: a structure precedes those that
// contain it.
template <class Struct> llvm::StructType* struct_type(const AbiTypes& types) {
#define DJS_STRUCT(name)                                                                           \
    if constexpr (std::is_same_v<Struct, struct ::name>)                                           \
        return types.name;
#define DJS_FIELD(type, name)
#define DJS_ARRAY(type, name, count)
#define DJS_STRUCT_END(name)
#include "include/contract.def"
}

template <class Field> llvm::Type* field_type(const AbiTypes& types, llvm::LLVMContext& context) {
    if constexpr (std::is_pointer_v<Field>)
        return types.pointer;
    else if constexpr (std::is_array_v<Field>)
        return llvm::ArrayType::get(field_type<std::remove_extent_t<Field>>(types, context),
                                    std::extent_v<Field>);
    else if constexpr (std::is_integral_v<Field>)
        return llvm::IntegerType::get(context, sizeof(Field) * 8);
    else
        return struct_type<Field>(types);
}

// The elements of a structure's constant, in the order of its fields.
class Elements {
  public:
    explicit Elements(llvm::StructType* type) : type_(type) {}
    void add(const FieldValue& value) {
        elements_.push_back(value.as(type_->getElementType(elements_.size())));
    }
    llvm::Constant* done() const { return llvm::ConstantStruct::get(type_, elements_); }

  private:
    llvm::StructType* type_;
    llvm::SmallVector<llvm::Constant*, 64> elements_;
};

} // namespace

AbiTypes::AbiTypes(llvm::LLVMContext& context)
    : void_type(llvm::Type::getVoidTy(context)), i1(llvm::Type::getInt1Ty(context)),
      i8(llvm::Type::getInt8Ty(context)), i16(llvm::Type::getInt16Ty(context)),
      i32(llvm::Type::getInt32Ty(context)), i64(llvm::Type::getInt64Ty(context)),
      pointer(llvm::PointerType::get(context, 0)),
      percpu_pointer(llvm::PointerType::get(context, 256)) {
    std::vector<llvm::Type*> fields;
#define DJS_STRUCT(name)                                                                           \
    {                                                                                              \
        using Struct = struct ::name;                                                              \
        llvm::StructType*& made = this->name;                                                      \
        constexpr const char* called = #name;
#define DJS_FIELD(type, name) fields.push_back(field_type<decltype(Struct::name)>(*this, context));
#define DJS_ARRAY(type, name, count) DJS_FIELD(type, name)
#define DJS_STRUCT_END(name)                                                                       \
    made = llvm::StructType::create(context, std::exchange(fields, {}), called);                   \
    }
#include "include/contract.def"
}

std::string_view AbiTypes::disagreement(const llvm::DataLayout& layout) const {
    unsigned number = 0;
#define DJS_STRUCT(name)                                                                           \
    {                                                                                              \
        using Struct = struct ::name;                                                              \
        const llvm::StructLayout* made = layout.getStructLayout(this->name);                       \
        number = 0;
#define DJS_FIELD(type, name)                                                                      \
    if (made->getElementOffset(number++) != offsetof(Struct, name))                                \
        return #name;
#define DJS_ARRAY(type, name, count) DJS_FIELD(type, name)
#define DJS_STRUCT_END(name)                                                                       \
    if (made->getSizeInBytes() != sizeof(Struct))                                                  \
        return #name;                                                                              \
    }
#include "include/contract.def"
    return {};
}

#define DJS_STRUCT(name)                                                                           \
    llvm::Constant* AbiTypes::make(const contract::name& fields) const {                           \
        Elements elements(this->name);
#define DJS_FIELD(type, name) elements.add(fields.name);
#define DJS_ARRAY(type, name, count) elements.add(fields.name);
#define DJS_STRUCT_END(name)                                                                       \
    return elements.done();                                                                        \
    }
#include "include/contract.def"

namespace {

template <class Type> constexpr char letter() {
    if constexpr (std::is_void_v<Type>) {
        return 'v';
    } else if constexpr (std::is_pointer_v<Type>) {
        return 'p';
    } else {
        static_assert(sizeof(Type) == 4 || sizeof(Type) == 8);
        return sizeof(Type) == 4 ? 'i' : 'l';
    }
}

// The signature in the C headers.
template <class Function> struct Signature;
template <class Result, class... Arguments> struct Signature<Result(Arguments...)> {
    static constexpr std::array letters{letter<Result>(), letter<Arguments>()...};
    static constexpr std::string_view text{letters.data(), letters.size()};
};
#define RUNTIME(name)                                                                              \
    RuntimeFunction {                                                                              \
        #name, Signature<decltype(::name)>::text                                                   \
    }

constexpr std::array runtime_functions{
    RUNTIME(djs_enter),
    RUNTIME(djs_leave),
    RUNTIME(djs_lacks_stack),
    RUNTIME(djs_lock_enter),
    RUNTIME(djs_lock_leave),
    RUNTIME(djs_lock_wait),
    RUNTIME(djs_fail_alone),
    RUNTIME(djs_fail_read_alone),
    RUNTIME(djs_fail_load),
    RUNTIME(djs_find_site),
    RUNTIME(djs_reserve),
    RUNTIME(djs_commit),
    RUNTIME(djs_make_room),
    RUNTIME(djs_reschedule),
    RUNTIME(djs_file_set),
    RUNTIME(djs_file_append),
    RUNTIME(djs_file_get),
    RUNTIME(djs_conditions_changed),
    RUNTIME(djs_fail),
    RUNTIME(djs_load),
    RUNTIME(djs_load_user),
    RUNTIME(djs_store),
    RUNTIME(djs_store_user),
    RUNTIME(djs_copy_memory),
    RUNTIME(djs_counter_read),
    RUNTIME(djs_perf_read),
    RUNTIME(djs_fp_from_single),
    RUNTIME(djs_counter_clear),
    RUNTIME(djs_statistic_read),
    RUNTIME(djs_statistic_clear),
    RUNTIME(djs_statistic_record),
    RUNTIME(djs_statistic_add),
    RUNTIME(djs_statistic_avg),
    RUNTIME(djs_statistic_variance),
    RUNTIME(djs_histogram_store),
    RUNTIME(djs_map_find),
    RUNTIME(djs_map_find_long),
    RUNTIME(djs_map_find_slot),
    RUNTIME(djs_map_insert),
    RUNTIME(djs_map_insert_long),
    RUNTIME(djs_map_insert_slot),
    RUNTIME(djs_map_erase),
    RUNTIME(djs_map_erase_slot),
    RUNTIME(djs_erase_slice),
    RUNTIME(djs_has_slice),
    RUNTIME(djs_map_clear),
    RUNTIME(djs_foreach_begin),
    RUNTIME(djs_foreach_next),
    RUNTIME(djs_more_actions),
    RUNTIME(djs_map_key),
    RUNTIME(djs_map_value),
    RUNTIME(djs_take_stack),
    RUNTIME(djs_take_stack_at_entry),
    RUNTIME(djs_take_user_stack),
    RUNTIME(djs_user_word),
    RUNTIME(djs_user_stack_word),
    RUNTIME(djs_user_return_address),
    RUNTIME(djs_replaced_return),
    RUNTIME(djs_copy_stack),
    RUNTIME(djs_stack_text),
    RUNTIME(djs_print_stack),
    RUNTIME(djs_symbols_argument),
    RUNTIME(djs_format),
    RUNTIME(djs_text_copy),
    RUNTIME(djs_text_concat),
    RUNTIME(djs_text_compare),
    RUNTIME(djs_text_length),
    RUNTIME(djs_kernel_register),
    RUNTIME(djs_user_register),
    RUNTIME(djs_regex_search),
    RUNTIME(djs_match_regex),
    RUNTIME(djs_fn_pid),
    RUNTIME(djs_fn_tid),
    RUNTIME(djs_shown_string),
    RuntimeFunction{"memcpy", "pppl"}, // overloaded or built into C++
    RuntimeFunction{"memset", "ppil"},
};
#undef RUNTIME

} // namespace

std::string_view runtime_signature(std::string_view name) {
    const auto* found = std::find_if(runtime_functions.begin(), runtime_functions.end(),
                                     [&](const auto& each) { return each.name == name; });
    return found == runtime_functions.end() ? std::string_view() : found->signature;
}

} // namespace djstap::codegen
