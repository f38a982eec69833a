// SPDX-License-Identifier: GPL-2.0-or-later
// Runs random programs twice, by the interpreter and by djstap's user-space back end, and compares
// the results.
//
//   differential --programs N [--first SEED] [--jobs N]
//                                        each in a process of its own; a program that disagrees is
//                                        shrunk and printed with its seed
//   differential --show SEED             prints a program; --meaning what the interpreter receives
//   differential --write FOLDER --programs N [--first SEED]
//                                        writes N scripts that run, each with its options and the
//                                        output, messages and exit status that the interpreter
//                                        predicts: for a guest kernel;
//                                        --portable: only what means the same in SystemTap
//
// What this can find and what not: the interpreter walks the typed program that djstap's own
// parser, type inference and lowering produce, so both sides share their errors, which remain
// unseen. There is one exception: precedence of operators, macros, conditional text, aliases and
// conditions of probes, whose meaning the generator writes out itself (markup.h). What runs behind
// the typed program (code, runtime, session) is compared with code that shares nothing with it, but
// that has the same authors and the same interpretation of the manual. The independent judge of
// what a script means is SystemTap itself: testsuite/conformance/beside.py runs scripts in both.
#include "generator.h"
#include "harness/user_object.h"
#include "inprocess/session.h"
#include "interpreter.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace djstap::differential {

namespace {

// Misread: the script is rejected, but its meaning is not. Refused: neither side can tell what the
// program means. What has a meaning is compiled and runs, or it disagrees.
enum class Verdict : uint8_t { Agree, Disagree, Misread, Refused, Crashed };

// Returns the content of a descriptor's file, from its beginning.
std::string contents(int fd) {
    std::string text;
    char piece[65536];
    lseek(fd, 0, SEEK_SET);
    for (ssize_t size = 0; (size = read(fd, piece, sizeof piece)) > 0;)
        text.append(piece, static_cast<size_t>(size));
    return text;
}

// Returns the message of each ERROR and WARNING, without the place.
std::vector<std::string> messages_of(const std::string& text) {
    std::vector<std::string> messages;
    size_t begin = 0;
    auto starts = [&](size_t at) {
        return text.compare(at, 7, "ERROR: ") == 0 || text.compare(at, 9, "WARNING: ") == 0;
    };
    while (begin < text.size()) {
        size_t end = begin; // a message may contain newlines
        do {
            end = text.find('\n', end);
            end = end == std::string::npos ? text.size() : end + 1;
        } while (end < text.size() && !starts(end));
        std::string message = text.substr(begin, end - begin);
        message = message.substr(0, message.rfind(" near "));
        while (message.ends_with('\n') && message.rfind(" near ") == std::string::npos &&
               text[end - 1] == '\n' && message.size() == end - begin)
            message.pop_back();
        // What helps against the error before it is the reader's advice, and no output of the
        // script.
        if (!message.starts_with("WARNING: that ended the session: "))
            messages.push_back(message);
        begin = end;
    }
    return messages;
}

std::string lines_of(const std::vector<std::string>& messages) {
    std::string lines;
    for (const std::string& message : messages)
        lines += message + "\n";
    return lines;
}

class Bench {
  public:
    Bench() : diagnostics_(sources_) {
        context_.kernel_release = [] { return std::string("6.1.0-test"); };
        context_.kernel_config = [](const std::string&) { return std::string(); };
        context_.runtime = "user";
        library_ = Library::open({DJSTAP_SOURCE_DIR "/tapsets"}, sources_, context_, diagnostics_);
    }

    // Returns the typed program, or nothing after reporting why there is none.
    std::optional<program::Program> analyze(const std::string& script, const Rules& rules) {
        const uint32_t source = sources_.add("random.stp", script);
        auto file = parse_file(sources_, source, context_, library_->macros(), diagnostics_);
        if (!file)
            return std::nullopt;
        SemanticsOptions options;
        options.points = probe_shapes();
        options.max_action = std::min(rules.max_actions, rules.max_session_actions);
        return djstap::analyze(std::move(*file), *library_, options, diagnostics_);
    }

    // Compares in this process, which is not usable afterwards.
    Verdict compare(const RandomProgram& random, std::string& report) {
        auto meaning = analyze(random.meaning(), random.rules);
        if (!meaning) {
            report = "it is refused:\n" + render_all(diagnostics_);
            return Verdict::Refused;
        }
        auto program = analyze(random.script(), random.rules);
        if (!program) {
            report = "only what it means is taken:\n" + random.meaning() + render_all(diagnostics_);
            return Verdict::Misread;
        }
        const Outcome expected = interpret(*meaning, random.rules);
        if (!expected.refused.empty()) {
            report = "the interpreter does not know " + expected.refused;
            return Verdict::Refused;
        }
        const int output = memfd_create("output", 0), messages = memfd_create("messages", 0);
        auto status = run(*program, random.rules, output, messages);
        if (!status) {
            report =
                status.failure().message + ":\n" + render_all(diagnostics_) + contents(messages);
            return Verdict::Disagree;
        }
        const std::string printed = contents(output), said = contents(messages);
        if (printed != expected.output)
            report += "--- the interpreter prints\n" + expected.output + "--- user space prints\n" +
                      printed;
        const std::string all = lines_of(expected.messages), heard = lines_of(messages_of(said));
        if (all != heard)
            report += "--- the interpreter says\n" + all + "--- user space says\n" + heard;
        if (*status != expected.status)
            report += "--- status " + std::to_string(expected.status) + " and " +
                      std::to_string(*status) + "\n";
        return report.empty() ? Verdict::Agree : Verdict::Disagree;
    }

