// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel of a few lines with all that points of a kernel may name: fentry sites, functions that
// refuse kprobes, system calls, exported functions, tracepoints, markers, variables of each CPU,
// and a module.
#pragma once
#include "probes/probes.h"

#include "unit/semantics/analysis.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

namespace djstap::whole {

inline const char* const kernel_source = R"c(typedef _Bool bool;
struct tracepoint { const char *name; };
struct tracepoint_func { void *func; void *data; };
struct trace_event_class { const char *system; void *fields; };
struct trace_event_call { void *list; struct trace_event_class *class; struct tracepoint *tp; };
struct net_device { char name[16]; };
struct sk_buff { struct sk_buff *next; int len; };
struct nf_hook_state { unsigned char hook, pf; struct net_device *in, *out; };
struct pt_regs { unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss; };
struct clone_args { unsigned long flags; int exit_signal; };
struct thing { int number; char text[8]; };
struct large { long words[3]; };
struct two { long a, b; };
struct sk_buff buffer; struct nf_hook_state state; struct tracepoint_func func;

struct tracepoint __tracepoint_first = {"first"}, __tracepoint_second = {"second"}, __tracepoint_alone;
static struct trace_event_class of_first = {"made"}, of_second = {"other"};
struct trace_event_call event_first = {0, &of_first, &__tracepoint_first};
struct trace_event_call event_second = {0, &of_second, &__tracepoint_second};
int __traceiter_first(void *__data, int number, struct thing *thing, bool flag) { return 0; }
int __traceiter_second(void *__data) { return 0; }
int __traceiter_alone(void *__data, struct large whole, long after) { return 0; }
int __traceiter_gone(void *__data) { return 0; } // there is no variable
int mm_vmscan_write_folio; // of no tracepoint

int per_cpu_number __attribute__((section(".data..percpu"))) = 3;
int shared = 4;
struct thing things[4];
int with_site(int a, long b) { return a + (int)b + shared + per_cpu_number + things[1].number; }
int without_site(int a) { return a; }
int forbidden(int a) { return a; }
int forbidden_with_site(int a) { return a; }
int native_write_cr4(int a) { return a; }
int exported(int a) { return a; }
int __ksymtab_exported;
struct thing *returns_pointer(struct thing *t) { return t; }
int varies(int n, ...) { return n; }
_Noreturn void leaves(int n) { for (;;); }
long of_float(double x) { return (long)x; }
double as_float(int x) { return 0; }
int six(long a, long b, long c, long d, long e, long f) { return 0; }
int seven(long a, long b, long c, long d, long e, long f, long g) { return 0; }
int three_pairs(struct two a, struct two b, struct two c) { return 0; }
int pairs_and_one(struct two a, struct two b, struct two c, int d) { return 0; }
int in_stack(struct large a) { return 0; }
struct large in_memory(long a, long b, long c, long d, long e) { struct large x = {{0}}; return x; }
struct large one_too_many(long a, long b, long c, long d, long e, long f) { struct large x = {{0}}; return x; }
struct two in_registers(long a, long b, long c, long d, long e, long f) { struct two x = {0}; return x; }
static long __do_sys_made(int fd, char *buf) { return without_site(fd) + with_site(fd, 1) + shared; }
long __se_sys_made(long fd, long buf) { return __do_sys_made((int)fd, (char *)buf); }
long __x64_sys_made(const struct pt_regs *regs) { return __se_sys_made((long)regs->di, (long)regs->si); }
void do_exit(long code) {}
long hrtimer_nanosleep(int a) { return a; }
int kernel_clone(struct clone_args *args) { return args->exit_signal; }
int vfs_read(int file) { return file; }
struct small { int a; short b; char c; signed char d; };
struct bits { unsigned one : 3; signed two : 5; unsigned long wide : 40; };
struct list { short items[4]; };
struct reals { float narrow; double wide; long double longest; };
union either { int number; char letters[8]; };
struct one_of { struct two *to; int count; };
int takes_parts(struct small s, struct bits b, struct list l, union either u) { return 0; }
int takes_pairs(struct one_of x, struct two y, struct reals *r, double d) { return 0; }
struct small returns_small(void) { struct small x = {0}; return x; }
float returns_float(void) { return 1; }
struct reals *returns_reals(void) { return 0; }
struct thing table[2][3];
struct ends { char one[1]; unsigned flag : 1; short eight[8], nine[9]; char rest[]; };
union wide { long words[3]; };
int takes_ends(struct ends *e, union wide *w) { return 0; }
union wide in_union(long a, long b, long c, long d, long e, long f) { union wide x = {{0}}; return x; }
static inline __attribute__((always_inline)) int do_fsync(int fd, int data) { return fd + data; }
long __x64_sys_fsync(const struct pt_regs *regs) { return do_fsync((int)regs->di, 0); }
long __x64_sys_fdatasync(const struct pt_regs *regs) { return do_fsync((int)regs->di, 1); }
struct short_name { char name[8]; };
struct long_name { char name[16]; };
int takes_short(struct short_name *n) { return 0; }
int takes_long(struct long_name *n) { return 0; }
struct holder { struct two *to; };
int takes_holder(struct holder *h) { return 0; }
struct fields {
    unsigned eight : 8, : 0;
    unsigned nine : 9, : 0;
    unsigned sixteen : 16, : 0;
    unsigned seventeen : 17, : 0;
    unsigned long half : 32, : 0;
    unsigned long more : 33;
};
int takes_fields(struct fields *f) { return 0; }
int spaced(int a) {
    // no code

    return a;
}
int fixup_exception(int a) { return a; }
__attribute__((section(".init.text"))) int at_boot(int a) { return a; }
)c";

