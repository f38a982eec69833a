// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/embedded.h"

#include "codegen/body.h"
#include "diagnostics/source.h"
#include "include/script.h"
#include "semantics/walk.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace djstap::codegen {

using program::Type;

namespace {

// Returns a script's text as part of a C string.
std::string c_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out;
}

// Returns a version as C code compares it: "4.8" as "STAP_VERSION(4, 8)".
std::string c_version(const std::string& version) {
    const size_t dot = version.find('.');
    const auto number = [](const std::string& digits) {
        return std::to_string(std::strtoul(digits.c_str(), nullptr, 10));
    };
    return "STAP_VERSION(" + number(version.substr(0, dot)) + ", " +
           (dot == std::string::npos ? "0" : number(version.substr(dot + 1))) + ")";
}

bool is_suffix(const std::string& code) {
    return code.find("/* pragma:suffix */") != std::string::npos;
}

// Returns whether C code defines a label.
bool has_label(const std::string& code, const std::string& name) {
    for (size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) {
        const size_t next = code.find_first_not_of(" \t\n", at + name.size());
        const bool begins = !at || std::strchr(" \t\n;{}", code[at - 1]);
        if (begins && next != std::string::npos && code[next] == ':')
            return true;
    }
    return false;
}

// Returns the labels at the end of a function: SystemTap's code may leave by `goto out`, too.
std::string end_labels(const std::string& code) {
    const bool leaves = code.find("goto out") != std::string::npos && !has_label(code, "out");
    return std::string(leaves ? "out: __attribute__((unused));\n" : "") +
           "djs_done: __attribute__((unused));\n";
}

// Returns the C parameters for those of the function around the code.
std::string c_parameters(const std::vector<program::EmbeddedParameter>& parameters) {
    std::string out;
    for (const program::EmbeddedParameter& each : parameters)
        out += std::string(", ") + (each.value->type == Type::String ? "char *" : "int64_t ") +
               "STAP_ARG_" + each.name;
    return out;
}

const char* const begin_function = "\n{\nDJS_EMBEDDED_CALL;\n";

} // namespace

// Returns the directive with which the compiler refers to the script's places: the code that
// follows it is in the same column as behind its %{.
std::string EmbeddedCode::line(SourceRange range) const {
    if (!range.valid())
        return "\n";
    const LineColumn at = sources_.position(range);
    return "\n#line " + std::to_string(at.line) + " \"" + c_text(sources_.file(range.file).name) +
           "\"\n" + std::string(at.column + 1, ' ');
}

std::string EmbeddedCode::add(const std::string& head, const std::string& before,
                              const std::string& code, const std::string& after,
                              SourceRange range) {
    files_.insert(range.file);
    text_ += head + ";\nDJS_EMBEDDED " + head + begin_function + before + line(range) + code +
             "\n;goto djs_done;\n" + end_labels(code) + after + "}\n";
    return head;
}

std::string EmbeddedCode::macros(const std::vector<program::EmbeddedGlobal>& globals,
                                 std::string& undo) {
    std::string text;
    for (const program::EmbeddedGlobal& each : globals) {
        auto known = std::find_if(accessors_.begin(), accessors_.end(),
                                  [&](const auto& other) { return other.first == each.global; });
        if (known == accessors_.end())
            known = accessors_.insert(accessors_.end(), {each.global, {"", "", each.range}});
        const std::string tail =
            std::to_string(known - accessors_.begin()) + "_" + each.global->name;
        auto define = [&](bool wanted, const char* macro, const char* prefix, std::string& name) {
            if (!wanted)
                return;
            name = prefix + tail;
            text += std::string("#define ") + macro + each.global->name + "(...) " + name +
                    "(djs_context, ##__VA_ARGS__)\n";
            undo += std::string("#undef ") + macro + each.global->name + "\n";
        };
        define(each.reads, "STAP_GLOBAL_GET_", "djs_get_", known->second.get);
        define(each.writes, "STAP_GLOBAL_SET_", "djs_set_", known->second.set);
    }
    return text;
}