    // Compiles a program in this process, so that LLVM is initialized once instead of in every
    // child.
    void warm_up() {
        const RandomProgram random = generate_program(1);
        if (auto program = analyze(random.script(), random.rules))
            compile(*program, random.rules);
    }

  private:
    std::optional<CompiledObject> compile(const program::Program& program, const Rules& rules) {
        CodegenOptions options;
        options.limits.MAXACTION = rules.max_actions;
        options.limits.MAXACTION_INTERRUPTIBLE = rules.max_session_actions;
        options.limits.MAXSTRINGLEN = static_cast<int64_t>(rules.string_bytes);
        options.limits.MAXMAPENTRIES = static_cast<int64_t>(rules.map_entries);
        options.limits.MAXERRORS = static_cast<int64_t>(rules.max_errors);
        options.limits.MAXNESTING = rules.max_nesting;
        options.module_name = "random";
        options.optimization = rules.optimized ? 2 : 1;
        return test::user_object(program, options, diagnostics_);
    }

    // Returns the exit status, or which step failed.
    Result<int> run(const program::Program& program, const Rules& rules, int output, int messages) {
        auto object = compile(program, rules);
        if (!object)
            return Failure{"its probes are not resolved, or no code is generated", ""};
        const int standard_error = dup(STDERR_FILENO);
        dup2(messages, STDERR_FILENO);
        SessionOptions session;
        session.traced_pid = static_cast<int>(rules.target);
        session.outputs.file = "/proc/self/fd/" + std::to_string(output);
        auto outcome = run_in_user_space(object->object, object->meta, 64 * 1024, session);
        dup2(standard_error, STDERR_FILENO);
        if (!outcome)
            return Failure{"it is compiled, but does not run: " + outcome.failure().message, ""};
        return outcome->status;
    }

    SourceManager sources_;
    Diagnostics diagnostics_;
    PreprocessorContext context_;
    std::unique_ptr<Library> library_;
};

// Compares in a process of its own: a crash is one more verdict.
Verdict judge(Bench& bench, const RandomProgram& random, std::string& report) {
    const int file = memfd_create("report", 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        std::string text;
        const Verdict verdict = bench.compare(random, text);
        if (write(file, text.data(), text.size()) < 0)
            _exit(100);
        _exit(static_cast<int>(verdict));
    }
    int status = 0;
    waitpid(child, &status, 0);
    report = contents(file);
    close(file);
    if (WIFEXITED(status) && WEXITSTATUS(status) <= static_cast<int>(Verdict::Refused))
        return static_cast<Verdict>(WEXITSTATUS(status));
    report += WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                  : "ended with status " + std::to_string(WEXITSTATUS(status));
    return Verdict::Crashed;
}

// Returns the program without any statement or block (lines whose braces are balanced) that does
// not affect the verdict.
RandomProgram shrink(Bench& bench, RandomProgram random, Verdict verdict) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        std::vector<std::string> lines;
        std::istringstream text(random.marked);
        for (std::string line; std::getline(text, line);)
            lines.push_back(line);
        for (size_t begin = 0; begin < lines.size(); begin++) {
            size_t end = begin;
            int depth = 0;
            do {
                const std::string& line = lines[end++];
                if (line.ends_with("{"))
                    depth++;
                if (line.find_first_not_of(' ') != std::string::npos &&
                    line[line.find_first_not_of(' ')] == '}')
                    depth--;
            } while (depth > 0 && end < lines.size());
            if (depth != 0 || is_half(lines[begin]))
                continue;
            RandomProgram candidate{"", random.rules};
            for (size_t i = 0; i < lines.size(); i++)
                if (i < begin || i >= end)
                    candidate.marked += lines[i] + "\n";
            std::string report;
            if (judge(bench, candidate, report) == verdict) {
                random = candidate;
                smaller = true;
                break;
            }
        }
    }
    return random;
}

std::string options_of(const Rules& rules) {
    return "-DSTP_NO_OVERLOAD=1 -DMAXACTION=" + std::to_string(rules.max_actions) +
           " -DMAXACTION_INTERRUPTIBLE=" + std::to_string(rules.max_session_actions) +
           (rules.target ? " -x " + std::to_string(rules.target) : std::string()) +
           " -DMAXSTRINGLEN=" + std::to_string(rules.string_bytes) +
           " -DMAXMAPENTRIES=" + std::to_string(rules.map_entries) +
           " -DMAXERRORS=" + std::to_string(rules.max_errors);
}