inline const char* const kernel_tables = R"(
    .section .rodata, "a"
    .globl __start_mcount_loc, __stop_mcount_loc, __start_kprobe_blacklist, __stop_kprobe_blacklist
__start_mcount_loc:
    .quad with_site, forbidden_with_site, native_write_cr4, exported, returns_pointer, varies, leaves
    .quad of_float, as_float, six, seven, three_pairs, pairs_and_one, in_stack, in_memory
    .quad one_too_many, in_registers, __x64_sys_made, do_exit, hrtimer_nanosleep, kernel_clone, vfs_read, in_union
__stop_mcount_loc:
__start_kprobe_blacklist:
    .quad forbidden, forbidden_with_site
__stop_kprobe_blacklist:
    .section .djstap.marks, "a"
    .asciz "mark:full", "%d %s", "mark:full", "%u", "mark:other", "%p", "mark:bad", "%f"
    .asciz "mark:most", "%d%d%d%d%d%d%d%d%d%d", "mark:many", "%d%d%d%d%d%d%d%d%d%d%d"
    .asciz "mark:lengths", "%hhd %hd %d %ld %lld %hhu %hu %u %lu %llu"
    .asciz "mark:parts", "%-5d %*d %#.3x %*.*lu 100%% %c %i %o", "mark:modifiers", "%zd %td %jd %qd %Ld %zu"
    .asciz "mark:cut", "%d %5", "mark:letters", "%d %ls"
    .section .note.GNU-stack, "", @progbits
    .text
    .skip 16, 0x90 # code of no function
    .globl a_label, ftrace_call
    .type with_site.cold, @function
with_site.cold:
    ret
    .size with_site.cold, . - with_site.cold
a_label:
    ret
    .type __switch_to_asm, @function
__switch_to_asm:
    ret
    .size __switch_to_asm, . - __switch_to_asm
    .type ftrace_caller, @function
ftrace_caller:
    nop
ftrace_call:
    nop
    ret
    .size ftrace_caller, . - ftrace_caller
    .type loops, @function
loops:
    mov %edi, %eax
1:  mov %esi, %eax
    mov %edx, %eax
    test %edi, %edi
    jne 1b
    ret
    .size loops, . - loops
    .type calls, @function
calls:
    call *%rax
    call *%rax
    ret
    .size calls, . - calls
    .globl __static_call_text_start, __static_call_text_end
__static_call_text_start:
    .type __SCT__made, @function
__SCT__made:
    jmp with_site
    .size __SCT__made, . - __SCT__made
__static_call_text_end:
    .type after_static_calls, @function
after_static_calls:
    ret
    .size after_static_calls, . - after_static_calls
)";

inline const char* const module_source = R"c(struct tracepoint { const char *name; };
struct trace_event_class { const char *system; void *fields; };
struct trace_event_call { void *list; struct trace_event_class *class; struct tracepoint *tp; };
struct parcel { int weight; };
struct tracepoint __tracepoint_extra_sent = {"extra_sent"};
static struct trace_event_class of_sent = {"extra"};
struct trace_event_call event_extra_sent = {0, &of_sent, &__tracepoint_extra_sent};
int __traceiter_extra_sent(void *__data, struct parcel *parcel) { return parcel->weight; }
int in_module = 7;
int of_each_cpu __attribute__((section(".data..percpu"))) = 1;
int of_beginning __attribute__((section(".init.data"))) = 1;
int extra_send(struct parcel *parcel) { return parcel->weight + in_module; }
int extra_more(int a) { return a; }
__attribute__((section(".init.text"))) int extra_begin(void) { return 0; }
int __ksymtab_extra_send;
asm(".section .gnu.linkonce.this_module,\"aw\"\n.skip 64\n"
    ".section __mcount_loc,\"a\"\n.quad extra_send\n"
    ".section .djstap.marks,\"a\"\n.asciz \"mark:in_extra\", \"%lu\"\n"
    ".section .static_call.text,\"ax\"\n.type __SCT__extra,@function\n__SCT__extra: jmp extra_more\n"
    ".size __SCT__extra,.-__SCT__extra\n.text\n");
)c";

