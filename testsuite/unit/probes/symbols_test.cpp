// SPDX-License-Identifier: GPL-2.0-or-later
// Functions of a kernel and of its modules: by their symbols, by their declarations, by addresses.
#include "unit/debuginfo/made_kernel.h"
#include "unit/probes/whole_kernel.h"

#include "diagnostics/source.h"
#include "probes/families.h"

#include <cstdlib>
#include <filesystem>

namespace djstap::whole {
namespace {

std::string function(const std::string& pattern, const std::string& suffix = "") {
    return "kernel.function(\"" + pattern + "\")" + suffix;
}
std::string of_module(const std::string& pattern, const std::string& suffix = "") {
    return "module(\"extra\").function(\"" + pattern + "\")" + suffix;
}
// A symbol's point in a listing.
std::string kprobe(const std::string& symbol, const std::string& suffix = "") {
    return "kprobe.function(\"" + symbol + "\")" + suffix;
}

uint64_t address(const char* symbol) {
    Images images(files().path());
    return (*images.kernel())->symbol(symbol)->address;
}

TEST(Symbols, AreFoundByNamesAndPatterns) {
    EXPECT_EQ(places_of(kprobe("with_site")), kprobe("with_site") + " djprobe\n");
    EXPECT_EQ(places_of(kprobe("with_site", ".call")), kprobe("with_site") + " djprobe\n");
    EXPECT_EQ(places_of(kprobe("with*_site")),
              kprobe("with_site") + " djprobe\n" + kprobe("without_site") + " kprobe\n");
    EXPECT_EQ(places_of(kprobe("{six,without_site}")),
              kprobe("six") + " djprobe\n" + kprobe("without_site") + " kprobe\n");
    EXPECT_EQ(places_of(kprobe("six", ".return")), kprobe("six", ".return") + " kretprobe\n");
    const std::string in_module = "kprobe.module(\"extra\").function(\"extra_send\")";
    EXPECT_EQ(places_of("kprobe.module(\"ex*\").function(\"*_send\")"), in_module + " djprobe\n");
    EXPECT_EQ(places_of(in_module + ".return"), in_module + ".return kretprobe\n");
    const Planned planned("probe " + kprobe("six", ".return.maxactive(9)") + " { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(planned.site().maxactive, 9U);
    EXPECT_EQ(planned.site().reason, "its calling convention is unknown");
    EXPECT_EQ(planned.plan->variants.at(0).kind, HandlerKind::Return);
    EXPECT_EQ(planned.site().entry, address("six"));
    const Planned entry("probe " + kprobe("six") + " { println(1) }");
    EXPECT_EQ(entry.site().maxactive, 0U);
    EXPECT_EQ(entry.plan->variants.at(0).kind, HandlerKind::Entry);
}

TEST(Symbols, ThatAreNotThereAreRefused) {
    const std::string none = "no function of kernel 6.1.0-whole matches ";
    EXPECT_EQ(said(kprobe("with_sight")), none + "\"with_sight\"; did you mean 'with_site'?");
    EXPECT_EQ(said(kprobe("xyz*")), none + "\"xyz*\"");
    EXPECT_EQ(places_of(kprobe("xyz*") + "?"), "");
    EXPECT_EQ(said(kprobe("shared")), none + "\"shared\"");
    EXPECT_EQ(said(kprobe("forbidden")),
              "\"forbidden\" cannot be probed: the kernel forbids kprobes there");
    EXPECT_EQ(said(kprobe("at_boot")), none + "\"at_boot\"");
    EXPECT_EQ(places_of(kprobe("forbidden*")), kprobe("forbidden_with_site") + " djprobe\n");
    EXPECT_EQ(said("kprobe.module(\"none\").function(\"f\")"),
              "kernel 6.1.0-whole has no module 'none'");
    EXPECT_EQ(said("kprobe.module(\"extra\").function(\"extra_sent\")"),
              "no function of module 'extra' of kernel 6.1.0-whole matches \"extra_sent\"; did you "
              "mean 'extra_send'?");
}

TEST(Symbols, AddressesAreThoseOfEntriesOrInstructions) {
    const auto point = [](uint64_t where) {
        return "kprobe.statement(" + address_text(where) + ").absolute";
    };
    const uint64_t with = address("with_site"), without = address("without_site");
    EXPECT_EQ(places_of(point(with)), point(with) + " djprobe\n");
    EXPECT_EQ(places_of(point(with + 5)), point(with + 5) + " kprobe\n");
    EXPECT_EQ(places_of(point(without)), point(without) + " kprobe\n");
    const Planned inside("probe " + point(without + 1) + " { println(1) }");
    ASSERT_TRUE(inside.plan) << inside.errors();
    EXPECT_EQ(inside.site().reason, "not at a function's entry");
    EXPECT_EQ(inside.site().function, "without_site");
    EXPECT_EQ(inside.site().entry, without);
    EXPECT_EQ(inside.site().address, without + 1);
    const Planned entry("probe " + point(without) + " { println(1) }");
    EXPECT_EQ(entry.site().reason, "no fentry site");
    const Planned all("probe " + point(with) + " { println(register(\"rbx\")) }");
    EXPECT_EQ(all.site().mechanism, Mechanism::Ftrace);
    const std::string kernels = "kernel.statement(" + address_text(with) + ").absolute";
    EXPECT_EQ(places_of(kernels), kernels + " djprobe\n");
    EXPECT_TRUE(said(point(address("forbidden"))).ends_with("the kernel forbids kprobes there"));
    EXPECT_EQ(places_of(point(address("forbidden")) + "?"), "");
    const auto last = (*Images(files().path()).kernel())->symbol("fixup_exception");
    EXPECT_TRUE(said(point(last->address + last->size + 4))
                    .ends_with("cannot be probed: no function of the kernel is there"))
        << said(point(last->address + last->size + 4));
    EXPECT_TRUE(said(point(16)).ends_with("cannot be probed: it is initialization code, which the "
                                          "kernel frees after boot"))
        << said(point(16));
}

TEST(Functions, OfModulesHaveTheirPlaces) {
    const std::string sends = of_module(declared("extra_send", true)),
                      more = of_module(declared("extra_more", true)),
                      caller = of_module(declared("__traceiter_extra_sent", true));
    EXPECT_EQ(places_of(of_module("extra_send")), sends + " djprobe\n");
    EXPECT_EQ(places_of("module(\"*\").function(\"extra_*\")"),
              more + " kprobe\n" + sends + " djprobe\n");
    EXPECT_EQ(places_of(of_module("extra_*", ".exported")), sends + ".exported djprobe\n");
    const Planned returns("probe " + of_module("extra_send", ".return") + " { println(1) }");
    ASSERT_TRUE(returns.plan) << returns.errors();
    EXPECT_EQ(returns.site().reason,
              "without static calls a module's functions cannot be called directly");
    EXPECT_EQ(returns.plan->images.at(returns.site().image).name, "extra");
    EXPECT_TRUE(returns.plan->is_in_module(returns.site()));
    // By its path, too.
    const std::string path = files().path() + "lib/modules/6.1.0-whole/kernel/extra.ko";
    EXPECT_EQ(places_of("module(\"" + path + "\").function(\"extra_send\")"), sends + " djprobe\n");
}

TEST(Functions, OfModulesThatAreNotThere) {
    EXPECT_EQ(said("module(\"extr\").function(\"f\")"),
              "kernel 6.1.0-whole has no module 'extr'; did you mean 'extra'?");
    EXPECT_EQ(said("module(\"ext9\").function(\"f\")"),
              "kernel 6.1.0-whole has no module 'ext9'; it is built into the kernel: "
              "kernel.function probes it");
    EXPECT_EQ(said("module(\"x*\").function(\"f\")"),
              "no module matches \"x*\"; for the running kernel a pattern matches only loaded "
              "modules");
    EXPECT_EQ(places_of("module(\"x*\").function(\"f\")?"), "");
    EXPECT_EQ(places_of("module(\"extr\").function(\"f\")?"), "");
    EXPECT_EQ(said("module(\"extr\").function(5)"),
              "kernel 6.1.0-whole has no module 'extr'; did you mean 'extra'?");
    EXPECT_EQ(said("module(\"extr\").statement(5)"),
              "kernel 6.1.0-whole has no module 'extr'; did you mean 'extra'?");
    EXPECT_EQ(said(function("extra_send")),
              "no function of kernel 6.1.0-whole matches \"extra_send\"; it belongs to a module: "
              "module(\"extra\").function(\"extra_send\")");
    EXPECT_EQ(said(function("_none")), "no function of kernel 6.1.0-whole matches \"_none\"");
    EXPECT_EQ(said(function("extra_s*d")),
              "no function of kernel 6.1.0-whole matches \"extra_s*d\"");
    EXPECT_EQ(said(of_module("extra_begin")),
              "\"extra_begin\" cannot be probed: it is initialization code, which the kernel frees "
              "after boot");
}

TEST(Functions, ExportedOnesAreThoseThatModulesMayUse) {
    EXPECT_EQ(places_of(function("exported", ".exported")),
              function(declared("exported"), ".exported") + " djprobe\n");
    EXPECT_EQ(places_of(function("*e*", ".exported")),
              function(declared("exported"), ".exported") + " djprobe\n");
    EXPECT_EQ(said(function("six", ".exported")),
              "the function 'six' is not exported to modules; omit .exported to probe it anyway");
    EXPECT_EQ(places_of(function("six", ".exported?")), "");
    const auto at = [](const char* symbol) {
        return "kernel.function(" + address_text(address(symbol)) + ").exported";
    };
    EXPECT_EQ(places_of(at("exported")),
              function(declared("exported"), ".exported") + " djprobe\n");
    EXPECT_TRUE(said(at("six")).find("no exported function is there") != std::string::npos)
        << said(at("six"));
    EXPECT_TRUE(
        said(at("six")).ends_with("addresses are those of vmlinux (nm), without the running "
                                  "kernel's load bias"));
}

TEST(Functions, ThatCannotBeProbedAreRefusedByName) {
    EXPECT_EQ(said(function("forbidden")),
              "\"forbidden\" cannot be probed: the kernel forbids kprobes there");
    // A pattern leaves them out.
    EXPECT_EQ(places_of(function("forbidden*", ".call")),
              function(declared("forbidden_with_site"), ".call") + " djprobe\n");
    EXPECT_EQ(said(function("forbidde[n]")),
              "\"forbidden\" cannot be probed: the kernel forbids kprobes there");
    EXPECT_EQ(places_of(function("forbidden") + "?"), "");
    const std::string hint = "; omit --mechanism to let djstap choose";
    EXPECT_EQ(said(function("without_site"), forced(Mechanism::Djprobe)),
              "\"without_site\" cannot be probed: it has no fentry site" + hint);
    EXPECT_EQ(said(function("native_write_cr4"), forced(Mechanism::Djprobe)),
              "\"native_write_cr4\" cannot be probed: CPUs run it while they cannot take an "
              "exception");
    EXPECT_EQ(places_of(function("with*_site"), forced(Mechanism::Djprobe)),
              function(declared("with_site")) + " djprobe\n");
}

TEST(Functions, WithLinesAreThoseDeclaredThere) {
    const std::string place = declared("six");
    EXPECT_EQ(places_of(function(place)), function(place) + " djprobe\n");
    EXPECT_EQ(said(function("six@kernel.c:1")),
              "no function of kernel 6.1.0-whole matches \"six@kernel.c:1\"; it is declared at " +
                  place.substr(4));
    EXPECT_EQ(said(function("six@other.c")),
              "no function of kernel 6.1.0-whole matches \"six@other.c\"; it is declared at " +
                  place.substr(4));
    EXPECT_EQ(said(function("s*x@other.c")),
              "no function of kernel 6.1.0-whole matches \"s*x@other.c\"; the file was matched as "
              "other.c; omit it to search all files");
    EXPECT_EQ(said(function("sixx")),
              "no function of kernel 6.1.0-whole matches \"sixx\"; did you mean 'six'?");
    EXPECT_EQ(said(function("six@kernel.c+1")),
              "a function probe accepts only the line of the function's declaration; "
              "kernel.statement(\"six@kernel.c+1\") probes a line");
    EXPECT_EQ(said(function("six", ".inline")),
              "the function 'six' is not inlined anywhere; omit .inline to probe its own code");
}

TEST(Statements, ThatAreNotThereHaveNeighbours) {
    const std::string place = declared("spaced");
    const size_t line = std::stoul(place.substr(place.rfind(':') + 1));
    EXPECT_EQ(said("kernel.statement(\"spaced@kernel.c+1\")"),
              "no instruction belongs to spaced@kernel.c+1; nearby lines that have one: " +
                  std::to_string(line) + ", " + std::to_string(line + 3) + "; or append .nearest");
    EXPECT_EQ(places_of("kernel.statement(\"spaced@kernel.c+2\").nearest"),
              "kernel.statement(\"spaced@kernel.c:" + std::to_string(line + 3) + "\") kprobe\n");
    EXPECT_EQ(places_of("kernel.statement(\"spaced@kernel.c+1\")?"), "");
    EXPECT_TRUE(said("kernel.statement(\"absent@kernel.c:1\")").starts_with("no function 'absent'"))
        << said("kernel.statement(\"absent@kernel.c:1\")");
    EXPECT_EQ(places_of("kernel.statement(\"absent@kernel.c:1\")?"), "");
}

TEST(Functions, KprobesOfPatternsAreLimited) {
    ProbeOptions options;
    options.max_kprobes = 1;
    EXPECT_EQ(places_of(function("*without_site", ".call"), options),
              function(declared("without_site"), ".call") + " kprobe\n");
    options.max_kprobes = 0;
    EXPECT_EQ(said(function("{with_site,without_site}", ".call"), options),
              "\"{with_site,without_site}\" omits 1 function that has no fentry site; -D "
              "MAXKPROBES=1 probes it as well, with a breakpoint");
    EXPECT_EQ(places_of(function("{with_site,without_site}", ".call"), options),
              function(declared("with_site"), ".call") + " djprobe\n");
    EXPECT_EQ(said(function("{with_site,__traceiter_[fs]*}"), options),
              "\"{with_site,__traceiter_[fs]*}\" omits 2 functions that have no fentry site; -D "
              "MAXKPROBES=2 probes them as well, each with a breakpoint");
    // One that is named is no pattern.
    EXPECT_EQ(places_of(function("without_site"), options),
              function(declared("without_site")) + " kprobe\n");
}

// The compiler inlined it everywhere; these return what it returns.
TEST(Functions, ReturnsOfAnInlinedFunctionAreThoseOfItsWrappers) {
    const std::string point = function("do_fsync", ".return");
    const Planned planned("probe " + point + " { println($return) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    std::vector<uint64_t> entries;
    for (const Site& site : planned.plan->sites)
        entries.push_back(site.entry);
    EXPECT_EQ(entries,
              (std::vector<uint64_t>{address("__x64_sys_fdatasync"), address("__x64_sys_fsync")}));
    EXPECT_EQ(said(planned.analysis.diagnostics),
              "the compiler inlined 'do_fsync' everywhere: probing the returns of the functions "
              "that return its result: __x64_sys_fdatasync, __x64_sys_fsync");
    // A pattern does not mean them.
    EXPECT_NE(said(function("do_fsyn[c]", ".return")).find("no function"), std::string::npos)
        << said(function("do_fsyn[c]", ".return"));
}

// One of those that may call it is not in this kernel.
TEST(Functions, ReturnsOfAnInlinedFunctionMayHaveOneWrapper) {
    const MadeKernel kernel(
        {{"fs/sync.c",
          "struct pt_regs { unsigned long r[21]; };\n"
          "static inline __attribute__((always_inline)) int do_fsync(int fd, int data)\n"
          "{ return fd + data; }\n"
          "long __x64_sys_fsync(const struct pt_regs *regs)\n"
          "{ return do_fsync((int)regs->r[14], 0); }\n"}},
        {"-O0"});
    Images images(kernel.folder());
    test::Analysis analysis("probe kernel.function(\"do_fsync\").return { println(1) }");
    const auto plan = resolve_probes(*analysis.program, images, {}, analysis.diagnostics);
    ASSERT_TRUE(plan) << analysis.errors();
    ASSERT_EQ(plan->sites.size(), 1U);
    EXPECT_EQ(plan->sites[0].entry, kernel.address("__x64_sys_fsync"));
    EXPECT_EQ(said(analysis.diagnostics),
              "the compiler inlined 'do_fsync' everywhere: probing the returns of the functions "
              "that return its result: __x64_sys_fsync");
}

TEST(Functions, SystemCallsAreNamedByTheirWrappers) {
    const Planned planned("probe kernel.function(\"sys_made\").call { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    ASSERT_EQ(planned.plan->sites.size(), 1U);
    EXPECT_EQ(planned.site().function, "__x64_sys_made");
    EXPECT_EQ(planned.site().entry, address("__x64_sys_made"));
    EXPECT_EQ(said("kernel.function(\"sys_made\").call", {}, "println($fd, user_string($buf))"),
              "nothing");
    const Planned returns("probe kernel.function(\"sys_made\").return { println($return) }");
    ASSERT_TRUE(returns.plan) << returns.errors();
    EXPECT_EQ(returns.site().mechanism, Mechanism::ReturnDjprobe);
    // long_arg() counts the arguments of the call there.
    const Planned reads("probe kernel.function(\"{sys_made,six}\").call { println(long_arg(1)) }");
    ASSERT_TRUE(reads.plan) << reads.errors();
    ASSERT_EQ(reads.plan->sites.size(), 2U);
    for (const Site& site : reads.plan->sites)
        EXPECT_EQ(reads.plan->variants.at(site.variant).syscall, site.function != "six");
    EXPECT_FALSE(planned.plan->variants.at(planned.site().variant).syscall);
}

// The kernel and its module, which has the shortest of names.
TEST(ModulesOfOneLetter, AreFoundByTheirTracepointsAndFunctions) {
    std::string source = module_source;
    for (size_t at = source.find("extra"); at != source.npos; at = source.find("extra"))
        source.replace(at, 5, "x");
    const test::Folder root;
    const std::string modules = std::string("lib/modules/") + release;
    root.write("x.c", source);
    root.write(modules + "/config", "CONFIG_HZ=1000\n");
    std::filesystem::create_directories(root.file(modules + "/kernel"));
    std::filesystem::copy(files().path() + modules + "/vmlinux", root.file(modules + "/vmlinux"));
    const std::string command =
        "cd " + root.path +
        " && gcc -g -gdwarf-5 -O0 -c -ffreestanding -mcmodel=kernel -fno-pie -fno-stack-protector "
        "-fcf-protection=none -fno-asynchronous-unwind-tables x.c -o " +
        modules + "/kernel/x.ko";
    ASSERT_EQ(std::system(command.c_str()), 0);
    Images images(root.path + "/");
    test::Analysis traced("probe kernel.trace(\"x_sent\") { println(1) }");
    const auto plan = resolve_probes(*traced.program, images, {}, traced.diagnostics);
    ASSERT_TRUE(plan) << traced.errors();
    ASSERT_EQ(plan->sites.size(), 1U);
    EXPECT_EQ(plan->sites[0].point, "module(\"x\").trace(\"x:x_sent\")");
    test::Analysis called("probe kernel.function(\"x_send\") { println(1) }");
    EXPECT_FALSE(resolve_probes(*called.program, images, {}, called.diagnostics));
    EXPECT_EQ(said(called.diagnostics),
              "no function of kernel 6.1.0-whole matches \"x_send\"; it belongs to a module: "
              "module(\"x\").function(\"x_send\")");
}

} // namespace
} // namespace djstap::whole
