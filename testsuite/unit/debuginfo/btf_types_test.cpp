// SPDX-License-Identifier: GPL-2.0-or-later
// What BTF of some types means, as Documentation/bpf/btf.rst of the kernel describes it; and what
// is known of a kernel that has nothing else.
#include "debuginfo/btf_info.h"
#include "kernels.h"
#include "made_btf.h"
#include "made_kernel.h"

#include <algorithm>

namespace djstap {
namespace {

constexpr uint32_t is_signed_int = 1u << 24, is_char_int = 2u << 24, is_bool_int = 4u << 24;

// Adds types and remembers the number of the last one.
struct NumberedTypes : BtfBuilder {
    uint32_t add(std::string_view text, BtfKind kind, uint32_t count, uint32_t size_or_type,
                 std::initializer_list<uint32_t> more = {}, bool flag = false) {
        type(text, kind, count, size_or_type, flag);
        words(more);
        return ++last;
    }
    uint32_t integer(std::string_view text, uint32_t bytes, uint32_t encoding, uint32_t bits) {
        return add(text, BtfKind::Int, 0, bytes, {encoding | bits});
    }
    uint32_t last = 0;
};

std::string written(const Btf& btf, TypeId id) {
    return write_type(id, [&](TypeId each) { return btf.step(each); });
}

TEST(BtfTypes, BasicOnes) {
    NumberedTypes t;
    const uint32_t number = t.integer("int", 4, is_signed_int, 32);
    const uint32_t letter = t.integer("unsigned char", 1, is_char_int, 8);
    const uint32_t truth = t.integer("_Bool", 1, is_bool_int, 8);
    const uint32_t wide = t.integer("long unsigned int", 8, 0, 64);
    const uint32_t real = t.add("double", BtfKind::Float, 0, 8);
    const uint32_t pointer = t.add("", BtfKind::Ptr, 0, letter);
    const uint32_t signs =
        t.add("signs", BtfKind::Enum, 2, 4, {t.name("PLUS"), 1, t.name("MINUS"), 0xffffffff}, true);
    const uint32_t plain = t.add("plain", BtfKind::Enum, 1, 4, {t.name("TOP"), 0xffffffff});
    const uint32_t large = t.add("large", BtfKind::Enum64, 1, 8, {t.name("HUGE"), 5, 2}, false);
    const uint32_t call = t.add("", BtfKind::FuncProto, 0, number);
    const std::string bytes = t.finish();
    const auto btf = Btf::parse(bytes);
    ASSERT_TRUE(btf);
    EXPECT_EQ(btf->size(), 11u); // and void
    const auto expect = [&](uint32_t id, CTypeKind kind, uint64_t size, bool is_signed) {
        const CType type = btf->resolve(id);
        EXPECT_EQ(type.kind, kind) << id;
        EXPECT_EQ(type.size, size) << id;
        EXPECT_EQ(type.is_signed, is_signed) << id;
    };
    expect(number, CTypeKind::Integer, 4, true);
    expect(letter, CTypeKind::Char, 1, false);
    expect(truth, CTypeKind::Bool, 1, false);
    expect(wide, CTypeKind::Integer, 8, false);
    expect(real, CTypeKind::Float, 8, false);
    expect(pointer, CTypeKind::Pointer, 8, false);
    expect(signs, CTypeKind::Enum, 4, true);
    expect(plain, CTypeKind::Enum, 4, false);
    expect(large, CTypeKind::Enum, 8, false);
    expect(0, CTypeKind::Void, 0, false);
    expect(11, CTypeKind::Unknown, 0, false);
    EXPECT_EQ(btf->resolve(10).kind, CTypeKind::Function);
    EXPECT_EQ(btf->resolve(call).base_type, number);
    EXPECT_EQ(btf->resolve(pointer).base_type, letter);
    EXPECT_EQ(btf->resolve(number).name, "int");
    // The numbers of the enumerators, wherever they are.
    EXPECT_EQ(btf->enumerator("MINUS"), std::optional<int64_t>(-1));
    EXPECT_EQ(btf->enumerator("TOP"), std::optional<int64_t>(0xffffffff));
    EXPECT_EQ(btf->enumerator("HUGE"), std::optional<int64_t>(int64_t{2} << 32 | 5));
    EXPECT_EQ(btf->enumerator("NONE"), std::nullopt);
    EXPECT_EQ(btf->enumerator_names(), (std::vector<std::string>{"PLUS", "MINUS", "TOP", "HUGE"}));
    EXPECT_EQ(btf->type_names(),
              (std::vector<std::string_view>{"int", "unsigned char", "_Bool", "long unsigned int",
                                             "signs", "plain", "large"}));
    // A pointer around a type that no other one points to.
    const TypeId around = btf->by_declaration("int *");
    EXPECT_EQ(btf->resolve(around).kind, CTypeKind::Pointer);
    EXPECT_EQ(btf->resolve(around).size, 8u);
    EXPECT_EQ(btf->resolve(around).base_type, number);
    EXPECT_TRUE(btf->members(around).empty());
    EXPECT_TRUE(btf->enumerators(around).empty());
    EXPECT_TRUE(btf->members(number).empty());
    EXPECT_TRUE(btf->enumerators(number).empty());
}

// Bit fields of before there was kind_flag: an integer has an offset and a number of bits.
TEST(BtfTypes, OldBitFields) {
    NumberedTypes t;
    const uint32_t whole = t.integer("int", 4, is_signed_int, 32);
    const uint32_t part = t.integer("part", 4, 2u << 16, 5); // 5 bits, from bit 2 on
    const uint32_t box =
        t.add("box", BtfKind::Struct, 3, 8,
              {t.name("first"), whole, 0, t.name("part"), part, 32, t.name("later"), part, 32 + 8});
    const std::string bytes = t.finish();
    const auto btf = Btf::parse(bytes);
    ASSERT_TRUE(btf);
    const std::vector<CMember> members = btf->members(box);
    ASSERT_EQ(members.size(), 3u);
    EXPECT_EQ(members[0].name, "first");
    EXPECT_EQ(members[0].type, whole);
    EXPECT_EQ(members[0].bit_size, 0u);
    EXPECT_EQ(members[1].offset, 4u);
    EXPECT_EQ(members[1].bit_offset, 2u);
    EXPECT_EQ(members[1].bit_size, 5u);
    EXPECT_EQ(members[2].offset, 4u);
    EXPECT_EQ(members[2].bit_offset, 10u);
    EXPECT_EQ(members[2].bit_size, 5u);
}

TEST(BtfTypes, WrappersAndDeclarationsLeadToTheDefinition) {
    NumberedTypes t;
    const uint32_t number = t.integer("int", 4, is_signed_int, 32);
    const uint32_t declared = t.add("box", BtfKind::Fwd, 0, 0);
    const uint32_t declared_union = t.add("either", BtfKind::Fwd, 0, 0, {}, true);
    const uint32_t unknown = t.add("secret", BtfKind::Fwd, 0, 0);
    const uint32_t box = t.add("box", BtfKind::Struct, 1, 4, {t.name("a"), number, 0});
    const uint32_t either = t.add("either", BtfKind::Union, 1, 4, {t.name("b"), number, 0});
    const uint32_t other = t.add("either", BtfKind::Struct, 0, 12);
    uint32_t wrapped = declared;
    for (const BtfKind kind : {BtfKind::Const, BtfKind::Volatile, BtfKind::Restrict})
        wrapped = t.add("", kind, 0, wrapped);
    wrapped = t.add("user", BtfKind::TypeTag, 0, wrapped);
    wrapped = t.add("box_t", BtfKind::Typedef, 0, wrapped);
    // As deep as a type may be.
    std::vector<uint32_t> deep{number};
    for (int i = 0; i < 64; i++)
        deep.push_back(t.add("", BtfKind::Const, 0, deep.back()));
    const std::string bytes = t.finish();
    const auto btf = Btf::parse(bytes);
    ASSERT_TRUE(btf);
    for (const uint32_t id : {declared, box, wrapped}) {
        EXPECT_EQ(btf->resolve(id).kind, CTypeKind::Struct);
        EXPECT_EQ(btf->resolve(id).size, 4u);
        ASSERT_EQ(btf->members(id).size(), 1u);
        EXPECT_EQ(btf->members(id)[0].name, "a");
    }
    EXPECT_EQ(btf->resolve(declared_union).kind, CTypeKind::Union);
    EXPECT_EQ(btf->resolve(declared_union).size, 4u);
    EXPECT_EQ(btf->members(either).size(), 1u);
    EXPECT_EQ(btf->resolve(unknown).kind, CTypeKind::Struct);
    EXPECT_EQ(btf->resolve(unknown).size, 0u);
    EXPECT_EQ(btf->resolve(deep[63]).kind, CTypeKind::Integer);
    EXPECT_EQ(btf->resolve(deep[64]).kind, CTypeKind::Void);
    EXPECT_EQ(written(*btf, wrapped), "box_t");
    EXPECT_EQ(written(*btf, declared_union), "union either");
    EXPECT_EQ(written(*btf, declared), "struct box");
    EXPECT_EQ(written(*btf, 999), "?");
    EXPECT_EQ(btf->by_name("struct either"), std::optional<TypeId>(other));
    EXPECT_EQ(btf->by_name("union either"), std::optional<TypeId>(either));
    EXPECT_EQ(btf->by_name("either"), std::optional<TypeId>(other)); // structures first
    EXPECT_EQ(btf->by_name("box_t"), std::optional<TypeId>(wrapped));
    EXPECT_FALSE(btf->by_name("enum either"));
    EXPECT_FALSE(btf->by_name(""));
}

TEST(BtfTypes, AreWrittenAsDeclarations) {
    NumberedTypes t;
    const uint32_t number = t.integer("int", 4, is_signed_int, 32);
    const uint32_t box = t.add("box", BtfKind::Struct, 0, 4);
    const uint32_t nameless = t.add("", BtfKind::Union, 0, 4);
    const uint32_t color = t.add("color", BtfKind::Enum, 0, 4);
    const uint32_t color64 = t.add("color64", BtfKind::Enum64, 0, 8);
    const uint32_t fixed = t.add("", BtfKind::Const, 0, box);
    const uint32_t pointer = t.add("", BtfKind::Ptr, 0, fixed);
    const uint32_t changing = t.add("", BtfKind::Volatile, 0, number);
    const uint32_t alone = t.add("", BtfKind::Restrict, 0, pointer);
    const uint32_t table = t.add("", BtfKind::Array, 0, 0, {number, number, 7});
    const uint32_t call =
        t.add("", BtfKind::FuncProto, 3, number, {t.name("a"), pointer, t.name("b"), number, 0, 0});
    const uint32_t handler = t.add("", BtfKind::Ptr, 0, call);
    const uint32_t anything = t.add("", BtfKind::Ptr, 0, 0);
    const std::string bytes = t.finish();
    const auto btf = Btf::parse(bytes);
    ASSERT_TRUE(btf);
    EXPECT_EQ(written(*btf, nameless), "union {...}");
    EXPECT_EQ(written(*btf, color), "enum color");
    EXPECT_EQ(written(*btf, color64), "enum color64");
    EXPECT_EQ(written(*btf, pointer), "const struct box *");
    EXPECT_EQ(written(*btf, changing), "volatile int");
    EXPECT_EQ(btf->step(alone).text, "restrict");
    EXPECT_EQ(btf->step(alone).base_type, pointer);
    EXPECT_EQ(written(*btf, table), "int [7]");
    EXPECT_EQ(btf->resolve(table).size, 28u);
    EXPECT_EQ(btf->resolve(table).count, 7u);
    EXPECT_EQ(btf->resolve(table).base_type, number);
    EXPECT_EQ(written(*btf, handler), "int (*)(const struct box *, int, ...)");
    EXPECT_EQ(written(*btf, anything), "void *");
    // What the kernel's table of system calls says.
    EXPECT_EQ(btf->by_declaration("const struct box *"), fixed + (TypeId{1} << 32));
    EXPECT_EQ(btf->by_declaration("struct box const __user *"), fixed + (TypeId{1} << 32));
    EXPECT_EQ(btf->by_declaration("volatile int"), number);
    EXPECT_EQ(btf->by_declaration("int"), number);
    EXPECT_EQ(btf->by_declaration("struct box **"), box + (TypeId{2} << 32));
    EXPECT_EQ(btf->by_declaration("const int *"), number + (TypeId{1} << 32)); // there is no const
    EXPECT_EQ(btf->by_declaration("struct none *"), TypeId{1} << 32);
    EXPECT_EQ(btf->by_declaration("unknown_t"), 0u); // there is no long either
    EXPECT_EQ(btf->by_declaration("void"), 0u);
}

TEST(BtfTypes, FunctionsHaveAPrototype) {
    NumberedTypes t;
    const uint32_t number = t.integer("int", 4, is_signed_int, 32);
    const uint32_t none = t.add("", BtfKind::FuncProto, 0, 0);
    const uint32_t two =
        t.add("", BtfKind::FuncProto, 2, number, {t.name("a"), number, t.name("b"), number});
    const uint32_t many = t.add("", BtfKind::FuncProto, 2, number, {t.name("a"), number, 0, 0});
    const uint32_t void_named = t.add("", BtfKind::FuncProto, 1, number, {t.name("a"), 0});
    const uint32_t nameless = t.add("", BtfKind::FuncProto, 2, number, {0, number, 0, number});
    t.add("none", BtfKind::Func, 0, none);
    t.add("two", BtfKind::Func, 0, two);
    t.add("many", BtfKind::Func, 0, many);
    t.add("void_named", BtfKind::Func, 0, void_named);
    t.add("nameless", BtfKind::Func, 0, nameless);
    t.add("damaged", BtfKind::Func, 0, number);
    const std::string bytes = t.finish();
    const auto btf = Btf::parse(bytes);
    ASSERT_TRUE(btf);
    const auto shown = [&](std::string_view name) {
        const uint32_t function = btf->function(name);
        bool varargs = true;
        std::string text;
        for (const BtfParameter& each : btf->function_parameters(function, varargs))
            text += std::string(each.name) + ":" + std::to_string(each.type) + " ";
        return text + (varargs ? "..." : "");
    };
    EXPECT_EQ(shown("none"), "");
    EXPECT_EQ(shown("two"), "a:1 b:1 ");
    EXPECT_EQ(shown("many"), "a:1 ...");
    EXPECT_EQ(shown("void_named"), "a:0 ");
    EXPECT_EQ(shown("nameless"), ":1 :1 ");
    EXPECT_EQ(shown("damaged"), "");
    EXPECT_EQ(btf->function_result(btf->function("two")), number);
    EXPECT_EQ(btf->function_result(btf->function("none")), 0u);
    EXPECT_EQ(btf->function("int"), 0u);
    std::vector<std::string_view> names = btf->function_names();
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string_view>{"damaged", "many", "nameless", "none", "two",
                                                    "void_named"}));
    EXPECT_FALSE(btf->by_name("two")); // it is no type
}

