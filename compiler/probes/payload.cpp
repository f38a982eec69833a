#include "probes/payload.h"

namespace djstap {

namespace {

struct Encoder {
    MechanismArguments to{};

    void operator()(std::monostate) {}
    void operator()(const SessionOrder& order) { set(DJS_SESSION_PRIORITY, order.priority); }
    void operator()(const TimerPeriod& period) {
        to[DJS_TIMER_PERIOD_NS] = period.ns;
        to[DJS_TIMER_RANDOM_NS] = period.random_ns;
    }
    void operator()(const PerfEvent& event) {
        to[DJS_PERF_TYPE] = event.type;
        to[DJS_PERF_CONFIG] = event.config;
        to[DJS_PERF_HOW] = event.how;
        to[DJS_PERF_RATE] = event.rate;
    }
    void operator()(const ProcfsFile& file) {
        to[DJS_PROCFS_WRITES] = file.writes;
        to[DJS_PROCFS_UMASK] = file.umask;
        to[DJS_PROCFS_BYTES] = file.bytes;
    }
    void operator()(const PacketHook& hook) {
        set(DJS_NETFILTER_FAMILY, hook.family);
        set(DJS_NETFILTER_HOOK, hook.hook);
        set(DJS_NETFILTER_PRIORITY, hook.priority);
    }

  private:
    void set(djs_argument which, int64_t value) { to[which] = static_cast<uint64_t>(value); }
};

} // namespace

MechanismArguments mechanism_arguments(const Payload& payload) {
    Encoder encoder;
    std::visit(encoder, payload);
    return encoder.to;
}

} // namespace djstap