std::string EmbeddedCode::function(const program::Function& function) {
    auto [entry, added] = names_.try_emplace(&function, "djs_c_" + std::to_string(names_.size()) +
                                                            "_" + function.name);
    if (!added)
        return entry->second;
    const bool is_text = function.return_type == Type::String;
    const bool is_number = function.return_type == Type::Long;
    std::string parameters, names, fields, values,
        undo = "#undef STAP_RETVALUE\n"
               "#undef STAP_RETURN\n";
    text_ += macros(function.embedded_globals, undo);
    for (uint32_t i = 0; i < function.parameter_count; i++) {
        const std::string& name = function.locals[i].name;
        const std::string type = function.locals[i].type == Type::String ? "char *" : "int64_t ";
        const std::string own = (function.unmangled ? "djs_arg_" : "STAP_ARG_") + name;
        parameters += ", " + type + own;
        names += ", " + own;
        if (!function.unmangled)
            continue;
        fields += type + name + "; ";
        values += own + ", ";
        text_ += "#define STAP_ARG_" + name + " (THIS->" + name + ")\n";
        undo += "#undef STAP_ARG_" + name + "\n";
    }
    const std::string name = entry->second, context = "struct djs_ctx *djs_context";
    const std::string head = (is_number ? "s64 " : "void ") + name + "(" + context +
                             (is_text ? ", char *djs_out" : "") + parameters + ")";
    std::string before, result = "djs_out";
    if (function.unmangled) { // the result is a member of THIS, too, and STAP_RETVALUE refers to it
        text_ += "struct " + name + "_this { " + fields +
                 (is_text ? "char *__retvalue; };\n" : "int64_t __retvalue; };\n");
        before = "struct " + name + "_this djs_this = { " + values + (is_text ? "djs_out" : "0") +
                 " }, *THIS = &djs_this;\n";
    }
    if (is_text) {
        text_ += "#define STAP_RETVALUE djs_out\n#define STAP_RETURN(v) do { strscpy(djs_out, (v), "
                 "MAXSTRINGLEN); goto djs_done; } while (0)\n";
        before += "djs_out[0] = 0;\n";
    } else if (is_number) {
        text_ += std::string("#define STAP_RETVALUE ") +
                 (function.unmangled ? "(THIS->__retvalue)" : "(*djs_value)") +
                 "\n#define STAP_RETURN(v) do { STAP_RETVALUE = (int64_t)(v); goto djs_done; } "
                 "while (0)\n";
    } else {
        text_ += "#define STAP_RETURN(...) goto djs_done\n";
    }
    if (has_label(function.embedded, "deref_fault")) {
        text_ += "#undef DJS_EMBEDDED_FAULT\n#define DJS_EMBEDDED_FAULT(...) goto deref_fault\n";
        undo += "#undef DJS_EMBEDDED_FAULT\n#define DJS_EMBEDDED_FAULT DJS_EMBEDDED_FAILED\n";
    }
    const SourceRange place = function.embedded_range;
    // The code is in a block of its own, so that it may begin with __label__.
    const std::string code = "{" + line(place) + function.embedded + "\n;}";
    if (is_number) { // in a function that returns nothing: the code may `return;`
        text_ += "DJS_EMBEDDED_BODY void " + name + "_in(" + context +
                 (function.unmangled ? ", struct " + name + "_this *THIS"
                                     : ", int64_t *djs_value" + parameters) +
                 ")\n{\n" + code + "\ngoto djs_done;\n" + end_labels(code) + ";\n}\n";
        text_ += head + ";\nDJS_EMBEDDED " + head + begin_function +
                 (function.unmangled
                      ? before + name + "_in(djs_context, THIS);\nreturn THIS->__retvalue;\n}\n"
                      : "int64_t djs_value = 0;\n" + name + "_in(djs_context, &djs_value" + names +
                            ");\nreturn djs_value;\n}\n");
        files_.insert(place.file);
    } else {
        add(head, before, code, "", place);
    }
    text_ += undo;
    return entry->second;
}

std::string EmbeddedCode::expression(const program::EmbeddedC& node) {
    auto [entry, added] = names_.try_emplace(&node, "djs_c_" + std::to_string(names_.size()));
    if (!added)
        return entry->second;
    std::string undo;
    text_ += macros(node.globals, undo);
    if (node.type == Type::String)
        add("void " + entry->second + "(struct djs_ctx *djs_context, char *djs_out" +
                c_parameters(node.parameters) + ")",
            "strscpy(djs_out, (", node.code + "\n), MAXSTRINGLEN)", "", node.range);
    else
        add("s64 " + entry->second + "(struct djs_ctx *djs_context" +
                c_parameters(node.parameters) + ")",
            "int64_t djs_result = (int64_t)(", node.code + "\n)", "return djs_result;\n",
            node.range);
    text_ += undo;
    return entry->second;
}