// A module's types continue those of the kernel, and so do its strings.
TEST(BtfTypes, OfModulesContinueTheKernels) {
    NumberedTypes kernel;
    const uint32_t number = kernel.integer("int", 4, is_signed_int, 32);
    const uint32_t fixed = kernel.add("", BtfKind::Const, 0, number);
    const uint32_t call = kernel.add("", BtfKind::FuncProto, 0, number);
    const uint32_t in_kernel = kernel.add("in_kernel", BtfKind::Func, 0, call);
    const std::string kernel_bytes = kernel.finish();
    const auto base = Btf::parse(kernel_bytes);
    ASSERT_TRUE(base);
    NumberedTypes module;
    module.last = kernel.last;
    module.strings.clear(); // the first one is the kernel's
    const auto first = static_cast<uint32_t>(kernel.strings.size());
    const auto name = [&](std::string_view text) { return first + module.name(text); };
    const auto add = [&](uint32_t text, BtfKind kind, uint32_t count, uint32_t size_or_type) {
        module.words({text, uint32_t(kind) << 24 | count, size_or_type});
        return ++module.last;
    };
    const uint32_t box = add(name("box"), BtfKind::Struct, 1, 4);
    module.words({name("a"), number, 0});
    const uint32_t own = add(name("in_module"), BtfKind::Func, 0, call);
    const uint32_t own_const = add(0, BtfKind::Const, 0, box);
    const std::string module_bytes = module.finish();
    const auto btf = Btf::parse(module_bytes, &*base);
    ASSERT_TRUE(btf);
    EXPECT_EQ(box, 5u);
    EXPECT_EQ(btf->size(), 8u);
    EXPECT_EQ(btf->type(box).name, "box");
    EXPECT_EQ(btf->type(number).name, "int");
    ASSERT_EQ(btf->members(box).size(), 1u);
    EXPECT_EQ(btf->members(box)[0].name, "a");
    EXPECT_EQ(btf->function("in_module"), own);
    EXPECT_EQ(btf->function("in_kernel"), in_kernel);
    EXPECT_EQ(btf->function("none"), 0u);
    EXPECT_EQ(btf->function_names(), std::vector<std::string_view>{"in_module"});
    EXPECT_EQ(btf->by_name("struct box"), std::optional<TypeId>(box));
    EXPECT_EQ(btf->by_name("int"), std::optional<TypeId>(number));
    EXPECT_EQ(btf->by_declaration("const int"), fixed);
    EXPECT_EQ(btf->by_declaration("const struct box"), own_const);
    EXPECT_EQ(btf->type_names(), (std::vector<std::string_view>{"int", "box"}));
    EXPECT_EQ(btf->resolve(8).kind, CTypeKind::Unknown);
    const auto nothing = Btf::parse_nothing(&*base);
    ASSERT_TRUE(nothing);
    EXPECT_EQ(nothing->size(), base->size());
    EXPECT_EQ(nothing->function("in_kernel"), in_kernel);
    EXPECT_TRUE(nothing->function_names().empty());
}

