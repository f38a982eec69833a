// SPDX-License-Identifier: GPL-2.0-or-later
// process.begin, .end, .thread.begin, .thread.end: the lives of processes and their threads;
// process.syscall, .syscall.return: their system calls.
#include "arch/arch.h"
#include "probes/families.h"

namespace djstap {

namespace {

using Argument = ast::PointComponent::Argument;

// "process", a process by its number, or the processes that run a program.
struct Whose {
    uint64_t process = 0;
    std::string program;
    std::string text; // process("/usr/bin/sh")
};

std::optional<std::vector<Whose>> find_processes(const ast::ProbePoint& point, Resolver& resolver) {
    const ast::PointComponent& process = point.components.front();
    if (process.argument == Argument::None)
        return std::vector<Whose>{{0, "", "process"}};
    if (process.argument == Argument::Number) {
        const std::string number = std::to_string(process.number);
        if (process.number > 0 && process.number <= INT32_MAX)
            return std::vector<Whose>{
                {static_cast<uint64_t>(process.number), "", "process(" + number + ")"}};
        resolver.diagnostics.report(DiagnosticKind::NoProgram, process.argument_range,
                                    {"there is no process " + number});
        return std::nullopt;
    }
    auto files = find_program_files(point, resolver);
    if (!files)
        return std::nullopt;
    std::vector<Whose> found;
    for (const std::string& file : *files)
        found.push_back({0, file, "process(\"" + file + "\")"});
    return found;
}

bool check_mechanism(const ast::ProbePoint& point, const Resolver& resolver) {
    if (!resolver.options.forced || resolver.options.forced == Mechanism::Process)
        return true;
    resolver.diagnostics.report(DiagnosticKind::CannotProbe, point.range,
                                {ast::to_string(point), "the kernel tells of it by tracepoints"});
    return false;
}

// The number, the arguments and the result have the type that the kernel gives all of them.
bool describe_call(const ast::ProbePoint& point, Resolver& resolver, FunctionInfo& call,
                   bool is_return) {
    call.is_syscall = true;
    if (!resolver.details)
        return true;
    const DebugInfo* info = need_kernel_types(point, resolver);
    if (!info)
        return false;
    const TypeId type = info->type_by_name("long int").value_or(0);
    auto add = [&](const std::string& name, PtReg reg, bool is_parameter) {
        Variable variable;
        variable.name = name;
        variable.type = type;
        variable.location.kind = LocationKind::Register;
        variable.location.reg = reg;
        variable.is_parameter = is_parameter;
        call.parameters.push_back(std::move(variable));
    };
    add("syscall", arch::syscall_number_register(), false);
    size_t number = 0;
    for (const PtReg reg : arch::syscall_argument_registers())
        add("arg" + std::to_string(++number), reg, true);
    if (is_return)
        call.return_type = type;
    return true;
}

bool resolve_moment(const ast::ProbePoint& point, Resolver& resolver, std::vector<Candidate>& out,
                    uint64_t moment, const std::string& suffix) {
    auto processes =
        check_mechanism(point, resolver) ? find_processes(point, resolver) : std::nullopt;
    if (!processes)
        return false;
    for (const Whose& whose : *processes) {
        Candidate candidate;
        candidate.kind = moment == DJS_PROCESS_SYSCALL          ? HandlerKind::Entry
                         : moment == DJS_PROCESS_SYSCALL_RETURN ? HandlerKind::Return
                                                                : HandlerKind::Timer;
        candidate.payload = ProcessMoment{whose.process, moment, whose.program};
        candidate.site.mechanism = Mechanism::Process;
        candidate.site.reason = "tracepoints of the kernel";
        candidate.site.point = whose.text + suffix;
        if (moment >= DJS_PROCESS_SYSCALL) {
            candidate.function = std::make_unique<FunctionInfo>();
            if (!describe_call(point, resolver, *candidate.function,
                               moment == DJS_PROCESS_SYSCALL_RETURN))
                return false;
        }
        out.push_back(std::move(candidate));
    }
    return true;
}

template <uint64_t Moment>
bool resolve_process(const ast::ProbePoint& point, Resolver& resolver,
                     std::vector<Candidate>& out) {
    std::string suffix;
    for (size_t i = 1; i < point.components.size(); i++)
        suffix += "." + point.components[i].name;
    return resolve_moment(point, resolver, out, Moment, suffix);
}

} // namespace

#define DJS_PROCESS "process[({STRING|NUMBER})]"

const std::vector<ProbeForms> process_family{
    {DJS_PROCESS ".begin", resolve_process<DJS_PROCESS_BEGIN>, PointTellsOfTask},
    {DJS_PROCESS ".end", resolve_process<DJS_PROCESS_END>, PointTellsOfTask},
    {DJS_PROCESS ".thread.begin", resolve_process<DJS_PROCESS_THREAD_BEGIN>, PointTellsOfTask},
    {DJS_PROCESS ".thread.end", resolve_process<DJS_PROCESS_THREAD_END>, PointTellsOfTask},
    {DJS_PROCESS ".syscall", resolve_process<DJS_PROCESS_SYSCALL>, code_traits},
    {DJS_PROCESS ".syscall.return", resolve_process<DJS_PROCESS_SYSCALL_RETURN>, code_traits},
};

#undef DJS_PROCESS

} // namespace djstap