std::string EmbeddedCode::statement(const program::EmbeddedStatement& node) {
    auto [entry, added] = names_.try_emplace(&node, "djs_c_" + std::to_string(names_.size()));
    if (!added)
        return entry->second;
    std::string undo;
    text_ += macros(node.globals, undo);
    add("void " + entry->second + "(struct djs_ctx *djs_context" + c_parameters(node.parameters) +
            ")",
        "", node.code, "", node.range);
    text_ += undo;
    return entry->second;
}

std::string EmbeddedCode::source() const {
    if (text_.empty())
        return {};
    std::string out = "#define MAXSTRINGLEN " + std::to_string(string_bytes_) +
                      "\n#define STAP_COMPAT_VERSION " + c_version(program_.language_version) +
                      "\n#include \"include/embedded.h\"\n";
    std::string last; // added at the end
    for (const ast::EmbeddedBlock* block : program_.embedded)
        if (files_.count(block->range.file) || !sources_.file(block->range.file).is_library)
            (is_suffix(block->code) ? last : out) += line(block->range) + block->code + "\n";
    out += "\n";
    for (const auto& [global, names] : accessors_) {
        auto type = [](Type each) { return each == Type::String ? "const char *" : "s64 "; };
        std::string keys = "(struct djs_ctx *djs_context";
        for (const Type key : global->keys)
            keys += std::string(", ") + type(key);
        if (!names.get.empty())
            out += type(global->value) + names.get + keys + ");\n";
        if (!names.set.empty())
            out += "void " + names.set + keys + ", " + type(global->value) + ");\n";
    }
    return out + text_ + last;
}

bool EmbeddedCode::uses_context() const {
    const std::string text = source();
    return text.find("CONTEXT") != std::string::npos ||
           text.find("_stp_snprint_addr") != std::string::npos;
}

// ---- calls --------------------------------------------------------------------------------------

namespace {

llvm::Function* declare(ScriptModule& script, const std::string& name, llvm::Type* result,
                        const std::vector<llvm::Type*>& parameters) {
    if (auto* known = script.module.getFunction(name))
        return known;
    auto* declared =
        llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                               llvm::GlobalValue::ExternalLinkage, name, script.module);
    declared->setDSOLocal(true);
    script.set_attributes(declared);
    return declared;
}

} // namespace

void Body::check_error_at(SourceRange range) {
    auto *failed = block("failed"), *good = block("no_error");
    Value error = load_field(offsetof(djs_ctx, error), script_.types.pointer, "error");
    branch_unlikely(builder_.CreateIsNotNull(error), failed, good);
    begin(failed);
    builder_.CreateStore(script_.u32(script_.place(range)),
                         field(offsetof(djs_ctx, error_place), "error_place"));
    builder_.CreateBr(error_);
    begin(good);
}

namespace {

// Returns whether a call can reach `next` in the last of its overloads.
bool may_exhaust_overloads(const program::Function& function) {
    const program::Function* last = &function;
    while (last->next_overload)
        last = last->next_overload;
    return last->body && program::contains_next(*last->body);
}

} // namespace

// Emitted after a call of a function in the language. The lack of a further overload is reported
// for the call.
void Body::check_call(const program::Function& function, SourceRange range) {
    if (!may_exhaust_overloads(function)) {
        check_error();
        return;
    }
    auto *failed = block("failed"), *exhausted = block("exhausted"), *good = block("no_error");
    Value error = load_field(offsetof(djs_ctx, error), script_.types.pointer, "error");
    branch_unlikely(builder_.CreateIsNotNull(error), failed, good);
    begin(failed);
    builder_.CreateCondBr(builder_.CreateICmpEQ(error, script_.text(overloads_exhausted)),
                          exhausted, error_);
    begin(exhausted);
    builder_.CreateStore(script_.u32(script_.place(range)),
                         field(offsetof(djs_ctx, error_place), "error_place"));
    builder_.CreateBr(error_);
    begin(good);
}