TEST(BtfTypes, DamagedHeadersAreNoticed) {
    NumberedTypes t;
    t.integer("int", 4, is_signed_int, 32);
    const std::string good = t.finish();
    ASSERT_TRUE(Btf::parse(good));
    const auto with = [&](size_t at, char byte) {
        std::string bytes = good;
        bytes[at] = byte;
        return Btf::parse(bytes).operator bool();
    };
    EXPECT_FALSE(with(0, '\0'));    // the magic number
    EXPECT_FALSE(with(2, '\2'));    // the version
    EXPECT_FALSE(with(4, '\x7f'));  // the size of the header
    EXPECT_FALSE(with(8, '\x7f'));  // where types begin
    EXPECT_FALSE(with(12, '\x0f')); // how many bytes they have: one fewer
    EXPECT_FALSE(with(16, '\x7f'));
    EXPECT_FALSE(with(20, '\x7f'));
    // Types may end where the bytes end, and a longer header is skipped.
    std::string longer = good;
    longer[4] = 28;
    longer.insert(24, 4, '\0');
    const auto found = Btf::parse(longer);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->type(1).name, "int");
    EXPECT_EQ(Btf::parse(good.substr(0, 23)).operator bool(), false);
    const auto failure = Btf::parse("");
    ASSERT_FALSE(failure);
    EXPECT_EQ(failure.failure().message, "the kernel's BTF is damaged");
}

