// The C structures of runtime/include as LLVM types, and the runtime's functions as declarations.
#pragma once
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <string_view>

namespace djstap::codegen {

// Types of the contract in runtime/include/script.h. The constructor's caller checks their sizes
// against the C compiler's (sizes_agree).
struct AbiTypes {
    explicit AbiTypes(llvm::LLVMContext& context);

    llvm::Type *void_type, *i1;
    llvm::IntegerType *i8, *i16, *i32, *i64;
    llvm::PointerType* pointer;
    llvm::PointerType* percpu_pointer; // addresses relative to gs
    llvm::StructType *lock_use, *handler, *site, *anchor, *target, *statistic_shape, *map_shape,
        *map_use, *statistic_use, *iterator_use, *map_order, *script, *regex_start, *regex_step,
        *regex;

    // True where each struct has the size that the C headers give it.
    bool sizes_agree(const llvm::DataLayout& layout) const;
};

// What a runtime function returns and takes, one letter each: v void, i i32, l i64, p pointer.
struct RuntimeFunction {
    std::string_view name;
    std::string_view signature; // result first
};
// The signature of a runtime function that generated code may call; empty when there is no such
// one.
std::string_view runtime_signature(std::string_view name);

} // namespace djstap::codegen
