// SPDX-License-Identifier: GPL-2.0-or-later
#include "codegen/body.h"

#include "codegen/lean.h"
#include "codegen/needs.h"
#include "codegen/stacks.h"
#include "semantics/walk.h"

#include "include/record.h"
#include "include/statistic.h"
#include "include/symbols.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

namespace djstap::codegen {

using program::ExpressionKind;
using program::FormatPiece;
using program::Type;

// Returns the script's format as one string, in the language of runtime/include/text.h.
Format Body::make_format(const std::vector<FormatPiece>& pieces,
                         const std::vector<Argument>& arguments) const {
    Format out;
    for (const FormatPiece& piece : pieces) {
        for (char c : piece.literal) {
            out.text += c;
            if (c == '%')
                out.text += '%';
        }
        if (!piece.conversion)
            continue;
        out.text += '%';
        if (piece.left)
            out.text += '-';
        if (piece.plus)
            out.text += '+';
        if (piece.space)
            out.text += ' ';
        if (piece.alternate)
            out.text += '#';
        if (piece.zero)
            out.text += '0';
        if (piece.width != -1)
            out.text += piece.width == -2 ? "*" : std::to_string(piece.width);
        if (piece.precision != -1)
            out.text += piece.precision == -2 ? ".*" : "." + std::to_string(piece.precision);
        out.text += piece.conversion;
    }
    for (const Argument& argument : arguments)
        out.types += argument.type;
    return out;
}

namespace {

// Returns whether an argument is a number of words that is known when it is evaluated.
bool has_words(char type) {
    return type == 'k' || djs_is_symbols(type);
}

} // namespace

// Copies a task's name, which is as long as in the record; returns the address after it.
Value Body::store_name(Value name, Value at) {
    for (unsigned i = 0; i < DJS_NAME_BYTES; i += 8) {
        auto half = [&](Value of) { return builder_.CreateConstGEP1_32(script_.types.i8, of, i); };
        builder_.CreateStore(builder_.CreateLoad(script_.types.i64, half(name), true), half(at));
    }
    return builder_.CreateConstGEP1_32(script_.types.i8, at, DJS_NAME_BYTES);
}

// Stores the arguments at `at` in the layout of records; returns the address after the last one.
Value Body::store_arguments(const std::vector<Argument>& arguments, Value at) {
    for (const Argument& argument : arguments) {
        if (argument.type == 'l') {
            builder_.CreateStore(argument.value, at);
            at = builder_.CreateConstGEP1_32(script_.types.i8, at, 8);
        } else if (argument.type == 's') {
            builder_.CreateStore(builder_.CreateTrunc(argument.length, script_.types.i32), at);
            Value bytes = builder_.CreateConstGEP1_32(script_.types.i8, at, 4);
            copy_known(bytes, argument.value, argument.length);
            Value size = builder_.CreateAnd(
                builder_.CreateAdd(argument.length, script_.number(4 + 7)), script_.number(~7));
            at = builder_.CreateGEP(script_.types.i8, at, size);
        } else if (argument.type == 'n') {
            at = store_name(argument.value, at);
        } else if (has_words(argument.type)) {
            builder_.CreateCall(script_.runtime("memcpy"), {at, argument.value, argument.length});
            at = builder_.CreateGEP(script_.types.i8, at, argument.length);
        } else {
            builder_.CreateCall(script_.runtime("djs_histogram_store"),
                                {at, argument.storage->shape, argument.value});
            at = builder_.CreateConstGEP1_32(script_.types.i8, at, argument.histogram_bytes);
        }
    }
    return at;
}

// Formats into `out` when it is executed. `room`: of it; 0: it is a string of the script.
void Body::text_format(const std::vector<FormatPiece>& pieces,
                       const std::vector<Argument>& arguments, Value out, uint32_t room) {
    uint32_t bytes = 0;
    for (const Argument& argument : arguments)
        bytes += argument.type == 'l'   ? 8
                 : argument.type == 'n' ? DJS_NAME_BYTES
                 : argument.type == 'k' ? script_.stack_bytes()
                 : argument.type == 's'
                     ? static_cast<uint32_t>(
                           DJS_ALIGN8(4 + (argument.room ? argument.room : script_.string_bytes())))
                     : argument.histogram_bytes;
    Value area = scratch(bytes);
    Value end = store_arguments(arguments, area);
    Value used = builder_.CreateSub(builder_.CreatePtrToInt(end, script_.types.i64),
                                    builder_.CreatePtrToInt(area, script_.types.i64));
    Format format = make_format(pieces, arguments);
    builder_.CreateCall(script_.runtime("djs_format"),
                        {out, script_.number(room ? room : script_.string_bytes()),
                         script_.text(format.text), script_.text(format.types), area, used});
}

// Reports a record that is always longer than what any session of the script keeps.
bool Body::check_record(uint64_t bytes, SourceRange range) {
    const CodegenOptions& options = script_.options;
    if (bytes <= options.longest_record)
        return true;
    script_.diagnostics
        .report(DiagnosticKind::RecordTooLong, range,
                {std::to_string(bytes), options.recorder ? "a flight recorder" : "a CPU's buffer",
                 std::to_string(options.longest_record)})
        .hint(options.recorder ? "print less at once, or use a histogram with fewer buckets"
                               : "use larger buffers (-s), or print less at once");
    return false;
}

// Returns pid() or tid() as a call in the script would.
Value Body::task_number(const std::string& intrinsic) {
    if (!run_contexts_.task)
        if (Value value = inline_intrinsic(script_, builder_, intrinsic))
            return value;
    return builder_.CreateCall(script_.runtime("djs_fn_" + intrinsic), {ctx_});
}

Body::EventFields Body::task_fields() {
    EventFields fields;
    if (script_.records(DJS_EVENT_PID))
        fields.pid = task_number("pid");
    if (script_.records(DJS_EVENT_TID))
        fields.tid = task_number("tid");
    return fields;
}

// Returns the value of DJS_EVENT_PROBE; null if it is not recorded.
Value Body::hit_site() {
    if (!script_.records(DJS_EVENT_PROBE))
        return nullptr;
    if (hit_.site_number)
        return hit_.site_number();
    return script_.site_number(builder_,
                               load_field(offsetof(djs_ctx, site), script_.types.pointer, "site"));
}

void Body::store_fields(const EventFields& fields, Value record) {
    auto store = [&](Value value, size_t offset) {
        const auto at = static_cast<unsigned>(sizeof(djs_record) + offset);
        builder_.CreateStore(value, builder_.CreateConstGEP1_32(script_.types.i8, record, at));
    };
    if (fields.pid)
        store(builder_.CreateTrunc(fields.pid, script_.types.i32), offsetof(djs_event_task, pid));
    if (fields.tid)
        store(builder_.CreateTrunc(fields.tid, script_.types.i32), offsetof(djs_event_task, tid));
    if (fields.site)
        store(fields.site,
              script_.bytes_before_arguments() - sizeof(djs_record) - sizeof(uint64_t));
}

// A handler that runs in a task of its own acts for another one, whose name the runtime knows.
bool Body::is_own_name(const program::Expression& node) const {
    return is_task_name(script_, node) && !run_contexts_.task;
}

// In a handler that needs no context no argument needs a call: they are computed
// after the record is reserved, directly into it, unless that can fail.
Value Body::print_lean(const program::Print& node) {
    std::vector<Argument> arguments;
    uint32_t bytes = script_.bytes_before_arguments();
    bool can_fail = false;
    for (const auto& expression : node.arguments) {
        arguments.push_back({is_task_name(script_, *expression) ? 'n' : 'l'});
        bytes += arguments.back().type == 'n' ? DJS_NAME_BYTES : 8;
        can_fail |= may_fault(*hit_.accesses, *expression);
    }
    if (!check_record(bytes, node.range))
        return script_.number(0);
    auto evaluate = [&](size_t i) {
        return arguments[i].type == 'n' ? task_name(script_, builder_) : number(*node.arguments[i]);
    };
    for (size_t i = 0; can_fail && i < arguments.size(); i++)
        arguments[i].value = evaluate(i);
    LeanRecorder recorder(script_, builder_, function_);
    auto* after = block("printed");
    Value site = hit_site(); // may be a call
    Value record =
        recorder.reserve(script_.format(make_format(node.format, arguments)), bytes, after);
    EventFields fields = task_fields();
    fields.site = site;
    store_fields(fields, record);
    Value at =
        builder_.CreateConstGEP1_32(script_.types.i8, record, script_.bytes_before_arguments());
    for (size_t i = 0; i < arguments.size(); i++) {
        if (!can_fail)
            arguments[i].value = evaluate(i);
        at = store_arguments({arguments[i]}, at);
    }
    recorder.commit(record, bytes);
    builder_.CreateBr(after);
    begin(after);
    return script_.number(0);
}

// %m and %M: the memory at the address, as a string of arbitrary bytes. `precision`: the number of
// bytes, if an argument gives it; at least one.
Body::Argument Body::memory_argument(const FormatPiece& piece, Value address, AddressSpace space,
                                     Value precision, SourceRange range) {
    const int64_t most = script_.string_bytes() - 1;
    Argument argument{'s'};
    argument.length = script_.number(std::min<int64_t>(piece.size, most));
    if (precision)
        argument.length = builder_.CreateBinaryIntrinsic(
            llvm::Intrinsic::smin,
            builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, precision, script_.number(1)),
            script_.number(most));
    argument.value = scratch_text();
    auto* place = script_.u32(script_.place(std::string("conversion %") + piece.conversion, range));
    builder_.CreateCall(script_.runtime("djs_copy_memory"),
                        {ctx_, argument.value, address, argument.length,
                         script_.u32(space == AddressSpace::User), place});
    check_error();
    return argument;
}