// A kernel of an assembler's text with these types.
class BtfKernel {
  public:
    BtfKernel() : made_({{"a.s", text()}, {"b.c", "int nothing(void) { return 0; }\n"}}) {
        auto info = BtfInfo::open(*made_.image);
        EXPECT_TRUE(info) << info.failure().message;
        if (info)
            info_ = std::move(*info);
    }
    const DebugInfo& operator*() const { return *info_; }
    const DebugInfo* operator->() const { return info_.get(); }
    uint64_t address(const std::string& symbol) const { return made_.address(symbol); }
    // "NAME SYMBOL (PARAMETERS); " of each.
    std::string shown(const std::string& pattern) const {
        std::string text;
        for (const FunctionInfo& each : info_->functions(*parse_function_pattern(pattern), true))
            text += each.name + " " + each.symbol + " (" + shown_parameters(each.parameters) +
                    (each.varargs ? " ..." : "") + ")" + (each.is_syscall ? " call" : "") + "; ";
        return text;
    }

  private:
    static std::string text() {
        NumberedTypes t;
        const uint32_t number = t.integer("int", 4, is_signed_int, 32);
        const uint32_t real = t.add("double", BtfKind::Float, 0, 8);
        const uint32_t pair = t.add("pair", BtfKind::Struct, 0, 16);
        const uint32_t large = t.add("large", BtfKind::Struct, 0, 24);
        const uint32_t pointer = t.add("", BtfKind::Ptr, 0, large);
        const uint32_t mixed = t.add(
            "", BtfKind::FuncProto, 4, number,
            {t.name("n"), number, t.name("p"), pair, t.name("d"), real, t.name("q"), pointer});
        const uint32_t returns_large =
            t.add("", BtfKind::FuncProto, 1, large, {t.name("n"), number});
        const uint32_t many =
            t.add("", BtfKind::FuncProto, 2, number, {t.name("format"), pointer, 0, 0});
        const uint32_t bare =
            t.add("", BtfKind::FuncProto, 1, number, {t.name("__unused"), pointer});
        const uint32_t call = t.add("", BtfKind::FuncProto, 2, number,
                                    {t.name("fd"), number, t.name("text"), pointer});
        for (const auto& [name, prototype] :
             {std::pair("mixed", mixed), std::pair("returns_large", returns_large),
              std::pair("many", many), std::pair("not_in_the_image", many),
              std::pair("__do_sys_made", call), std::pair("__do_sys_bare", bare)})
            t.add(name, BtfKind::Func, 0, prototype);
        std::string assembly = ".text\n";
        for (const char* symbol :
             {"mixed", "mixed.isra.0", "mixed.cold", "__pfx_mixed", "returns_large", "many",
              "unknown", "__x64_sys_made", "__x64_sys_bare", "__x64_sys_other"})
            assembly += std::string(".globl \"") + symbol + "\"\n.type \"" + symbol +
                        "\", @function\n\"" + symbol + "\":\n.fill 16, 1, 0x90\n.size \"" + symbol +
                        "\", 16\n";
        assembly += ".globl alias\n.type alias, @function\nalias = many\n.size alias, 16\n"
                    ".data\n.globl mixed_data\nmixed_data: .long 0\n"
                    ".section .BTF, \"a\"\n";
        for (const char each : t.finish())
            assembly += ".byte " + std::to_string(static_cast<unsigned char>(each)) + "\n";
        return assembly;
    }
    MadeKernel made_;
    std::unique_ptr<DebugInfo> info_;
};

