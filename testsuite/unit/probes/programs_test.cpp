// SPDX-License-Identifier: GPL-2.0-or-later
// Points in programs: their places, target variables and refusals.
#include "unit/probes/programs.h"

#include "arch/arch.h"
#include "image/program.h"

#include <csignal>
#include <elf.h>
#include <filesystem>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace djstap::programs {
namespace {

constexpr const char* kinds[] = {"-g -O0", "-g -O2", "-g -O2 -no-pie", "-g -O2 -static",
                                 "-g -O2 -static-pie"};

TEST_F(Programs, FunctionsAreFoundHoweverTheProgramIsLinked) {
    for (const char* kind : kinds) {
        const std::string program = compile("program", kind);
        const std::string prefix = "process(\"" + program + "\")";
        const std::string place = "@program.c:5";
        EXPECT_EQ(points_of(prefix + ".function(\"sum\")"),
                  prefix + ".function(\"sum" + place + "\") uprobe\n")
            << kind;
        EXPECT_EQ(points_of(prefix + ".function(\"sum@program.c\").return"),
                  prefix + ".function(\"sum" + place + "\").return uretprobe\n")
            << kind;
        // A place in the file is that of its segment.
        const Planned planned("probe " + prefix + ".function(\"sum\") { println(1) }");
        ASSERT_TRUE(planned.plan) << planned.errors();
        const Site& site = planned.plan->sites.at(0);
        const ProbedImage& image = planned.plan->images.at(site.image);
        EXPECT_EQ(image.kind, ImageKind::Program);
        size_t segments = 0;
        for (const Segment& segment : image.segments)
            segments += segment.executable && segment.contains(site.address);
        EXPECT_EQ(segments, 1U) << kind;
    }
}

TEST_F(Programs, InlinedFunctionsLabelsAndStatementsHaveDwarf) {
    const std::string prefix = "process(\"" + compile("program", "-g -O2") + "\")";
    EXPECT_NE(points_of(prefix + ".function(\"inlined\")").find(".inline uprobe\n"),
              std::string::npos);
    EXPECT_NE(points_of(prefix + ".function(\"inlined\").call").find("has no code of its own"),
              std::string::npos);
    EXPECT_NE(points_of(prefix + ".statement(\"main@program.c:12\")").find(".statement("),
              std::string::npos);
    EXPECT_NE(points_of(prefix + ".function(\"main\").label(\"out\")").find(".label(\"out\")"),
              std::string::npos);
    EXPECT_NE(points_of(prefix + ".statement(\"main@program.c:9999\")").find("error"),
              std::string::npos);
}

// Without optimization DWARF has no parameter at the entry: how classes are passed decides. gcc
// says it only by the place where it keeps the address of an object.
TEST_F(Programs, ParametersInCxxFollowTheirClasses) {
    std::ofstream(path("classes.cpp")) << R"c(struct text { char* at; text(const text&); ~text(); };
struct mixed { double x; int y; };
struct member { int m; int method(int k); };
int member::method(int k) { return m + k; }
int plain(int i, long j) { return i + (int)j; }
int by_reference(text t, int k) { return *t.at + k; }
text copied(int k, text* from) { return k ? *from : from[1]; }
struct two { int a, b; };
two simple(int k) { return {k, k}; }
int with_double(mixed p, int k) { return p.y + k; }
struct real { double x; };
struct derived : real { int y; };
int with_base(derived p, int k) { return p.y + k; }
double half(mixed* from) { return from->x / 2; }
struct others { float usual; _Float16 narrow; long double wide; };
bool is_there(others* all) { return all->usual != 0; }
)c";
    for (const bool tells : {false, true}) {
        shell(std::string(tells ? "clang++-19" : "g++") +
              " -w -g -O0 -shared -fPIC classes.cpp -o classes");
        const std::string prefix = "process(\"" + path("classes") + "\").function(\"";
        EXPECT_EQ(refusal(prefix + "plain\")", "println($i + $j)"), "fine");
        EXPECT_EQ(refusal(prefix + "method\")", "println($this, $k)"), "fine");
        EXPECT_EQ(refusal(prefix + "by_reference\")", "println($k)"), "fine");
        const Planned planned("probe " + prefix + "by_reference\") { println($t->at, $k) }");
        ASSERT_TRUE(planned.plan) << planned.errors();
        const FunctionInfo& function = *planned.plan->sites.at(0).info;
        ASSERT_EQ(function.parameters.size(), 2U);
        const Location& object = function.parameters[0].location;
        EXPECT_EQ(object.kind, LocationKind::Memory);
        EXPECT_EQ(object.reg, arch::argument_registers()[0]);
        EXPECT_EQ(object.offset, 0);
        EXPECT_EQ(function.parameters[1].location.reg, arch::argument_registers()[1]);
        // The address of the result may come first.
        const std::string result = refusal(prefix + "copied\")", "println($k)");
        EXPECT_EQ(result == "fine", tells) << result;
        EXPECT_EQ(refusal(prefix + "simple\")", "println($k)"), "fine");
        for (const char* name : {"with_double", "with_base"})
            EXPECT_NE(refusal(prefix + name + "\")", "println($k)").find("not available"),
                      std::string::npos)
                << name;
        // A number in a register of the FPU is not there.
        EXPECT_EQ(refusal(prefix + "half\")", "println($from->x)"), "fine");
        EXPECT_NE(refusal(prefix + "half\").return", "println($return)")
                      .find("a 'double' cannot be used"),
                  std::string::npos);
        EXPECT_EQ(refusal(prefix + "is_there\")", "println($all->usual)"), "fine");
        for (const char* other : {"narrow", "wide"})
            EXPECT_NE(refusal(prefix + "is_there\")", std::string("println($all->") + other + ")")
                          .find("cannot be used"),
                      std::string::npos)
                << other;
    }
}