struct Totals {
    uint64_t agreed = 0, refused = 0, failed = 0;
};

Totals judge_all(uint64_t first, uint64_t count, uint64_t step) {
    Bench().warm_up();
    Bench bench;
    Totals totals;
    for (uint64_t seed = first; seed < first + count; seed += step) {
        const RandomProgram random = generate_program(seed);
        std::string report;
        const Verdict verdict = judge(bench, random, report);
        totals.agreed += verdict == Verdict::Agree;
        // Conflicting types are not an error of either side, but should be rare.
        totals.refused += verdict == Verdict::Refused;
        if (verdict == Verdict::Refused && getenv("DJSTAP_SHOW_REFUSED"))
            printf("refused: seed %llu: %s\n", static_cast<unsigned long long>(seed),
                   report.c_str());
        if (verdict == Verdict::Agree || verdict == Verdict::Refused)
            continue;
        totals.failed++;
        const RandomProgram small = shrink(bench, random, verdict);
        judge(bench, small, report);
        printf("FAILED seed %llu (%s):\n%s\n%s\n", static_cast<unsigned long long>(seed),
               options_of(small.rules).c_str(), small.script().c_str(), report.c_str());
        if (small.script() != small.meaning())
            printf("which means\n%s\n", small.meaning().c_str());
        fflush(stdout);
    }
    return totals;
}

int judge_in_parallel(uint64_t first, uint64_t count, uint64_t jobs) {
    auto* totals = static_cast<Totals*>(mmap(nullptr, jobs * sizeof(Totals), PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<pid_t> workers;
    for (uint64_t job = 0; job < jobs; job++) {
        const pid_t worker = fork();
        if (worker == 0) {
            totals[job] = judge_all(first + job, count > job ? count - job : 0, jobs);
            fflush(stdout);
            _exit(0);
        }
        workers.push_back(worker);
    }
    bool lost = false;
    for (pid_t worker : workers) {
        int status = 0;
        waitpid(worker, &status, 0);
        lost |= status != 0;
    }
    Totals sum;
    for (uint64_t job = 0; job < jobs; job++) {
        sum.agreed += totals[job].agreed;
        sum.refused += totals[job].refused;
        sum.failed += totals[job].failed;
    }
    printf("%llu programs agree, %llu do not, %llu were refused\n",
           static_cast<unsigned long long>(sum.agreed), static_cast<unsigned long long>(sum.failed),
           static_cast<unsigned long long>(sum.refused));
    const bool generator_is_bad = sum.refused * 10 > count;
    return lost || sum.failed || generator_is_bad || sum.agreed == 0 ? 1 : 0;
}

// Scripts for a guest: NAME.stp, NAME.options, and what they must print and end with: NAME.output,
// NAME.messages (as messages_of() returns them, in lines), NAME.status.
int write_programs(const std::string& folder, uint64_t first, uint64_t count, bool portable) {
    std::filesystem::create_directories(folder);
    for (uint64_t seed = first, written = 0; written < count; seed++) {
        const RandomProgram random = generate_program(seed, portable);
        Bench bench;
        auto program = bench.analyze(random.meaning(), random.rules);
        if (!program)
            continue;
        const Outcome outcome = interpret(*program, random.rules);
        if (!outcome.refused.empty())
            continue;
        const std::string name = folder + "/random_" + std::to_string(seed);
        std::ofstream(name + ".stp") << random.script();
        std::ofstream(name + ".options") << options_of(random.rules);
        std::ofstream(name + ".output", std::ios::binary) << outcome.output;
        std::ofstream(name + ".messages", std::ios::binary) << lines_of(outcome.messages);
        std::ofstream(name + ".status") << outcome.status;
        written++;
    }
    return 0;
}

} // namespace

} // namespace djstap::differential

int main(int argc, char** argv) {
    using namespace djstap::differential;
    uint64_t programs = 500, first = 1, jobs = 2;
    bool portable = false;
    std::string folder;
    for (int i = 1; i < argc; i++) {
        const std::string option = argv[i];
        if (option == "--portable") {
            portable = true;
            continue;
        }
        const char* value = i + 1 < argc ? argv[++i] : "";
        if (option == "--programs")
            programs = strtoull(value, nullptr, 10);
        else if (option == "--first")
            first = strtoull(value, nullptr, 10);
        else if (option == "--jobs")
            jobs = strtoull(value, nullptr, 10);
        else if (option == "--write")
            folder = value;
        else if (option == "--show" || option == "--meaning") {
            const RandomProgram random = generate_program(strtoull(value, nullptr, 10));
            printf("%s", (option == "--show" ? random.script() : random.meaning()).c_str());
            return 0;
        } else {
            fprintf(stderr, "there is no option %s\n", option.c_str());
            return 2;
        }
    }
    if (!folder.empty())
        return write_programs(folder, first, programs, portable);
    return judge_in_parallel(first, programs, std::max<uint64_t>(jobs, 1));
}