const BtfKernel& btf_kernel() {
    static const BtfKernel kernel;
    return kernel;
}

TEST(BtfFunctions, HaveTheirArgumentsByTheConvention) {
    const std::string mixed = "mixed mixed (n=rdi p={8:rsi 8:rdx} d=? q=rcx); ";
    const std::string clone = "mixed mixed.isra.0 (n=? p=? d=? q=?); ";
    EXPECT_EQ(btf_kernel().shown("mixed"), mixed + clone);
    EXPECT_EQ(btf_kernel().shown("mixed.isra.0"), clone);
    EXPECT_EQ(btf_kernel().shown("mix*"), mixed + clone); // neither a cold part nor data
    EXPECT_EQ(btf_kernel().shown("returns_large"), "returns_large returns_large (n=rsi); ");
    EXPECT_EQ(btf_kernel().shown("unknown"), "unknown unknown (); ");
    EXPECT_EQ(btf_kernel().shown("not_in_the_image"), "");
    EXPECT_EQ(btf_kernel().shown("__pfx_mixed"), "");
    EXPECT_EQ(btf_kernel().shown("mixed@a.c"), "");
    // One name for each address.
    EXPECT_EQ(btf_kernel().shown("alias"), "alias alias (); ");
    const std::string all = btf_kernel().shown("*a*");
    EXPECT_EQ((all.find("many many") != std::string::npos) +
                  (all.find("alias alias") != std::string::npos),
              1);
    EXPECT_EQ(btf_kernel().shown("many"), "many many (format=rdi ...); ");
    const auto plain = btf_kernel()->functions(*parse_function_pattern("mixed"), false);
    ASSERT_EQ(plain.size(), 2u);
    EXPECT_TRUE(plain[0].parameters.empty());
    EXPECT_EQ(plain[0].size, 16u);
    EXPECT_TRUE(plain[0].external);
    EXPECT_EQ(plain[0].entry, btf_kernel().address("mixed"));
}

