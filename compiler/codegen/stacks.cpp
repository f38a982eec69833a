// SPDX-License-Identifier: GPL-2.0-or-later
// Call stacks as addresses (program::Type::Stack). A value is the address of words: the number of
// addresses, then these (runtime/include/script.h). What is printed of their symbols is recorded as
// slots of the table of symbols (runtime/include/symbols.h), and made text by readers.
#include "codegen/stacks.h"
#include "codegen/body.h"

#include "include/script.h"
#include "include/symbols.h"
#include "include/words.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace djstap::codegen {

using program::ExpressionKind;

bool walks_stack(const std::string& intrinsic) {
    return intrinsic == "backtrace" || intrinsic == "print_backtrace" ||
           intrinsic == "sprint_backtrace";
}

namespace {

template <size_t count>
bool uses_any(const program::Program& program, const std::array<std::string_view, count>& names) {
    return std::any_of(program.functions.begin(), program.functions.end(), [&](const auto& each) {
        return std::find(names.begin(), names.end(), each->intrinsic) != names.end();
    });
}

// Returns whether C code of the script calls a function of this name, or one whose name begins with
// it.
bool c_code_names(const program::Program& program, std::string_view name) {
    return std::any_of(program.functions.begin(), program.functions.end(), [&](const auto& each) {
        return each->embedded.find(name) != std::string::npos;
    });
}

} // namespace

bool uses_symbols(const program::Program& program) {
    constexpr std::array<std::string_view, 21> names{
        "print_backtrace",  "sprint_backtrace",  "print_stack",
        "print_syms",       "sprint_stack",      "sprint_syms",
        "symname",          "symdata",           "modname",
        "print_ubacktrace", "sprint_ubacktrace", "print_usyms",
        "sprint_usyms",     "usymname",          "usymdata",
        "print_ustack",     "sprint_ustack",     "usymfileline",
        "usymfile",         "usymline",          "print_ubacktrace_fileline"};
    return uses_any(program, names) || c_code_names(program, "_stp_stack_") ||
           c_code_names(program, "_stp_snprint_addr");
}

bool uses_programs(const program::Program& program) {
    constexpr std::array<std::string_view, 17> names{
        "ubacktrace",   "print_ubacktrace", "sprint_ubacktrace",
        "ustack",       "print_usyms",      "sprint_usyms",
        "usymname",     "usymdata",         "umodname",
        "print_ustack", "sprint_ustack",    "usymfileline",
        "usymfile",     "usymline",         "print_ubacktrace_fileline",
        "umodaddr",     "umodbuildid"};
    return uses_any(program, names) || c_code_names(program, "_stp_stack_user") ||
           c_code_names(program, "_stp_snprint_addr");
}

char symbols_of(const program::Expression& node) {
    if (node.kind != ExpressionKind::Call)
        return 0;
    const auto& call = program::as<program::Call>(node);
    const std::string& name = call.function->intrinsic;
    if (name == "sprint_syms" || name == "sprint_stack" || name == "sprint_usyms" ||
        name == "sprint_ustack")
        return call.arguments[0]->type == program::Type::Stack ? DJS_SYMBOLS_LINES : 0;
    return name == "sprint_backtrace" || name == "sprint_ubacktrace" ? DJS_SYMBOLS_BACKTRACE
           : name == "symname" || name == "usymname"                 ? DJS_SYMBOLS_NAME
           : name == "symdata" || name == "usymdata"                 ? DJS_SYMBOLS_DATA
           : name == "usymfileline"                                  ? DJS_SYMBOLS_PLACE
           : name == "usymfile"                                      ? DJS_SYMBOLS_FILE
           : name == "usymline"                                      ? DJS_SYMBOLS_SOURCELINE
                                                                     : 0;
}

namespace {

bool is_of_program(const program::Expression& node) {
    const std::string& name = program::as<program::Call>(node).function->intrinsic;
    return name == "ubacktrace" || name == "sprint_ubacktrace" || name == "usymname" ||
           name == "usymdata" || name == "usymfileline" || name == "usymfile" || name == "usymline";
}

} // namespace

// Yields a stack for the duration of the statement.
Value Body::stack(const program::Expression& node) {
    Value to = scratch_stack();
    stack_into(to, node);
    return to;
}