Value Body::embedded_call(const program::Call& node) {
    const program::Function& function = *node.function;
    std::vector<Value> arguments;
    for (uint32_t i = 0; i < node.arguments.size(); i++)
        arguments.push_back(function.locals[i].type == Type::String ? text(*node.arguments[i])
                                                                    : number(*node.arguments[i]));
    return call_embedded(function, arguments,
                         function.return_type == Type::String ? scratch_text() : nullptr,
                         node.range, Caller::Continues);
}

// Returns a number, or `out`.
Value Body::call_embedded(const program::Function& function, const std::vector<Value>& arguments,
                          Value out, SourceRange range, Caller caller) {
    std::vector<Value> all{ctx_};
    std::vector<llvm::Type*> types{script_.types.pointer};
    if (out) {
        all.push_back(out);
        types.push_back(script_.types.pointer);
    }
    for (uint32_t i = 0; i < arguments.size(); i++) {
        // By the parameter's type: C has no other. The code may change its copy of a string.
        if (function.locals[i].type == Type::String) {
            Value copy = scratch_text();
            copy_text(copy, arguments[i]);
            all.push_back(copy);
            types.push_back(script_.types.pointer);
        } else {
            all.push_back(arguments[i]);
            types.push_back(script_.types.i64);
        }
    }
    const bool is_number = function.return_type == Type::Long;
    auto* callee = declare(
        script_, script_.embedded().function(function),
        is_number ? static_cast<llvm::Type*>(script_.types.i64) : script_.types.void_type, types);
    Value result = builder_.CreateCall(callee, all);
    check_error_at(range);
    if (function.embedded.find("STAP_NEXT") != std::string::npos)
        return after_next(function, arguments, out, is_number ? result : nullptr, range, caller);
    return out ? out : is_number ? result : script_.number(0);
}

// If the C code executed STAP_NEXT, the next overload's value replaces its own.
Value Body::after_next(const program::Function& function, const std::vector<Value>& arguments,
                       Value out, Value result, SourceRange range, Caller caller) {
    auto *handed_on = block("handed_on"), *done = block("overload");
    auto* slot = entry_alloca(script_.types.i64, "overload");
    builder_.CreateStore(result ? result : script_.number(0), slot);
    Value mark = field(offsetof(djs_ctx, next_overload), "next_overload");
    branch_unlikely(builder_.CreateIsNotNull(builder_.CreateLoad(script_.types.i32, mark)),
                    handed_on, done);
    begin(handed_on);
    builder_.CreateStore(script_.u32(0), mark);
    if (function.next_overload) {
        Value value = call_overload(*function.next_overload, arguments, out, range, caller);
        if (result)
            builder_.CreateStore(value, slot);
        builder_.CreateBr(done);
    } else {
        fail(overloads_exhausted, range);
    }
    begin(done);
    return out ? out : static_cast<Value>(builder_.CreateLoad(script_.types.i64, slot));
}

// Calls the C function of an expression or a statement, which gets copies of the strings.
Value Body::call_c_code(const std::string& name, Value out, llvm::Type* result,
                        const std::vector<program::EmbeddedParameter>& parameters,
                        SourceRange range) {
    std::vector<Value> all{ctx_};
    std::vector<llvm::Type*> types{script_.types.pointer};
    if (out) {
        all.push_back(out);
        types.push_back(script_.types.pointer);
    }
    for (const program::EmbeddedParameter& each : parameters) {
        const bool is_text = each.value->type == Type::String;
        all.push_back(is_text ? scratch_text() : number(*each.value));
        if (is_text)
            copy_text(all.back(), text(*each.value));
        types.push_back(is_text ? static_cast<llvm::Type*>(script_.types.pointer)
                                : script_.types.i64);
    }
    Value value = builder_.CreateCall(declare(script_, name, result, types), all);
    check_error_at(range);
    return value;
}

Value Body::embedded_expression(const program::EmbeddedC& node) {
    const std::string name = script_.embedded().expression(node);
    if (node.type != Type::String)
        return call_c_code(name, nullptr, script_.types.i64, node.parameters, node.range);
    Value result = scratch_text();
    builder_.CreateStore(llvm::ConstantInt::get(script_.types.i8, 0), result);
    call_c_code(name, result, script_.types.void_type, node.parameters, node.range);
    return result;
}

void Body::embedded_statement(const program::EmbeddedStatement& node) {
    call_c_code(script_.embedded().statement(node), nullptr, script_.types.void_type,
                node.parameters, node.range);
}

} // namespace djstap::codegen