TEST_F(Programs, FunctionsInFunctionsAreFound) {
    std::ofstream(path("local.cpp")) << R"c(#include <cstdlib>
template <class F> [[gnu::noinline]] int apply(F f, int n) { return f(n); }
template <class T> int outer(T k) {
    struct local { [[gnu::noinline]] static T method(T n) { return n + 1; } };
    class hidden { public: [[gnu::noinline]] static T secret(T n) { return n * 3; } };
    union joined { long all; [[gnu::noinline]] static T part(T n) { return n * 5; } };
    return local::method(k) + hidden::secret(k) + joined::part(k) + apply([k](int captured) __attribute__((noinline)) { return captured + int(k); }, 2);
}
int main(int argc, char**) { return outer(argc) + outer(long(argc)); }
)c";
    for (const std::string compiler : {"g++", "clang++-19"}) {
        shell(compiler + " -g -O2 -w local.cpp -o local");
        const std::string prefix = "process(\"" + path("local") + "\")";
        const Planned planned("probe " + prefix +
                              ".function(\"operator()\").call { println($captured) }");
        ASSERT_TRUE(planned.plan) << compiler << planned.errors();
        EXPECT_EQ(planned.plan->sites.size(), 2U) << compiler;
        for (const std::string name : {"method", "secret", "part"}) {
            const Planned method("probe " + prefix + ".function(\"" + name +
                                 "\").call { println($n) }");
            ASSERT_TRUE(method.plan) << compiler << method.errors();
            EXPECT_EQ(method.plan->sites.size(), 2U) << compiler << name;
        }
    }
    std::ofstream(path("nested.c"))
        << "__attribute__((noinline)) int call(int (*f)(int), int n) { return f(n); }\n"
           "int main(int argc, char **argv) {\n"
           "    __attribute__((noinline)) int inner(int n) { return n + argc; }\n"
           "    return call(inner, 3);\n"
           "}\n";
    shell("gcc -g -O2 -w nested.c -o nested");
    const Planned nested("probe process(\"" + path("nested") +
                         "\").function(\"inner\").call { println($n) }");
    EXPECT_TRUE(nested.plan) << nested.errors();
}