TEST(BtfFunctions, HaveTheirResult) {
    for (const auto& [name, type] :
         {std::pair("mixed", "int"), {"returns_large", "struct large"}}) {
        const auto found = btf_kernel()->functions(*parse_function_pattern(name), true);
        ASSERT_FALSE(found.empty());
        ASSERT_TRUE(found[0].return_type) << name;
        EXPECT_EQ(btf_kernel()->type_name(*found[0].return_type), type);
    }
    const auto unknown = btf_kernel()->functions(*parse_function_pattern("unknown"), true);
    ASSERT_EQ(unknown.size(), 1u);
    EXPECT_FALSE(unknown[0].return_type);
}

TEST(BtfFunctions, SystemCallsHaveThoseOfTheirDefinition) {
    EXPECT_EQ(btf_kernel().shown("sys_made"),
              "sys_made __x64_sys_made (fd=[rdi+112] text=[rdi+104]) call; ");
    EXPECT_EQ(btf_kernel().shown("sys_bare"), "sys_bare __x64_sys_bare () call; ");
    const auto other = btf_kernel()->functions(*parse_function_pattern("sys_other"), true);
    ASSERT_EQ(other.size(), 1u);
    EXPECT_TRUE(other[0].parameters.empty());
    EXPECT_NE(other[0].parameters_hint.find("tracefs"), std::string::npos);
    EXPECT_EQ(btf_kernel()->functions(*parse_function_pattern("sys_*"), false).size(), 3u);
}