inline constexpr const char* release = "6.1.0-whole";

// Laid out like a root file system.
class Files {
  public:
    Files() {
        root_.write("src/kernel.c", kernel_source);
        root_.write("src/tables.s", kernel_tables);
        root_.write("src/extra.c", module_source);
        root_.write("src/percpu.ld", "SECTIONS { .data..percpu 0x6000 : { *(.data..percpu) } "
                                     ".init.text 0xffffffff82000000 : { *(.init.text) } } "
                                     "INSERT BEFORE .text;");
        const std::string options = "-g -gdwarf-5 -O0 -c -ffreestanding -mcmodel=kernel -fno-pie "
                                    "-fno-stack-protector -fcf-protection=none "
                                    "-fno-asynchronous-unwind-tables ";
        shell("set -e; cd src; gcc " + options + "kernel.c; gcc " + options +
              "extra.c -o extra.ko; "
              "as -o tables.o tables.s; ld --build-id -e 0 -T percpu.ld "
              "-Ttext=0xffffffff81000000 --defsym=_stext=0xffffffff81000000 "
              "--defsym=_etext=etext -o vmlinux kernel.o tables.o");
        const std::string modules = std::string("lib/modules/") + release;
        root_.write(modules + "/config", "CONFIG_HZ=1000\n");
        std::filesystem::create_directories(path() + modules + "/kernel");
        for (const char* name : {"vmlinux", "kernel/extra.ko"})
            std::filesystem::copy(path() + "src/" + std::filesystem::path(name).filename().string(),
                                  path() + modules + "/" + name);
        root_.write(modules + "/modules.alias", "alias djstap_mark:in_extra extra\n"
                                                "alias djstap_mark:lost lost\n");
        root_.write(modules + "/modules.builtin", "kernel/fs/ext9.ko\n");
    }
    std::string path() const { return root_.path + "/"; }

  private:
    void shell(const std::string& commands) const {
        EXPECT_EQ(std::system(("cd " + path() + " && " + commands).c_str()), 0) << commands;
    }
    test::Folder root_;
};

inline const Files& files() {
    static const Files made;
    return made;
}

struct Planned {
    explicit Planned(const std::string& script, const ProbeOptions& options = {},
                     const std::string& library = "", const SemanticsOptions& semantics = {})
        : images(files().path()), analysis(script, semantics, library) {
        EXPECT_TRUE(analysis.program) << analysis.errors();
        if (analysis.program)
            plan = resolve_probes(*analysis.program, images, options, analysis.diagnostics);
    }
    std::string errors() const { return analysis.errors(); }
    const Site& site(size_t number = 0) const { return plan->sites.at(number); }

    Images images;
    test::Analysis analysis;
    std::optional<ProbePlan> plan;
};

// "with_site@kernel.c:31": a function with the place of its declaration.
inline std::string declared(const std::string& function, bool in_module = false) {
    const std::string text = in_module ? module_source : kernel_source;
    size_t at = text.find(function + "(");
    while (at != std::string::npos && at > 0 && text[at - 1] != ' ' && text[at - 1] != '*')
        at = text.find(function + "(", at + 1);
    EXPECT_NE(at, std::string::npos) << function;
    const auto line = std::count(text.begin(), text.begin() + static_cast<long>(at), '\n') + 1;
    return function + (in_module ? "@extra.c:" : "@kernel.c:") + std::to_string(line);
}

// The message of the first error, else of the first warning, with its hint: "message; hint".
inline std::string said(const Diagnostics& diagnostics) {
    const auto& all = diagnostics.all();
    if (all.empty())
        return "nothing";
    auto first = std::find_if(all.begin(), all.end(), [](const Diagnostic& each) {
        return info(each.kind).severity == Severity::Error;
    });
    if (first == all.end())
        first = all.begin();
    return first->message + (first->hint_text.empty() ? "" : "; " + first->hint_text);
}

inline std::string said(const std::string& point, const ProbeOptions& options = {},
                        const std::string& body = "println(1)") {
    return said(Planned("probe " + point + " { " + body + " }", options).analysis.diagnostics);
}

// Each place of a point, with its mechanism: "kernel.function(\"f@kernel.c:3\") kprobe"; or what is
// wrong with it.
inline std::string places_of(const std::string& point, const ProbeOptions& options = {},
                             const std::string& body = "println(1)") {
    const Planned planned("probe " + point + " { " + body + " }", options);
    if (!planned.plan)
        return said(planned.analysis.diagnostics);
    std::string text;
    for (const Site& site : planned.plan->sites)
        text += site.point + " " + std::string(mechanism_name(site.mechanism)) + "\n";
    return text;
}

inline ProbeOptions forced(Mechanism mechanism) {
    ProbeOptions options;
    options.forced = mechanism;
    return options;
}

} // namespace djstap::whole