// clang numbers the addresses of variables (DW_OP_addrx, DWARF 5, 2.5.1.1).
TEST_F(Programs, VariablesHaveAddresses) {
    std::ofstream(path("counts.c"))
        << "__attribute__((noinline)) int f(int n) {\n"
           "    static int inside;\n" // has no symbol of this name, unlike a global variable
           "    return inside += n;\n"
           "}\n"
           "int main(int argc, char **argv) { return f(argc); }\n";
    for (const std::string compiler : {"gcc", "clang-19 -gdwarf-5", "clang-19 -gdwarf-4"}) {
        shell(compiler + " -g -O2 -w counts.c -o counts");
        const Planned planned("probe process(\"" + path("counts") +
                              "\").statement(\"f@counts.c:3\") { println($inside) }");
        EXPECT_TRUE(planned.plan) << compiler << planned.errors();
    }
}

// Each file has a variable of that name.
TEST_F(Programs, VariablesAreThoseOfTheProbedFile) {
    for (const std::string file : {"one", "two"})
        std::ofstream(path(file + ".c")) << "static int own = 1;\n"
                                            "__attribute__((noinline)) int in_"
                                         << file << "(int n) {\n    return own += n;\n}\n";
    std::ofstream(path("main.c")) << "int in_one(int n), in_two(int n);\n"
                                     "int main(int argc, char **argv) {\n"
                                     "    return in_one(argc) + in_two(argc);\n}\n";
    shell("gcc -g -O1 -w one.c two.c main.c -o both");
    const auto place_in = [&](const std::string& point) {
        const Planned planned("probe process(\"" + path("both") + "\")." + point +
                              " { println($own) }");
        EXPECT_TRUE(planned.plan) << planned.errors();
        if (!planned.plan || planned.plan->variants.at(0).accesses.size() != 1)
            return uint64_t{0};
        return planned.plan->variants[0].accesses.begin()->second.value.constant;
    };
    const uint64_t one = place_in("function(\"in_one\")"), two = place_in("function(\"in_two\")");
    EXPECT_NE(one, 0);
    EXPECT_NE(one, two);
    EXPECT_EQ(place_in("statement(\"in_one@one.c:3\")"), one);
    EXPECT_EQ(place_in("statement(\"in_two@two.c:3\")"), two);
}

TEST_F(Programs, ClonesLackParametersAlsoWhereTheLinkerOptimizes) {
    std::ofstream(path("clone.c"))
        << "struct box { long a, b; };\n"
           "__attribute__((noinline)) long scaled(struct box *box, long k) {\n"
           "    long b = box->b;\n"
           "    __asm__ volatile(\"\" : : \"r\"(k), \"r\"(b));\n"
           "    return b * k;\n"
           "}\n"
           "int main(int argc, char **argv) {\n"
           "    struct box box = {argc, argc + 2};\n"
           "    __asm__ volatile(\"\" : : \"r\"(&box) : \"memory\");\n"
           "    return scaled(&box, argc) + scaled(&box, argc + 5);\n"
           "}\n";
    shell("gcc -g -O2 -flto -flto-partition=max -w clone.c -o clone && nm clone | grep -q "
          "'scaled.isra'");
    const std::string point = "process(\"" + path("clone") + "\").function(\"scaled\").call";
    const Planned number("probe " + point + " { println($k) }");
    EXPECT_TRUE(number.plan) << number.errors();
    EXPECT_NE(refusal(point, "println($box)"), "fine"); // its register has box->b
}

TEST_F(Programs, SymbolsSufficeForFunctions) {
    const std::string program = compile("program", "-O2");
    const std::string prefix = "process(\"" + program + "\")";
    EXPECT_EQ(points_of(prefix + ".function(\"{sum,hidden}*\")").find("error"), std::string::npos);
    EXPECT_EQ(points_of(prefix + ".function(\"sum\").exported"),
              prefix + ".function(\"sum\").exported uprobe\n");
    EXPECT_NE(refusal(prefix + ".function(\"hidden*\").exported").find("error"), std::string::npos);
    EXPECT_NE(
        refusal(prefix + ".statement(\"sum@program.c:5\")").find("there is only a symbol table"),
        std::string::npos);
    EXPECT_NE(
        refusal(prefix + ".function(\"main\").label(\"out\")").find("there is only a symbol table"),
        std::string::npos);
    EXPECT_NE(refusal(prefix + ".function(\"sum\")", "println($a)").find("compile it with -g"),
              std::string::npos);
    EXPECT_NE(refusal(prefix + ".function(\"sun\")").find("did you mean 'sum'?"),
              std::string::npos);
}

