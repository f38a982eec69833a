// SPDX-License-Identifier: GPL-2.0-or-later
// The C structures of runtime/include/contract.def as LLVM types and constants, and declarations of
// the runtime's functions.
#pragma once
#include "include/contract.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <concepts>
#include <string_view>

namespace djstap::codegen {

// The value of one field: a constant of its type, or a number, which gets the field's width. There
// is no default value, so that no field of a structure can be forgotten.
class FieldValue {
  public:
    FieldValue(llvm::Constant* constant) : constant_(constant) {}
    template <std::integral Number>
    FieldValue(Number number) : number_(static_cast<uint64_t>(number)) {}

    llvm::Constant* as(llvm::Type* type) const {
        return constant_ ? constant_ : llvm::ConstantInt::get(type, number_);
    }

  private:
    llvm::Constant* constant_ = nullptr;
    uint64_t number_ = 0;
};

// The values of a structure of the contract, field by field: contract::djs_site{.address = …}. The
// compiler enforces all fields and their order.
namespace contract {
#define DJS_STRUCT(name) struct name {
#define DJS_FIELD(type, name) FieldValue name;
#define DJS_ARRAY(type, name, count) FieldValue name;
#define DJS_STRUCT_END(name)                                                                       \
    }                                                                                              \
    ;
#include "include/contract.def"
} // namespace contract

// The types of the contract.
struct AbiTypes {
    explicit AbiTypes(llvm::LLVMContext& context);

    llvm::Type *void_type, *i1;
    llvm::IntegerType *i8, *i16, *i32, *i64;
    llvm::PointerType* pointer;
    llvm::PointerType* percpu_pointer; // addresses relative to gs

#define DJS_STRUCT(name)                                                                           \
    llvm::StructType* name;                                                                        \
    llvm::Constant* make(const contract::name& fields) const;
#define DJS_FIELD(type, name)
#define DJS_ARRAY(type, name, count)
#define DJS_STRUCT_END(name)
#include "include/contract.def"

    // Returns the name of a field whose offset differs from that in the C headers, or of a
    // structure whose size differs; empty if all agree.
    std::string_view disagreement(const llvm::DataLayout& layout) const;
};

// The result and parameters of a runtime function, one letter each: v void, i i32, l i64, p
// pointer.
struct RuntimeFunction {
    std::string_view name;
    std::string_view signature; // result first
};
// Returns the signature of a runtime function that generated code may call; empty if there is none.
std::string_view runtime_signature(std::string_view name);

} // namespace djstap::codegen