void Body::stack_into(Value to, const program::Expression& node) {
    auto copy = [&](Value from) {
        builder_.CreateCall(script_.runtime("djs_copy_stack"), {to, from});
    };
    switch (node.kind) {
    case ExpressionKind::Call:
        take_stack(to, is_of_program(node));
        break;
    case ExpressionKind::LocalValue:
        copy(locals_[program::as<program::LocalValue>(node).local]);
        break;
    case ExpressionKind::Assignment:
        copy(assign_stack(program::as<program::Assignment>(node)));
        break;
    case ExpressionKind::Conditional:
        choose(program::as<program::Conditional>(node),
               [&](const program::Expression& value) { stack_into(to, value); });
        break;
    default:
        script_.unexpected(node.range, "a stack that is none");
    }
}

// backtrace(), ubacktrace()
void Body::take_stack(Value to, bool of_program) {
    if (of_program)
        builder_.CreateCall(script_.runtime("djs_take_user_stack"), {ctx_, to});
    else if (hit_.frame)
        builder_.CreateCall(script_.runtime("djs_take_stack_at_entry"),
                            {ctx_, to, hit_.reg(arch::stack_pointer()), hit_.frame()});
    else
        builder_.CreateCall(script_.runtime("djs_take_stack"), {ctx_, to});
}

// print_backtrace(), print_ubacktrace(), print_ubacktrace_fileline()
void Body::print_backtrace(bool of_program, bool lines) {
    Value to = scratch_stack();
    take_stack(to, of_program);
    if (lines) {
        Value count = builder_.CreateLoad(script_.types.i64, to);
        builder_.CreateStore(
            builder_.CreateOr(count, script_.number(static_cast<int64_t>(DJS_STACK_FILELINE))), to);
    }
    builder_.CreateCall(script_.runtime("djs_print_stack"), {ctx_, to});
}

// An argument of a record from which a reader makes the text of a call that symbols_of() knows.
Body::Argument Body::symbols_argument(const program::Expression& node) {
    Argument argument{symbols_of(node)};
    Value type = script_.u32(static_cast<unsigned char>(argument.type));
    const auto text_bytes =
        static_cast<uint32_t>(DJS_ALIGN8(sizeof(uint64_t) + script_.string_bytes()));
    argument.value = scratch(std::max(script_.stack_bytes(), text_bytes));
    if (argument.type == DJS_SYMBOLS_BACKTRACE) {
        take_stack(argument.value, is_of_program(node));
    } else if (argument.type == DJS_SYMBOLS_LINES) {
        stack_into(argument.value, *program::as<program::Call>(node).arguments[0]);
    } else {
        Value address = number(*program::as<program::Call>(node).arguments[0]);
        if (is_of_program(node)) {
            // Words have room for the addresses of programs: what exceeds them is only a number.
            Value above = builder_.CreateLShr(address, DJS_WORD_ADDRESS_BITS);
            Value is_number = builder_.CreateAnd(builder_.CreateICmpSGE(address, script_.number(0)),
                                                 builder_.CreateIsNotNull(above));
            Value word = builder_.CreateCall(script_.runtime("djs_user_word"),
                                             {ctx_, address, script_.u32(0)});
            address = builder_.CreateSelect(is_number, address, word);
            type = builder_.CreateSelect(is_number, script_.u32(0), type);
        }
        builder_.CreateStore(script_.number(1), argument.value);
        builder_.CreateStore(address,
                             builder_.CreateConstGEP1_32(script_.types.i8, argument.value, 8));
    }
    argument.length =
        builder_.CreateCall(script_.runtime("djs_symbols_argument"), {ctx_, argument.value, type});
    return argument;
}

// Returns the variable, a local one.
Value Body::assign_stack(const program::Assignment& node) {
    Value local = locals_[program::as<program::LocalValue>(*node.place).local];
    // The value may depend on what the variable held.
    if (node.value->kind == ExpressionKind::Conditional)
        builder_.CreateCall(script_.runtime("djs_copy_stack"), {local, stack(*node.value)});
    else
        stack_into(local, *node.value);
    return local;
}

// The string that it stands for.
void Body::stack_text_into(Value out, const program::Expression& stack_value) {
    builder_.CreateCall(script_.runtime("djs_stack_text"), {out, stack(stack_value)});
}

} // namespace djstap::codegen