// What identifies a Go program is made up.
TEST_F(Programs, FunctionsOfAStrippedProgramMayBeAmongItsDebugSymbols) {
    const std::string program = compile("stripped", "-O2 -s");
    const auto hinted = [&](const std::string& name) {
        return refusal("process(\"" + program + "\").function(\"" + name + "\")")
                   .find("hint: without debug information only the functions are known") !=
               std::string::npos;
    };
    EXPECT_TRUE(hinted("hidden"));
    EXPECT_TRUE(hinted("hid*"));
    EXPECT_FALSE(refusal("process(\"" + compile("whole", "-g -O2") + "\").function(\"nowhere\")")
                     .find("without debug") != std::string::npos);
}

TEST_F(Programs, ReturnsInGoAreRefused) {
    compile("program", "-g -O2");
    shell("echo table > table && objcopy --add-section .gopclntab=table program");
    const std::string prefix = "process(\"" + path("program") + "\")";
    EXPECT_EQ(refusal(prefix + ".function(\"sum\")"), "fine");
    EXPECT_NE(refusal(prefix + ".function(\"sum\").return").find("written in Go"),
              std::string::npos);
    EXPECT_NE(refusal(prefix + ".plt(\"rand\").return").find("written in Go"), std::string::npos);
}

TEST_F(Programs, DebugInformationMayBeSeparate) {
    compile("program", "-g -O2");
    shell("objcopy --only-keep-debug program program.debug && strip program && "
          "objcopy --add-gnu-debuglink=program.debug program");
    const std::string prefix = "process(\"" + path("program") + "\")";
    EXPECT_EQ(refusal(prefix + ".function(\"sum\")", "println($a, $b)"), "fine");
    EXPECT_EQ(refusal(prefix + ".function(\"hidden\")", "println($shape->name)"), "fine");
    // The call frames are in the program, not in what was separated.
    EXPECT_EQ(refusal(prefix + ".statement(\"main@program.c:14\")", "println($argc)"), "fine");
}

TEST_F(Programs, AddressesInAProgramAreTheProcesses) {
    const std::string prefix = "process(\"" + compile("program", "-g -O2") + "\")";
    const Planned planned("probe " + prefix + ".function(\"sum\") { println($counter, " +
                          "@var(\"table@program.c\")[1]->sizes[2]) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    for (const auto& [node, access] : planned.plan->variants.at(0).accesses) {
        EXPECT_EQ(access.value.base, Access::Base::ImageAddress);
        EXPECT_EQ(access.value.space, AddressSpace::User);
    }
    EXPECT_NE(refusal("begin", "println(@var(\"counter\", \"" + path("program") + "\"))")
                  .find("a variable of a program that the probe is not in"),
              std::string::npos);
}

// A breakpoint within an instruction would make another one of it.
TEST_F(Programs, NoStatementBeginsWithinAnInstruction) {
    std::ofstream(path("within.c")) << R"c(long within(long a) {
    /* mov $0x90909090, %eax */
    __asm__ volatile("nop\n.byte 0xb8\n.loc 1 90\nnop\nnop\nnop\nnop\n.loc 1 91\nnop" ::: "rax");
    return a;
}
)c";
    shell("gcc -g -O2 -shared -fPIC within.c -o within");
    const std::string prefix = "process(\"" + path("within") + "\").statement(\"within@within.c:";
    EXPECT_EQ(refusal(prefix + "91\")"), "fine");
    EXPECT_NE(refusal(prefix + "90\")").find("no instruction begins there"), std::string::npos);
    // Of all lines, those that can be probed are.
    EXPECT_EQ(points_of(prefix + "*\")").find(":90"), std::string::npos);
}

// A function may be called where no process is in the program.
TEST_F(Programs, FunctionsOfScriptsDoNotReadItsVariables) {
    const std::string program = compile("program", "-g -O2");
    const Planned planned("function f() { return @var(\"counter\", \"" + program +
                          "\") } probe process(\"" + program +
                          "\").function(\"sum\") { println(f()) }");
    EXPECT_FALSE(planned.plan);
    EXPECT_NE(planned.errors().find("a variable of a program that the probe is not in"),
              std::string::npos);
}

