# SPDX-License-Identifier: GPL-2.0-or-later
"""Random scripts that probe a kernel: what a seed determines is a script, its options, and how its handlers are compiled."""
import random

# Functions that a busy guest calls, with values that their parameters lead to. Some names are not those of every kernel,
# so all these points are optional; a value that is not available is caught by @defined.
FUNCTIONS = {
    "vfs_read": ["$file", "$buf", "$count", "$file->f_flags", "$file->f_path->dentry->d_name->len", "$pos"],
    "vfs_write": ["$file", "$count", "$file->f_mode", "$file->f_inode->i_ino"],
    "ksys_read": ["$fd", "$count"],
    "ksys_write": ["$fd", "$buf", "$count"],
    "vfs_open": ["$path", "$file", "$path->dentry->d_parent->d_inode->i_ino"],
    "do_sys_openat2": ["$dfd", "$filename", "$how->flags"],
    "path_openat": ["$nd->depth", "$op->open_flag", "$flags"],
    "link_path_walk": ["$name", "$nd"],
    "dput": ["$dentry", "$dentry->d_flags"],
    "vfs_getattr_nosec": ["$path", "$stat", "$request_mask"],
    "filp_close": ["$filp", "$id"],
    "kfree": [],
    "kmem_cache_alloc": ["$s"],
    "try_to_wake_up": ["$p->pid", "$state", "$wake_flags"],
    "enqueue_task_fair": ["$rq", "$p->tgid", "$flags"],
    "update_curr": ["$cfs_rq"],
    "schedule": [],
    "do_exit": ["$code"],
    "copy_process": ["$trace"],
    "handle_mm_fault": ["$vma->vm_start", "$address", "$flags"],
    "ktime_get": [],
    "hrtimer_interrupt": ["$dev"],
    "update_process_times": ["$user_tick"],
    "irq_enter_rcu": [],
    "rcu_core": [],
    "call_rcu": [],
    "mutex_lock": ["$lock"],
    "pipe_read": ["$iocb", "$to"],
    "pipe_write": ["$iocb", "$from"],
    "udp_sendmsg": ["$sk", "$len"],
    "ip_rcv": ["$skb->len", "$dev"],
    "__x64_sys_gettimeofday": ["$tv", "$tz"],
    "sys_nanosleep": ["$rqtp"],
    "find_vma": ["$mm", "$addr"],
    "security_file_permission": ["$file", "$mask"],
}
# None of them stands for many functions: attaching hundreds of kprobes takes an emulated processor seconds.
PATTERNS = ["vfs_[o-s]*", "ksys_*", "__x64_sys_r*", "do_*open*", "*@fs/pipe.c", "*_open@fs/open.c", "hrtimer_[s-u]*@kernel/time/hrtimer.c",
            "*_task_fair@kernel/sched/fair.c", "ktime_get_*@kernel/time/timekeeping.c", "[ab]*@fs/namei.c", "mutex_[lu]*", "vm_mmap*", "_do_fork*",
            "ip_r*@net/ipv4/*.c", "__fget*@fs/file.c", "wake_up_*@kernel/sched/core.c"]
CALLEES = [("vfs_read", "*"), ("vfs_write", "*"), ("ksys_read", "vfs_read"), ("vfs_open", "*"), ("path_openat", "*"),
           ("do_sys_openat2", "*"), ("pipe_read", "*"), ("try_to_wake_up", "*"), ("do_exit", "*"), ("udp_sendmsg", "*")]
STATEMENTS = ["vfs_read@fs/read_write.c:*", "ksys_read@fs/read_write.c:*", "vfs_open@fs/open.c:*", "do_sys_openat2@fs/open.c:*",
              "pipe_poll@fs/pipe.c:*", "ktime_get@kernel/time/timekeeping.c:*"]
INLINED = ["get_file", "task_tgid_nr", "fdget_pos", "file_inode", "d_backing_inode", "pipe_full", "is_idle_task"]
TRACEPOINTS = ["sched_switch", "sched_wakeup", "sched_process_*", "sys_enter", "sys_exit", "irq_handler_*", "softirq_*", "kmem:*", "timer:*",
               "sched:*", "irq:*", "raw_syscalls:*", "signal:*", "task:*", "skb:*", "rcu_utilization"]
