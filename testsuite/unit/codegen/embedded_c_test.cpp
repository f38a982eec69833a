// SPDX-License-Identifier: GPL-2.0-or-later
// C code in a script, compiled and executed with the handlers that call it: what it is given and
// returns, however it ends, and the global variables that it reads and writes. The header that it
// includes is one of the test's own.
#include "loaded_script.h"

#include "include/map.h"
#include "include/script.h"
#include "include/text.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace djstap {
namespace {

constexpr const char* const header = R"(
#include "include/script.h"
#define DJS_EMBEDDED __attribute__((__noinline__, __used__))
#define DJS_EMBEDDED_CALL struct djs_ctx *djs_called __attribute__((__unused__)) = djs_context
#define DJS_EMBEDDED_BODY static inline __attribute__((__always_inline__))
#define STAP_VERSION(major, minor) (((major) << 8) + (minor))
#define STAP_ERROR(text) do { djs_context->error = (text); goto djs_done; } while (0)
#define STAP_NEXT do { djs_context->next_overload = 1; goto djs_done; } while (0)
#define DJS_EMBEDDED_FAILED() djs_context->error = "a fault"
#define DJS_EMBEDDED_FAULT DJS_EMBEDDED_FAILED
static inline void strscpy(char *to, const char *from, int size)
{
	while (--size > 0 && *from)
		*to++ = *from++;
	*to = 0;
}
)";

class CodeInC : public LoadedScript {
  public: // for the functions of the kernel
    static inline CodeInC* test_ = nullptr;
    djs_ctx ctx_ = {};

  protected:
    static constexpr uint32_t string_bytes = 64;

    void SetUp() override {
        test_ = this;
        LoadedScript::SetUp();
        if (HasFatalFailure())
            return;
        script_.options.limits.MAXSTRINGLEN = string_bytes;
        ctx_.scratch = code_.variable("scratch", 65536);
        code_.function("djs_text_copy", djs_text_copy);
        code_.function("djs_text_concat", djs_text_concat);
        code_.function("djs_text_compare", djs_text_compare);
        code_.function("djs_map_find", djs_map_find);
        code_.function("djs_map_insert", djs_map_insert);
        code_.function("djs_map_insert_slot", djs_map_insert_slot);
        code_.function(
            "djs_fail", +[](djs_ctx* ctx, const char* message, uint32_t place) {
                ctx->error = message;
                ctx->error_place = place;
            });
        code_.function("djs_format", +[](char* out) { std::strcpy(out, "abc"); });
        code_.function(
            "djs_counter_read",
            +[](uint32_t number) { return (&test_->code_.as<int64_t>("djs_counters"))[number]; });
    }
    // Compiles the script and its C code, and loads them as one object.
    void load(const std::string& text) {
        const auto object = script_.compile(text);
        ASSERT_TRUE(object);
        ASSERT_NE(object->c_source, "");
        const test::Folder folder;
        folder.write("include/embedded.h", header);
        folder.write("script.c", object->c_source);
        folder.write("script.o", object->object);
        const std::string command =
            "cd " + folder.path +
            " && gcc -c -O1 -w -mcmodel=kernel "
            "-fno-pic -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables "
            "-I. -I " DJSTAP_SOURCE_DIR "/runtime -I " DJSTAP_SOURCE_DIR
            "/runtime/userspace/include script.c -o c.o && ld -r script.o c.o -o all.o";
        ASSERT_EQ(system(command.c_str()), 0) << object->c_source;
        const auto all = read_file(folder.path + "/all.o");
        ASSERT_TRUE(all);
        meta_ = object->meta;
        load_object(*all);
    }
    // Runs a handler; returns its error, or an empty string.
    std::string run(unsigned handler = 0) {
        ctx_.error = nullptr;
        ctx_.actions = 1000;
        ctx_.embedded_used = 77; // of another run
        using Body = void(djs_ctx*);
        reinterpret_cast<Body*>(code_.at("djs_body_" + std::to_string(handler)))(&ctx_);
        EXPECT_EQ(ctx_.nesting, 0u);
        EXPECT_EQ(ctx_.next_overload, 0u);
        EXPECT_EQ(ctx_.embedded_used, 0u);
        return ctx_.error ? ctx_.error : "";
    }
    std::string text(const std::string& name) { return code_.at("djs_global_" + name); }
    djs_map* make_map(const std::string& array, std::vector<djs_type> keys, djs_type value,
                      uint32_t capacity = 8) {
        djs_map_shape shape = {};
        shape.key_count = static_cast<uint8_t>(keys.size());
        shape.value_type = static_cast<uint8_t>(value);
        for (size_t i = 0; i < keys.size(); i++)
            shape.key_types[i] = static_cast<uint8_t>(keys[i]);
        shape.capacity = capacity;
        shape.string_bytes = string_bytes;
        char* const memory = code_.variable("map of " + array, djs_map_bytes(&shape));
        return code_.as<djs_map*>("djs_global_" + array) = djs_map_init(memory, &shape, 12345);
    }