TEST_F(Programs, AProcessIsNamedByNumberOrByTheCommand) {
    const std::string program = compile("program", "-g -O2");
    const Planned planned("probe process.function(\"sum\") { println(1) }", program);
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(planned.plan->images.at(planned.plan->sites.at(0).image).name, program);
    std::ofstream(path("waits.c")) << "#include <unistd.h>\nint main(void) { return pause(); }\n";
    shell("gcc -g waits.c -o waits");
    const pid_t process = fork();
    if (process == 0) {
        execl(path("waits").c_str(), "waits", nullptr);
        _exit(127);
    }
    const auto runs_it = [&] {
        std::error_code none;
        return std::filesystem::equivalent("/proc/" + std::to_string(process) + "/exe",
                                           path("waits"), none);
    };
    while (!runs_it()) {
        ASSERT_EQ(waitpid(process, nullptr, WNOHANG), 0);
        usleep(1000);
    }
    const Planned numbered("probe process(" + std::to_string(process) +
                           ").function(\"main\") { println(1) }");
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    ASSERT_TRUE(numbered.plan) << numbered.errors();
    const auto* place = std::get_if<ProgramPlace>(&numbered.plan->variants.at(0).payload);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->process, static_cast<uint64_t>(process));
    EXPECT_NE(refusal("process.function(\"sum\")").find("-c COMMAND or -x PID"), std::string::npos);
    EXPECT_EQ(points_of("process.function(\"sum\")?"), "");
    EXPECT_EQ(points_of("process(\"" + path("none") + "\").function(\"sum\")?"), "");
    EXPECT_NE(refusal("process(\"" + path("none") + "\").function(\"sum\")"), "fine");
}

TEST_F(Programs, PatternsMatchSeveralPrograms) {
    compile("one", "-g -O2");
    compile("two", "-g -O0");
    std::ofstream(path("text")) << "no program";
    EXPECT_EQ(Planned("probe process(\"" + path("*") + "\").function(\"sum\") { println(1) }")
                  .plan->images.size(),
              2U);
    EXPECT_NE(
        refusal("process(\"" + path("x*") + "\").function(\"sum\")").find("no program matches"),
        std::string::npos);
}

TEST_F(Programs, ScriptsStandForTheirInterpreters) {
    const std::string program = compile("program", "-g -O2");
    std::ofstream(path("script")) << "#!" << program << " -x\n";
    std::ofstream(path("second")) << "#! " << path("script") << "\n";
    for (const char* name : {"script", "second"}) {
        auto file = find_program_file(path(name));
        ASSERT_TRUE(file) << file.failure().message;
        EXPECT_EQ(*file, program);
    }
    std::ofstream(path("endless")) << "#!" << path("endless") << "\n";
    EXPECT_FALSE(find_program_file(path("endless")));
}

TEST_F(Programs, OfProcesses) {
    const auto own = program_file_of_process(getpid());
    ASSERT_TRUE(own) << own.failure().message;
    EXPECT_EQ(*own, std::filesystem::canonical("/proc/self/exe"));
    EXPECT_EQ(program_file_of_process(4194305).failure().message, "there is no process 4194305");

    pid_t thread = 0;
    std::string refused;
    std::thread([&] {
        thread = gettid();
        refused = program_file_of_process(thread).failure().message;
    }).join();
    EXPECT_EQ(refused,
              std::to_string(thread) + " is a thread of process " + std::to_string(getpid()));

    const pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(program_file_of_process(ended).failure().message,
              "process " + std::to_string(ended) + " runs no program");
    waitpid(ended, nullptr, 0);
}