TEST(BtfFunctions, HaveVariablesAtTheirEntry) {
    const uint64_t mixed = btf_kernel().address("mixed");
    const auto shown = [&](uint64_t address) {
        return shown_parameters(btf_kernel()->variables_at(address));
    };
    EXPECT_EQ(shown(mixed), "n=rdi p={8:rsi 8:rdx} d=? q=rcx");
    EXPECT_EQ(shown(mixed + 1), "n=? p=? d=? q=?");
    EXPECT_EQ(shown(1), "");
    const auto later = btf_kernel()->variables_at(mixed + 8);
    ASSERT_EQ(later.size(), 4u);
    EXPECT_EQ(later[0].location.why, "known only at the function's entry without DWARF");
    EXPECT_TRUE(later[0].is_parameter);
    EXPECT_FALSE(btf_kernel()->global("mixed_data"));
}

TEST(BtfFunctions, HaveNoLines) {
    const auto statements = btf_kernel()->statements(*parse_function_pattern("mixed"), false);
    ASSERT_TRUE(statements);
    ASSERT_EQ(statements->addresses.size(), 2u);
    EXPECT_EQ(statements->addresses[0].address, btf_kernel().address("mixed"));
    EXPECT_EQ(statements->addresses[0].symbol_entry, btf_kernel().address("mixed"));
    EXPECT_EQ(statements->addresses[0].symbol, "mixed");
    for (const char* pattern : {"mixed@a.c:3", "mixed@a.c"}) {
        const auto none = btf_kernel()->statements(*parse_function_pattern(pattern), false);
        ASSERT_FALSE(none);
        EXPECT_NE(none.failure().message.find("it has only BTF"), std::string::npos);
    }
}

TEST(BtfFunctions, AndTypesHaveSimilarNames) {
    EXPECT_EQ(btf_kernel()->similar_functions("mixd"), std::vector<std::string>{"mixed"});
    EXPECT_TRUE(btf_kernel()->similar_functions("not_in_the_imag").empty());
    EXPECT_EQ(btf_kernel()->similar_functions("sys_mode"), std::vector<std::string>{"sys_made"});
    EXPECT_EQ(btf_kernel()->similar_types("larg"), std::vector<std::string>{"large"});
}

} // namespace
} // namespace djstap