    std::string meta_;
};

} // namespace

TEST_F(CodeInC, FunctionsReturnHoweverTheyEnd) {
    load(R"(
%{
static long seen;
static int twice(int n) { return 2 * n; }
%}
function valued:long(n:long) %{ STAP_RETVALUE = twice(STAP_ARG_n); %}
function returned:long(n:long) %{ if (STAP_ARG_n > 3) STAP_RETURN(7); STAP_RETVALUE = 1; %}
function plain:long(n:long) %{ STAP_RETVALUE = 5; if (STAP_ARG_n) return; STAP_RETVALUE = 6; %}
function to_out:long(n:long) %{ STAP_RETVALUE = 1; if (STAP_ARG_n) goto out; STAP_RETVALUE = 2; %}
function own_out:long(n:long) %{
    STAP_RETVALUE = 1;
    if (STAP_ARG_n) goto out;
    STAP_RETVALUE = 2;
out:
    STAP_RETVALUE += 10;
%}
function labelled:long() %{ __label__ here; goto here; STAP_RETVALUE = 1; here: STAP_RETVALUE += 4; %}
function unset:long() %{ %}
function sees(n:long) %{ if (STAP_ARG_n > 8) STAP_RETURN(); seen = STAP_ARG_n; %}
function seen:long() %{ STAP_RETVALUE = seen; %}
global a, b, c, d, e, f, g, h, i, j, k, l
probe timer.s(1) {
    a = valued(21); b = returned(3); c = returned(4); d = plain(0); e = plain(1)
    f = to_out(0); g = to_out(1); h = own_out(0); i = own_out(1); j = labelled(); k = unset()
    sees(8); sees(9); l = seen()
}
probe end { println(a, b, c, d, e, f, g, h, i, j, k, l) }
)");
    EXPECT_EQ(run(), "");
    std::string found;
    for (const char* const name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"})
        found += std::to_string(number(name)) + " ";
    EXPECT_EQ(found, "42 1 7 6 5 2 1 12 11 4 0 8 ");
}

// The code gets copies of strings.
TEST_F(CodeInC, TextsAreCopies) {
    load(R"(
function shifted:string(s:string, n:long) %{ STAP_ARG_s[0] += STAP_ARG_n; strscpy(STAP_RETVALUE, STAP_ARG_s, MAXSTRINGLEN); %}
function returned:string(n:long) %{ if (STAP_ARG_n) STAP_RETURN("returned"); %}
function first:long(s:string) %{ STAP_RETVALUE = STAP_ARG_s[0]; STAP_ARG_s[0] = '!'; %}
function to_out:string(s:string) %{ strscpy(STAP_RETVALUE, STAP_ARG_s, 4); goto out; %}
global s, t, u, v, w, n
probe timer.s(1) {
    s = sprintf("%s", "abc"); n = first(s); t = shifted(s, 2); u = returned(1); v = returned(0) . "none"
    w = to_out("longer")
}
probe end { println(s, t, u, v, w, n) }
)");
    EXPECT_EQ(run(), "");
    EXPECT_EQ(text("s"), "abc");
    EXPECT_EQ(text("t"), "cbc");
    EXPECT_EQ(text("u"), "returned");
    EXPECT_EQ(text("v"), "none");
    EXPECT_EQ(text("w"), "lon");
    EXPECT_EQ(number("n"), 'a');
}

// SystemTap's older way: the parameters and the result are members of THIS.
TEST_F(CodeInC, OlderCodeHasThis) {
    load(R"(
function old:long(n:long, s:string) %{ /* unmangled */ THIS->__retvalue = THIS->n + THIS->s[0]; %}
function mixed:long(n:long) %{ /* unmangled */ STAP_RETVALUE = STAP_ARG_n + THIS->n; return; %}
function ends:long(n:long) %{ /* unmangled */ if (THIS->n) STAP_RETURN(8); THIS->__retvalue = 9; goto out; %}
function text:string(s:string) %{ /* unmangled */ strscpy(THIS->__retvalue, THIS->s, MAXSTRINGLEN); THIS->s[0] = '!'; %}
function other:string() %{ /* unmangled */ STAP_RETVALUE[0] = 'o'; STAP_RETVALUE[1] = 0; %}
global a, b, c, d, t, u, kept = "kept"
probe timer.s(1) { a = old(1, "A"); b = mixed(4); c = ends(0); d = ends(1); t = text(kept); u = other() }
probe timer.s(2) { kept = "x" }
probe end { println(a, b, c, d, t, u, kept) }
)");
    EXPECT_EQ(run(), "");
    EXPECT_EQ(number("a"), 66);
    EXPECT_EQ(number("b"), 8);
    EXPECT_EQ(number("c"), 9);
    EXPECT_EQ(number("d"), 8);
    EXPECT_EQ(text("t"), "kept");
    EXPECT_EQ(text("u"), "o");
    EXPECT_EQ(text("kept"), "kept");
}

// Expressions and statements name the parameters of the function around them.
TEST_F(CodeInC, IsAnExpressionOrAStatement) {
    load(R"(
function sum(n:long, m:long) { n++; return %{ STAP_ARG_n * 100 + STAP_ARG_m %} }
function joined:string(s:string, n:long) {
    %{ STAP_ARG_s[0] = '!'; if (STAP_ARG_n > 2) STAP_ERROR("too many"); %}
    return %{ /* string */ STAP_ARG_n ? STAP_ARG_s : "none" %}
}
global a, b, t, u, e
probe timer.s(1) {
    a = sum(2, 5); b = %{ 5 + 3 %} * 2; t = joined("ab", 1); u = joined("ab", 0)
    try { t = joined("x", 3) } catch (why) { e = why }
}
probe timer.s(2) { a = 1; %{ STAP_ERROR("a statement"); %} a = 2 }
probe timer.s(3) { b = 1; b = %{ ({ STAP_ERROR("a number"); 1; }) %} + 1 }
probe end { println(a, b, t, u, e) }
)");
    EXPECT_EQ(run(), "");
    EXPECT_EQ(number("a"), 305);
    EXPECT_EQ(number("b"), 16);
    EXPECT_EQ(text("t"), "ab");
    EXPECT_EQ(text("u"), "none");
    EXPECT_EQ(text("e"), "too many");
    EXPECT_EQ(run(1), "a statement");
    EXPECT_EQ(number("a"), 1);
    EXPECT_EQ(run(2), "a number");
    EXPECT_EQ(number("b"), 1);
}

TEST_F(CodeInC, OverloadsFollowEachOther) {
    load(R"(
function kind:string(n:long) %{ if (STAP_ARG_n > 2) STAP_NEXT; STAP_RETURN("C, first"); %}
function kind:string(n:long) { if (n > 4) next; return "language" }
function kind:string(n:long) %{ if (STAP_ARG_n > 6) STAP_NEXT; STAP_RETURN("C, last"); %}
function number:long(n:long) { if (n > 1) next; return 1 }
function number:long(n:long) %{ STAP_RETURN(STAP_ARG_n * 10); %}
function both:long(n:long) %{ if (STAP_ARG_n > 1) STAP_NEXT; STAP_RETVALUE = 3; %}
function both:long(n:long) %{ STAP_RETVALUE = 100 + STAP_ARG_n; %}
global s, t, u, a, b, c, d
probe timer.s(1) { s = kind(1); t = kind(3); u = kind(5); a = number(1); b = number(2); c = both(1); d = both(2) }
probe timer.s(2) { a = 5; s = kind(7); a = 6 }
probe end { println(s, t, u, a, b, c, d) }
)");
    EXPECT_EQ(run(), "");
    EXPECT_EQ(text("s"), "C, first");
    EXPECT_EQ(text("t"), "language");
    EXPECT_EQ(text("u"), "C, last");
    EXPECT_EQ(number("a"), 1);
    EXPECT_EQ(number("b"), 20);
    EXPECT_EQ(number("c"), 3);
    EXPECT_EQ(number("d"), 102);
    EXPECT_EQ(run(1), "all functions exhausted");
    EXPECT_EQ(number("a"), 5);
}

// What fails in C code is told with the place of the call.
TEST_F(CodeInC, ErrorsNameTheCall) {
    load(R"(
function fails:long(n:long) %{ if (STAP_ARG_n) STAP_ERROR("wrong"); STAP_RETVALUE = 2; %}
function faults:long(n:long) %{ STAP_RETVALUE = 1; if (STAP_ARG_n) DJS_EMBEDDED_FAULT(); %}
function catches:long(n:long) %{
    STAP_RETVALUE = 1;
    if (STAP_ARG_n) DJS_EMBEDDED_FAULT();
    goto djs_done;
deref_fault:
    STAP_RETVALUE = 9;
%}
function again:long(n:long) %{ STAP_RETVALUE = 1; if (STAP_ARG_n) DJS_EMBEDDED_FAULT(); %}
global a, b
probe timer.s(1) { a = catches(0); b = catches(1) }
probe timer.s(2) { a = fails(0); b = fails(1); a = 7 }
probe timer.s(3) { b = 5; b = faults(1) }
probe timer.s(4) { b = 6; b = again(1) }
probe end { println(a, b) }
)");
    const auto places = nlohmann::json::parse(meta_)["places"];
    EXPECT_EQ(run(0), "");
    EXPECT_EQ(number("a"), 1);
    EXPECT_EQ(number("b"), 9);
    EXPECT_EQ(run(1), "wrong");
    EXPECT_EQ(number("a"), 2);
    EXPECT_EQ(places.at(ctx_.error_place), "identifier 'fails' at input:14:38");
    EXPECT_EQ(run(2), "a fault");
    EXPECT_EQ(number("b"), 5);
    EXPECT_EQ(places.at(ctx_.error_place), "identifier 'faults' at input:15:31");
    EXPECT_EQ(run(3), "a fault");
    EXPECT_EQ(number("b"), 6);
}

TEST_F(CodeInC, GlobalsOfEachKind) {
    load(R"(
function work(key:long, name:string) %{ /* pragma:read:n */ /* pragma:write:n */ /* pragma:read:t */ /* pragma:write:t */
    /* pragma:read:a */ /* pragma:write:a */ /* pragma:read:p */ /* pragma:write:p */ /* pragma:read:s */ /* pragma:write:s */
    /* pragma:read:k */ /* pragma:read:l */ /* pragma:read:c */
    STAP_GLOBAL_SET_n(STAP_GLOBAL_GET_n() + STAP_GLOBAL_GET_k() + STAP_GLOBAL_GET_l()[1] + STAP_GLOBAL_GET_c());
    STAP_GLOBAL_SET_s("was", STAP_GLOBAL_GET_t());
    STAP_GLOBAL_SET_t(STAP_ARG_name);
    STAP_GLOBAL_SET_a(STAP_ARG_key, STAP_GLOBAL_GET_a(STAP_ARG_key) + 5);
    STAP_GLOBAL_SET_a(STAP_ARG_key + 1, -5);
    STAP_GLOBAL_SET_p(STAP_ARG_key, "x", STAP_GLOBAL_GET_p(STAP_ARG_key, "x") + STAP_GLOBAL_GET_p(STAP_ARG_key, "y") + 2);
    STAP_GLOBAL_SET_s("none", STAP_GLOBAL_GET_s("there is none"));
%}
global n, t = "begin", a, p, s, k = 1000, l = "abc", c = 500
probe timer.s(1) { work(7, "name") }
probe timer.s(2) { c++; n = 1; t = "x"; a[1] = 1; p[1, "z"] = 1; s["z"] = "z"; println(k, l) }
probe end { println(n, t, a[1], p[1, "x"], s["x"], c) }
)");
    djs_map* const a = make_map("a", {DJS_LONG}, DJS_LONG);
    djs_map* const p = make_map("p", {DJS_LONG, DJS_STRING}, DJS_LONG);
    djs_map* const s = make_map("s", {DJS_STRING}, DJS_STRING);
    code_.as<int64_t>("djs_counters") = 3;
    number("n") = 20000;
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(run(), "");
    EXPECT_EQ(number("n"), 20000 + 2 * (1000 + 'b' + 503));
    EXPECT_EQ(text("t"), "name");
    EXPECT_EQ(*static_cast<int64_t*>(djs_map_find_slot(a, 7)), 10);
    EXPECT_EQ(*static_cast<int64_t*>(djs_map_find_slot(a, 8)), -5) << "not passed as an int";
    djs_value keys[2] = {};
    keys[0].number = 7;
    keys[1].text = "x";
    EXPECT_EQ(*static_cast<int64_t*>(djs_map_find(p, keys)), 4);
    keys[1].text = "y";
    EXPECT_EQ(djs_map_find(p, keys), nullptr); // what is only read is not there
    keys[0].text = "was";
    EXPECT_STREQ(static_cast<char*>(djs_map_find(s, keys)), "name");
    keys[0].text = "none";
    EXPECT_STREQ(static_cast<char*>(djs_map_find(s, keys)), "");
}

TEST_F(CodeInC, AnArrayMayBeFull) {
    load(R"(
function fill() %{ /* pragma:write:few */
    STAP_GLOBAL_SET_few("a", 1);
    STAP_GLOBAL_SET_few("b", 2);
    STAP_GLOBAL_SET_few("c", 3);
%}
global few[2]
probe timer.s(1) { fill() }
probe timer.s(2) { few["z"] = 1 }
probe end { println(few["x"]) }
)");
    djs_map* const few = make_map("few", {DJS_STRING}, DJS_LONG, 2);
    EXPECT_EQ(run(), "Array overflow, check size limit (2)");
    EXPECT_EQ(djs_map_count(few), 2u);
}

// Blocks come in their order, before all functions or behind them; the code knows for which version
// of the language the script is written.
TEST_F(CodeInC, BlocksAreWhereTheyShouldBe) {
    script_.version = "4.8";
    load(R"(
%{ /* pragma:suffix */
#undef BASE
%}
%{
#define BASE 5
%}
%{ static int base = BASE + 1; %}
function f:long() %{ STAP_RETVALUE = BASE * 100 + base; %}
function version:long() %{ STAP_RETVALUE = STAP_COMPAT_VERSION; %}
function room:long() %{ STAP_RETVALUE = MAXSTRINGLEN; %}
global a, b, c
probe timer.s(1) { a = f(); b = version(); c = room() }
probe end { println(a, b, c) }
)");
    EXPECT_EQ(run(), "");
    EXPECT_EQ(number("a"), 506);
    EXPECT_EQ(number("b"), 4 * 256 + 8);
    EXPECT_EQ(number("c"), string_bytes);
}

// A global variable's macros end with the code that declares it: other code may mean another one of
// the same name.
TEST_F(CodeInC, MacrosOfGlobalsEndWithTheirCode) {
    for (const char* code :
         {"function f:long() %{ /* pragma:read:n */ STAP_RETVALUE = STAP_GLOBAL_GET_n(); %}\n"
          "probe timer.s(1) { println(f()) }",
          "probe timer.s(1) { println(%{ /* pragma:read:n */ STAP_GLOBAL_GET_n() %}) }",
          "probe timer.s(1) { %{ /* pragma:read:n */ (void)STAP_GLOBAL_GET_n(); %} }"}) {
        const auto object = script_.compile("global n = 1\n" + std::string(code));
        ASSERT_TRUE(object) << code;
        const std::string& c = object->c_source;
        const size_t defined = c.find("#define STAP_GLOBAL_GET_n("),
                     used = c.find("STAP_GLOBAL_GET_n()"),
                     undefined = c.find("#undef STAP_GLOBAL_GET_n\n");
        EXPECT_TRUE(defined < used && used < undefined && undefined != std::string::npos) << c;
    }
}

TEST_F(CodeInC, AVersionMayBeOneNumber) {
    script_.version = "5";
    load("function version:long() %{ STAP_RETVALUE = STAP_COMPAT_VERSION; %}\n"
         "global n\nprobe timer.s(1) { n = version() }\nprobe end { println(n) }");
    EXPECT_EQ(run(), "");
    EXPECT_EQ(number("n"), 5 * 256);
}

TEST_F(CodeInC, VersionsAreDecimal) {
    script_.version = "5.12";
    load("function version:long() %{ STAP_RETVALUE = STAP_COMPAT_VERSION; %}\n"
         "global n\nprobe timer.s(1) { n = version() }\nprobe end { println(n) }");
    EXPECT_EQ(run(), "");
    EXPECT_EQ(number("n"), 5 * 256 + 12);
}

// What the compiler says of C code names the script's file, whatever its name is.
TEST_F(Generate, CNamesTheFileOfTheScript) {
    const std::string text = "function f:long() %{ STAP_RETVALUE = 1; %}\n";
    const uint32_t file = sources_.add("a \"quoted\" \\ name.stp", "\n\n" + text);
    auto function = std::make_unique<Function>();
    function->name = "f";
    function->return_type = Type::Long;
    function->embedded = " STAP_RETVALUE = 1; ";
    function->embedded_range = {file, static_cast<uint32_t>(2 + text.find("%{")),
                                static_cast<uint32_t>(2 + text.find("%}") + 2)};
    auto call = std::make_unique<Call>();
    call->function = function.get();
    call->type = Type::Long;
    program_.functions.push_back(std::move(function));
    std::vector<StatementPtr> body;
    body.push_back(evaluate(std::move(call)));
    probe(std::move(body));
    const auto object = generate();
    ASSERT_TRUE(object) << render_all(diagnostics_);
    EXPECT_NE(object->c_source.find("\n#line 3 \"a \\\"quoted\\\" \\\\ name.stp\"\n"),
              std::string::npos)
        << object->c_source;
}

} // namespace djstap