TEST_F(Programs, OfProcessesOfOtherUsers) {
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can become another user";
    const pid_t root = getpid(), other = fork();
    if (other == 0) {
        constexpr uid_t nobody = 65534;
        if (setuid(nobody) != 0)
            _exit(2);
        const auto file = program_file_of_process(root);
        _exit(!file && file.failure().message.ends_with("cannot be read: Permission denied") ? 0
                                                                                             : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
}

TEST_F(Programs, LibrariesAreInTheFolderOfTheMachine) {
    const std::string own = std::string(arch::names().machine) + "-linux-gnu";
    EXPECT_EQ(in_folder_of_machine("/lib*/libc.so.6"), "/lib*/" + own + "/libc.so.6");
    EXPECT_EQ(in_folder_of_machine("/usr/lib64/libm.so.*"), "/usr/lib/" + own + "/libm.so.*");
    for (const char* other : {"/usr/bin/program", "/opt/libx.so", "libc.so.6", "/lib/program", ""})
        EXPECT_EQ(in_folder_of_machine(other), "") << other;
    const std::filesystem::path folder = path("lib/" + own);
    std::filesystem::create_directories(folder);
    const std::string program = compile("program", "-g -O2");
    std::filesystem::copy(program, folder / "libsum.so.1");
    std::filesystem::create_symlink("libsum.so.1", folder / "libsum.so");
    std::ifstream wide(program, std::ios::binary);
    std::string narrow{std::istreambuf_iterator<char>(wide), {}};
    narrow[EI_CLASS] = ELFCLASS32;
    std::filesystem::create_directory(path("lib32"));
    std::ofstream(path("lib32/libsum.so.1"), std::ios::binary) << narrow;
    EXPECT_EQ(program_files_matching(path("lib*/libsum.so*")),
              std::vector<std::string>{folder / "libsum.so.1"});
    auto file = find_program_file(path("lib64/libsum.so"));
    ASSERT_TRUE(file) << file.failure().message;
    EXPECT_EQ(*file, folder / "libsum.so.1");
    EXPECT_FALSE(find_program_file(path("lib64/libsum.so.2")));
}

// Whatever a file is cut to, it is refused, or what it has is used.
TEST_F(Programs, DamagedFilesAreRefused) {
    const std::string program = compile("program", "-g -O2");
    std::ifstream file(program, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    size_t refused = 0;
    for (size_t size = 0; size < bytes.size(); size += bytes.size() / 40) {
        std::ofstream(path("cut"), std::ios::binary) << bytes.substr(0, size);
        refused += refusal("process(\"" + path("cut") + "\").function(\"sum\")") != "fine";
    }
    EXPECT_GT(refused, 30U);
    std::string narrow = bytes;
    narrow[EI_CLASS] = ELFCLASS32;
    std::ofstream(path("narrow"), std::ios::binary) << narrow;
    EXPECT_NE(refusal("process(\"" + path("narrow") + "\").function(\"sum\")").find("64-bit"),
              std::string::npos);
    shell("gcc -c program.c -o object.o");
    EXPECT_NE(refusal("process(\"" + path("object.o") + "\").function(\"sum\")")
                  .find("neither a program nor a library"),
              std::string::npos);
}

TEST_F(Programs, LibrariesAndStubsAreThoseOfTheProgram) {
    compile("program", "-g -O2");
    const std::string prefix = "process(\"" + path("program") + "\")";
    EXPECT_EQ(points_of(prefix + ".plt(\"rand\")"), prefix + ".plt(\"rand\") uprobe\n");
    EXPECT_EQ(points_of(prefix + ".plt(\"rand\").return"),
              prefix + ".plt(\"rand\").return uretprobe\n");
    EXPECT_NE(refusal(prefix + ".plt(\"ramd\")").find("did you mean 'rand'?"), std::string::npos);
    EXPECT_NE(points_of(prefix + ".library(\"libc.so.*\").function(\"rand\")").find("/libc.so"),
              std::string::npos);
    EXPECT_NE(refusal(prefix + ".library(\"libnone.so\").function(\"rand\")")
                  .find("no library of the program matches"),
              std::string::npos);
    const Planned planned("probe " + prefix +
                          ".library(\"libc.so.*\").function(\"rand\") { println(1) }");
    ASSERT_TRUE(planned.plan) << planned.errors();
    EXPECT_EQ(mechanism_program(planned.plan->variants.at(0).payload), path("program"));
}

} // namespace
} // namespace djstap::programs
