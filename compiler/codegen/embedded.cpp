#include "codegen/embedded.h"

#include "codegen/body.h"
#include "diagnostics/source.h"
#include "include/script.h"

namespace djstap::codegen {

using program::Type;

namespace {

// A script's text inside a C string.
std::string c_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out;
}

const char* const ignore_out = "__attribute__((unused));\n";

} // namespace

std::string EmbeddedCode::line(SourceRange range) const {
    const std::string where = sources_.where(range); // NAME:LINE:COLUMN
    const size_t column = where.rfind(':');
    const size_t number = column == std::string::npos ? column : where.rfind(':', column - 1);
    if (number == std::string::npos)
        return "\n";
    return "\n#line " + where.substr(number + 1, column - number - 1) + " \"" +
           c_text(where.substr(0, number)) + "\"\n";
}

std::string EmbeddedCode::add(const std::string& head, const std::string& before,
                              const std::string& code, const std::string& after,
                              SourceRange range) {
    files_.insert(range.file);
    text_ += head + ";\nDJS_EMBEDDED " + head + "\n{\n" + before + line(range) + code +
             "\n;goto djs_done;\ndjs_done: " + ignore_out + after + "}\n";
    return head;
}

std::string EmbeddedCode::function(const program::Function& function) {
    auto [entry, added] = names_.try_emplace(&function, "djs_c_" + std::to_string(names_.size()) +
                                                            "_" + function.name);
    if (!added)
        return entry->second;
    const bool is_text = function.return_type == Type::String;
    const bool is_number = function.return_type == Type::Long;
    std::string head = (is_number ? "s64 " : "void ") + entry->second + "(struct djs_ctx *ctx";
    if (is_text)
        head += ", char *djs_out";
    for (uint32_t i = 0; i < function.parameter_count; i++)
        head += (function.locals[i].type == Type::String ? ", char *" : ", int64_t ") +
                std::string("STAP_ARG_") + function.locals[i].name;
    head += ")";
    std::string before, after, undo = "#undef STAP_RETVALUE\n#undef STAP_RETURN\n";
    if (is_text) {
        text_ += "#define STAP_RETVALUE djs_out\n#define STAP_RETURN(v) do { strscpy(djs_out, (v), "
                 "MAXSTRINGLEN); goto djs_done; } while (0)\n";
        before = "djs_out[0] = 0;\n";
    } else if (is_number) {
        text_ += "#define STAP_RETVALUE djs_result\n#define STAP_RETURN(v) do { djs_result = "
                 "(int64_t)(v); goto djs_done; } while (0)\n";
        before = "int64_t djs_result = 0;\n";
        after = "return djs_result;\n";
    } else {
        text_ += "#define STAP_RETURN(...) goto djs_done\n";
    }
    add(head, before, function.embedded, after, function.range);
    text_ += undo;
    return entry->second;
}

std::string EmbeddedCode::expression(const program::EmbeddedC& node) {
    auto [entry, added] = names_.try_emplace(&node, "djs_c_" + std::to_string(names_.size()));
    if (!added)
        return entry->second;
    if (node.type == Type::String)
        add("void " + entry->second + "(struct djs_ctx *ctx, char *djs_out)", "strscpy(djs_out, (",
            node.code + "\n), MAXSTRINGLEN)", "", node.range);
    else
        add("s64 " + entry->second + "(struct djs_ctx *ctx)", "int64_t djs_result = (int64_t)(",
            node.code + "\n)", "return djs_result;\n", node.range);
    return entry->second;
}

std::string EmbeddedCode::statement(const program::EmbeddedStatement& node) {
    auto [entry, added] = names_.try_emplace(&node, "djs_c_" + std::to_string(names_.size()));
    if (added)
        add("void " + entry->second + "(struct djs_ctx *ctx)", "", node.code, "", node.range);
    return entry->second;
}

std::string EmbeddedCode::source() const {
    if (text_.empty())
        return {};
    std::string out = "#define MAXSTRINGLEN " + std::to_string(string_bytes_) +
                      "\n#include \"include/embedded.h\"\n";
    for (const ast::EmbeddedBlock* block : program_.embedded)
        if (files_.count(block->range.file) || !sources_.file(block->range.file).is_library)
            out += line(block->range) + block->code + "\n";
    return out + text_;
}

// ---- calls
// -----------------------------------------------------------------------------------------

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

void Body::check_error_at(const std::string& what, SourceRange range) {
    auto *failed = block("failed"), *good = block("no_error");
    Value error = load_field(offsetof(djs_ctx, error), script_.types.pointer, "error");
    branch_unlikely(builder_.CreateIsNotNull(error), failed, good);
    begin(failed);
    builder_.CreateStore(script_.word(script_.place(what, range)),
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
                         node.range);
}

// A number, or `out`.
Value Body::call_embedded(const program::Function& function, const std::vector<Value>& arguments,
                          Value out, SourceRange range) {
    std::vector<Value> all{ctx_};
    std::vector<llvm::Type*> types{script_.types.pointer};
    if (out) {
        all.push_back(out);
        types.push_back(script_.types.pointer);
    }
    for (uint32_t i = 0; i < arguments.size(); i++) {
        // By the parameter's type: C has no other. A copy of a text, which the code may change.
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
    check_error_at("function '" + function.name + "'", range);
    if (function.embedded.find("STAP_NEXT") != std::string::npos)
        return after_next(function, arguments, out, is_number ? result : nullptr, range);
    return out ? out : is_number ? result : script_.number(0);
}

// Where the C code said STAP_NEXT, the next overload's value takes the place of its own.
Value Body::after_next(const program::Function& function, const std::vector<Value>& arguments,
                       Value out, Value result, SourceRange range) {
    auto *handed_on = block("handed_on"), *done = block("overload");
    auto* slot = entry_alloca(script_.types.i64, "overload");
    builder_.CreateStore(result ? result : script_.number(0), slot);
    Value mark = field(offsetof(djs_ctx, next_overload), "next_overload");
    branch_unlikely(builder_.CreateIsNotNull(builder_.CreateLoad(script_.types.i32, mark)),
                    handed_on, done);
    begin(handed_on);
    builder_.CreateStore(script_.word(0), mark);
    if (function.next_overload) {
        Value value = call_overload(*function.next_overload, arguments, out, range);
        if (result)
            builder_.CreateStore(value, slot);
        builder_.CreateBr(done);
    } else {
        fail("no further overload of '" + function.name + "' to go on with",
             "function '" + function.name + "'", range);
    }
    begin(done);
    return out ? out : static_cast<Value>(builder_.CreateLoad(script_.types.i64, slot));
}

Value Body::embedded_expression(const program::EmbeddedC& node) {
    const std::string name = script_.embedded().expression(node);
    Value result = nullptr;
    if (node.type == Type::String) {
        result = scratch_text();
        builder_.CreateStore(llvm::ConstantInt::get(script_.types.i8, 0), result);
        builder_.CreateCall(declare(script_, name, script_.types.void_type,
                                    {script_.types.pointer, script_.types.pointer}),
                            {ctx_, result});
    } else {
        result = builder_.CreateCall(
            declare(script_, name, script_.types.i64, {script_.types.pointer}), {ctx_});
    }
    check_error_at("embedded C", node.range);
    return result;
}

void Body::embedded_statement(const program::EmbeddedStatement& node) {
    builder_.CreateCall(declare(script_, script_.embedded().statement(node),
                                script_.types.void_type, {script_.types.pointer}),
                        {ctx_});
    check_error_at("embedded C", node.range);
}

} // namespace djstap::codegen