// Returns where an address points to that is computed from target values: a program chooses what
// its own contain, and is to have nothing printed but its own memory.
AddressSpace Body::space_of(program::Expression& address) {
    auto space = AddressSpace::Kernel;
    program::walk_expressions(address, [&](program::Expression& each) {
        const TargetAccess* found = find_access(each);
        if (found && found->value.space == AddressSpace::User)
            space = AddressSpace::User;
    });
    return space;
}

// Replaces the addresses in the arguments of %m and %M by their memory.
void Body::read_memory(const program::Print& node, std::vector<Argument>& arguments) {
    size_t next = 0;
    for (const FormatPiece& piece : node.format) {
        if (!piece.conversion)
            continue;
        next += piece.width == -2;
        Value precision = piece.precision == -2 ? arguments[next++].value : nullptr;
        const size_t index = next++;
        Argument& shown = arguments[index];
        if (piece.conversion == 'm' || piece.conversion == 'M')
            shown = memory_argument(piece, shown.value, space_of(*node.arguments[index]), precision,
                                    node.range);
    }
}

Value Body::print(const program::Print& node, Value to) {
    if (!ctx_)
        return print_lean(node);
    std::vector<Argument> arguments;
    for (size_t i = 0; i < node.arguments.size(); i++) {
        const program::ExpressionPtr& expression = node.arguments[i];
        Argument argument{'l'};
        if (expression->kind == ExpressionKind::HistogramText) {
            const auto& histogram = program::as<program::HistogramText>(*expression);
            const auto& place = program::as<program::GlobalValue>(*histogram.place);
            argument.type = 'h';
            argument.storage = &script_.storage(*place.global);
            argument.value = statistic_address(place);
            fail_if_empty(argument.value, expression->range);
            auto* buckets = argument.storage->shape->getInitializer()->getAggregateElement(1u);
            argument.histogram_bytes =
                static_cast<uint32_t>(sizeof(djs_histogram_header) +
                                      8 * llvm::cast<llvm::ConstantInt>(buckets)->getZExtValue());
        } else if (is_own_name(*expression)) {
            argument.type = 'n';
            argument.value = task_name(script_, builder_);
        } else if (!node.to_string && symbols_of(*expression)) {
            argument = symbols_argument(*expression);
        } else if (expression->type == Type::Stack) {
            argument.type = 'k';
            argument.value = stack(*expression);
            Value words = builder_.CreateAdd(builder_.CreateLoad(script_.types.i64, argument.value),
                                             script_.number(1));
            argument.length = builder_.CreateShl(words, 3);
        } else if (expression->type == Type::String) {
            argument.type = 's';
            argument.value = text_in_place(*expression, behind(node.arguments, i));
        } else {
            argument.value = number(*expression);
        }
        arguments.push_back(argument);
    }
    read_memory(node, arguments);
    uint32_t fixed_bytes = node.to_string ? 0 : script_.bytes_before_arguments();
    uint64_t min_bytes = 0; // of the strings
    Value bytes = nullptr;
    for (Argument& argument : arguments) {
        if (argument.type == 's') {
            if (!argument.length)
                argument.length = length_of(argument.value);
            Value size = builder_.CreateAnd(
                builder_.CreateAdd(argument.length, script_.number(4 + 7)), script_.number(~7));
            bytes = bytes ? builder_.CreateAdd(bytes, size) : size;
            min_bytes += DJS_ALIGN8(sizeof(uint32_t));
        } else if (has_words(argument.type)) {
            bytes = bytes ? builder_.CreateAdd(bytes, argument.length) : argument.length;
            min_bytes += sizeof(uint64_t);
        } else {
            fixed_bytes += argument.type == 'l'   ? 8
                           : argument.type == 'n' ? DJS_NAME_BYTES
                                                  : argument.histogram_bytes;
        }
    }
    if (node.to_string) {
        Value out = to ? to : scratch_text();
        text_format(node.format, arguments, out);
        return out;
    }
    if (!check_record(fixed_bytes + min_bytes, node.range))
        return script_.number(0);
    Value size = script_.u32(fixed_bytes);
    if (bytes)
        size = builder_.CreateAdd(builder_.CreateTrunc(bytes, script_.types.i32), size);
    Format format = make_format(node.format, arguments);
    format.shows = node.shows;
    format.keys = node.keys;
    format.in_snapshot = node.in_snapshot;
    uint32_t id = script_.format(format);
    EventFields fields = task_fields();
    fields.site = hit_site();
    Value record = builder_.CreateCall(script_.runtime("djs_reserve"),
                                       {ctx_, script_.u32(id), size}, "record");
    auto *store = block("store"), *after = block("printed");
    builder_.CreateCondBr(builder_.CreateIsNotNull(record), store, after);
    begin(store);
    store_fields(fields, record);
    store_arguments(arguments, builder_.CreateConstGEP1_32(script_.types.i8, record,
                                                           script_.bytes_before_arguments()));
    builder_.CreateCall(script_.runtime("djs_commit"), {ctx_, record, size});
    builder_.CreateBr(after);
    begin(after);
    return script_.number(0);
}

} // namespace djstap::codegen