OF_PROGRAM = ["function(\"sum\")", "function(\"deep\")", "function(\"describe\")", "function(\"many\")", "function(\"*\")",
              "function(\"leave\")", "statement(\"deep@*:*\")", "function(\"main\")"]
EDGES = ["0", "1", "-1", "7", "255", "0x7fffffff", "0x80000000", "0xffffffff", "9223372036854775807", "-9223372036854775807 - 1"]
ENTRIES = ["djprobe", "ftrace", "kprobe", "kprobe-int3", "kprobe-jump"]
RETURNS = ["return-djprobe", "kretprobe"]
OPERATORS = ["+", "-", "*", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", ">", "&&", "||"]


class Script:
    """`text`, `options` of djstap, and `form`: the value of DJSTAP_HANDLER_FORMS."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.globals = self.draw.randrange(1, 4)
        self.kind = "entry"
        self.values = []
        self.guru = self.chance(0.3)
        self.mechanism = self.draw.choice(ENTRIES + RETURNS) if self.chance(0.3) else ""
        parts = [self.declarations()]
        probes = self.draw.choice([1, 2, 3, 4, 5, 7, 9]) if self.chance(0.9) else self.draw.randrange(61, 70)
        parts += [self.probe(many=probes > 20) for _ in range(probes)]
        if self.chance(0.3):
            parts.append("probe error { printf(\"an error\\n\") }")
        first = "; ".join(f"m{i}[1] = 1; w{i}[\"a\", 1] = 1; s{i} <<< 1; a{i}[\"a\"] <<< 1" for i in range(self.globals))
        self.kind, self.values = "plain", []
        parts.append(f"probe begin {{ {first}; {self.block(1)} }}")
        # Known from outside: `exactly` makes as many calls as it is told.
        parts.append("global calls\nprobe kernel.function(\"sys_gettimeofday\")" + (".return" if self.mechanism in RETURNS else "") +
                     " { if (execname() == \"exactly\") calls++ }")
        parts.append(self.report())
        self.text = "\n".join(parts) + "\n"
        self.options = self.choose_options()
        self.form = self.draw.choice(["called", "context", "separate"]) if self.chance(0.3) else ""

    def chance(self, share):
        return self.draw.random() < share

    def choose_options(self):
        options = ["-w", "-DMAXERRORS=30", "-DMAXSKIPPED=100000000"]
        if self.guru:
            options.append("-g")
        if self.mechanism:
            options.append("--mechanism=" + self.mechanism)
        if self.chance(0.4):
            options.append(self.draw.choice(["-DMAXACTION=20", "-DMAXACTION=100000", "-DMAXSTRINGLEN=64", "-DMAXSTRINGLEN=4096", "-DMAXMAPENTRIES=16",
                                             "-DRING_KB=16", "-DMAXTRYLOCK=1", "-DKRETACTIVE=1", "-DMAXBACKTRACE=128", "-DSTP_NO_OVERLOAD",
                                             "-DSTP_OVERLOAD_THRESHOLD=1000000", "-DMAXNESTING=3", "-DMINSTACKSPACE=2048", "-DMAXERRORS=0"]))
        return options

    # ---- what scripts declare

    def declarations(self):
        lines = []
        for i in range(self.globals):
            lines.append(f"global n{i}, t{i}, m{i}{self.draw.choice(['', '%', '[50]', '%[20]'])}, w{i}{self.draw.choice(['', '%', '[9]'])}, "
                         f"s{i}, a{i}{self.draw.choice(['', '%', '[30]'])}, x{i} = {self.draw.randrange(9)}, on{i} = 1")
        lines.append(self.draw.choice([
            "function f:long(n:long) { if (n <= 0) return 1; return n * f(n - 1) }",
            "function f:long(n:long) { return n < 0 ? -n : n + x0 }",
            "function f:long(n:long) { x0 += n & 1; for (i = 0; i < 5; i++) if (i == n) return i; return pid() }"]))
        lines.append(self.draw.choice([
            "function g:string(s:string, n:long) { return n > 2 ? s . sprintf(\"%d\", n) : g(s . \"+\", n + 1) }",
            "function g:string(s:string, n:long) { return substr(s, 0, n & 15) . execname() }",
            "function g:string(s:string, n:long) { n0 += n; return strlen(s) > 3 ? s : \"short\" }"]))
        return "\n".join(lines)

    def report(self):
        lines = []
        for i in range(self.globals):
            lines.append(f"printf(\"%d %d\\n\", n{i}, t{i})")
            lines.append(f"foreach (k{self.draw.choice(['', '+', '-'])} in m{i} limit 5) printf(\"%d %d\\n\", k, m{i}[k])")
            lines.append(f"foreach ([p, q] in w{i}{self.draw.choice(['', '+', '-'])} limit 5) println(p, q, w{i}[p, q])")
            lines.append(f"if (@count(s{i})) {{ println(@avg(s{i}), @min(s{i}), @max(s{i})); print(@hist_log(s{i})) }}")
            lines.append(f"foreach (name in a{i}- limit 3) println(name, @count(a{i}[name]), @sum(a{i}[name]))")
        lines.append("printf(\"\\ncalls %d\\n\", calls)")
        return "probe end {\n    " + "\n    ".join(lines) + "\n}"

    # ---- points

    def point(self, one):
        """Returns a point, of one function if so asked, and what its handlers can read: `kind` and `values`."""
        draw = self.draw
        function = draw.choice(list(FUNCTIONS))
        values = FUNCTIONS[function]
        caller, callee = draw.choice(CALLEES)
        returns = [f"@entry({each})" for each in values] + ["@entry(gettimeofday_ns())"]
        if one:
            return draw.choice([(f"kernel.function(\"{function}\")?", "entry", values), (f"kernel.function(\"{function}\").return?", "return", values + returns),
                                (f"kernel.function(\"{caller}\").callee(\"{callee}\").return?", "plain", []), ("timer.ms(50)", "plain", [])][:1 if self.mechanism else 4])
        if self.mechanism in ENTRIES:
            return draw.choice([(f"kernel.function(\"{function}\")?", "entry", values), (f"kernel.function(\"{draw.choice(PATTERNS)}\").call?", "entry", [])])
        if self.mechanism:
            return draw.choice([(f"kernel.function(\"{function}\").return?", "return", values + returns),
                                (f"kernel.function(\"{draw.choice(PATTERNS)}\").return?", "return", ["@entry(tid())"])])
        return draw.choices([
            lambda: (f"kernel.function(\"{function}\")?", "entry", values),
            lambda: (f"kernel.function(\"{function}\").call?", "entry", values),
            lambda: (f"kernel.function(\"{function}\").return{draw.choice(['', '', '.maxactive(2)'])}?", "return", values + returns),
            lambda: (f"kernel.function(\"{draw.choice(PATTERNS)}\")?", "entry", []),
            lambda: (f"kernel.function(\"{draw.choice(PATTERNS)}\").call?", "entry", []),
            lambda: (f"kernel.function(\"{draw.choice(PATTERNS)}\").return?", "return", ["@entry(tid())"]),
            lambda: (f"kernel.function(\"{caller}\").callee(\"{callee}\"){draw.choice(['', '.call', '.return'])}?", "plain", []),
            lambda: (f"kernel.function(\"{caller}\").callees({draw.randrange(1, 3)})?", "plain", []),
            lambda: (f"kernel.statement(\"{draw.choice(STATEMENTS)}\")?", "statement", []),
            lambda: (f"kernel.function(\"{draw.choice(INLINED)}\").inline?", "statement", []),
            lambda: (f"kprobe.function(\"{function}\"){draw.choice(['', '.return'])}?", "plain", []),
            lambda: (f"kernel.trace(\"{draw.choice(TRACEPOINTS)}\")?", "entry", []),
            lambda: (draw.choice(["timer.ms(1)", "timer.ms(17).randomize(9)", "timer.hz(333)", "timer.s(1)", "timer.jiffies(2)", "timer.profile"]), "plain", []),
            lambda: (draw.choice(["perf.sw.cpu_clock.sample(100000)", "perf.sw.page_faults.sample(1)", "perf.sw.context_switches.sample(3)",
                                  "perf.sw.page_faults.process(@1)", "perf.sw.cpu_clock.hz(400).process(@1)"]) + "?", "plain", []),
            lambda: (f"netfilter.pf(\"NFPROTO_IPV4\").hook(\"NF_INET_{draw.choice(['LOCAL_IN', 'LOCAL_OUT', 'PRE_ROUTING'])}\")", "plain", ["$hooknum"]),
            lambda: (f"process(@1).{draw.choice(OF_PROGRAM)}{draw.choice(['', '', '.return'])}?".replace(":*\").return", ":*\")"), "plain", []),
            lambda: (draw.choice(["process(@1).begin", "process.end", "process(@1).thread.begin", "process.thread.end", "process.syscall",
                                  "process(@1).syscall.return", "process(@1).function(\"deep\").callees"]), "plain", []),
            lambda: (f"kernel.data(\"jiffies\").{draw.choice(['write', 'rw'])}", "plain", []),
            lambda: (draw.choice(["syscall.read", "syscall.open*", "syscall.write.return", "syscall.*", "nd_syscall.close", "syscall.clone*"]) + "?",
                     "plain", ["argstr"]),
            lambda: (draw.choice(["vfs.read", "vfs.write.return", "scheduler.ctxswitch", "kprocess.exec", "vm.pagefault", "irq_handler.entry",
                                  "softirq.exit", "signal.send"]) + "?", "plain", []),
        ], [10, 3, 8, 4, 2, 4, 5, 2, 4, 3, 3, 5, 4, 4, 2, 4, 4, 1, 3, 3])[0]()

    def probe(self, many):
        points = [self.point(many) for _ in range(1 if many or self.chance(0.85) else self.draw.randrange(2, 4))]
        texts = [text for text, _, _ in points]
        self.kind = points[0][1] if len({kind for _, kind, _ in points}) == 1 else "plain"
        self.values = points[0][2] if len(points) == 1 else []
        condition = f" if ({self.draw.choice(['on0', 'x0 < 5', 'n0 & 1', 'on0 && !t0'])})" if self.chance(0.1) else ""
        switch = " on0 = !on0;" if texts[0].startswith("timer") and self.chance(0.4) else ""
        return f"probe {', '.join(texts)}{condition} {{{switch} {self.block(1 if many else self.draw.randrange(1, 4))} }}"

    # ---- statements

    def number(self):
        return self.draw.randrange(self.globals)

    def block(self, size, depth=0):
        return "; ".join(self.statement(depth) for _ in range(size))

    def statement(self, depth):
        i, draw = self.number(), self.draw
        nested = [
            lambda: f"if ({self.long(1)}) {{ {self.block(2, depth + 1)} }}{f' else {{ {self.block(1, depth + 1)} }}' if self.chance(0.4) else ''}",
            lambda: f"for (i{depth} = 0; i{depth} < {draw.randrange(1, 30)}; i{depth}++) {{ {self.block(1, depth + 1)} }}",
            lambda: f"try {{ {self.block(2, depth + 1)}; {self.failing()} }} "
                    f"catch (message) {{ println(message); {self.block(1, depth + 1)} }}",
            lambda: f"foreach (k{depth} in m{i} limit {draw.randrange(1, 9)}) {{ n{i} += k{depth} + m{i}[k{depth}] }}",
        ] if depth < 2 else []
        flat = [
            lambda: f"n{i}++",
            lambda: f"n{i}++; t{i} += {self.long(2)}",
            lambda: f"m{i}[{self.long(1)}]++",
            lambda: f"m{i}[{self.long(1)}] = {self.long(2)}",
            lambda: f"w{i}[{self.string(1)}, {self.long(1)}] += {self.long(1)}",
            lambda: f"s{i} <<< {self.long(2)}",
            lambda: f"a{i}[{self.string(1)}] <<< {self.long(1)}",
            lambda: f"printf(\"{draw.choice(['%d', '%x', '%20d', '%c', '%p', '%b'])} %{draw.choice(['', '-10', '.3', '300.'])}s\\n\", {self.long(1)}, {self.string(2)})",
            lambda: f"println({self.string(2)}, {self.long(1)})",
            lambda: draw.choice(["print_backtrace()", "print_ubacktrace()", "print_stack(backtrace())", "print_syms(backtrace())", "print_regs()"]),
            lambda: f"a{i}[{draw.choice(['backtrace()', 'ubacktrace()', 'symname(addr())', 'usymname(uaddr())'])}] <<< 1",
            lambda: f"y{depth} = {self.long(2)}; z{depth} = {self.string(2)}; println(z{depth}, y{depth})",
            lambda: f"delete m{i}[{self.long(1)}]",
            lambda: draw.choice([f"delete m{i}", f"delete s{i}", f"delete w{i}", f"delete a{i}"]),
            lambda: f"if (x{i}++ > {draw.choice([3, 100, 10000])}) next",
            lambda: f"if (n{i} > 100000) exit()",
            lambda: f"println(@count(s{i}), {self.long(1)} in m{i})",
            lambda: f"if (@count(s{i}) > 5) println(@{draw.choice(['sum', 'min', 'max', 'avg'])}(s{i}))",
            lambda: f"id{depth} = speculation(); speculate(id{depth}, {self.string(1)}); {draw.choice(['commit', 'discard'])}(id{depth})",
            lambda: f"t{i} = f({draw.randrange(12)})",
        ]
        if self.guru and self.values and self.kind in ("entry", "return") and self.chance(0.1):
            value = draw.choice([each for each in self.values if each.startswith("$") and "->" not in each] or ["$return"])
            if self.kind == "return":
                return "if (@defined($return)) $return = $return"
            return f"if (@defined({value})) {value} = {value}"
        if self.guru and self.chance(0.03):
            return "printk(6, \"djstap's random script\")"
        return draw.choice(flat if not nested or self.chance(0.75) else nested)()

    def failing(self):
        return self.draw.choice(["error(\"meant\")", f"y = kernel_long({self.long(1)})", f"y = 1 / t{self.number()}"])

    # ---- values

    def long(self, depth):
        draw = self.draw
        if depth > 0 and self.chance(0.4):
            left, right = self.long(depth - 1), self.long(depth - 1)
            return draw.choice([f"({left} {draw.choice(OPERATORS)} {right})", f"({left} / ({right} | 1))", f"({left} % ({right} | 1))",
                                f"({left} ? {right} : {self.long(0)})", f"f({left} & 7)", f"strlen({self.string(depth - 1)})",
                                f"-({left})", f"~{left}" if not left.startswith("-") else "~0"])
        if self.values and self.chance(0.5):
            value = draw.choice(self.values)
            if value == "argstr":
                return "strlen(argstr)"
            return value if value.startswith("@entry(g") or value.startswith("@entry(t") or value == "$hooknum" else f"(@defined({value}) ? {value} : 0)"
        if self.kind == "return" and self.chance(0.4):
            return "(@defined($return) ? $return : -1)"
        return draw.choice(EDGES + ["pid()", "tid()", "cpu()", "uid()", "ppid()", "gettimeofday_ns()", "get_cycles()", "addr()", "uaddr()",
                                    "task_current()", "user_mode()", "stack_used()", "randint(100)", "n0", "x0", "t0",
                                    "m0[3]", "w0[\"a\", 1]", "task_pid(task_current())"])

    def string(self, depth):
        draw = self.draw
        if depth > 0 and self.chance(0.35):
            inner = self.string(depth - 1)
            return draw.choice([f"{inner} . {self.string(depth - 1)}", f"substr({inner}, {self.long(0)}, {self.long(0)})", f"g({inner}, {draw.randrange(5)})",
                                f"sprintf(\"%s %d\", {inner}, {self.long(depth - 1)})", f"tokenize({inner}, \" \")", f"str_replace({inner}, \"a\", \"bb\")",
                                f"kernel_string({self.long(0)}, {inner})", f"user_string({self.long(0)}, {inner})", f"text_str({inner})"])
        return draw.choice(["\"\"", "\"text\"", "execname()", "probefunc()", "pp()", "ppfunc()", "symname(addr())", "cmdline_str()",
                            "sprintf(\"%x\", addr())", "task_execname(task_current())", "usymname(uaddr())", "ctime(gettimeofday_s())"] + (["$$parms", "$$vars", "$$parms$"] if self.kind in ("entry", "return") else []) +
                           (["$$return"] if self.kind == "return" else []) + (["$$vars", "$$locals"] if self.kind == "statement" else []))
