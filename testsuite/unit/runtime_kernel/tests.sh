# What is tested, run by guest.sh.
one() { # NAME KO PARAMETERS HITS FLAGS…
    ko=$1 parameters=$2 hits=$3
    shift 3
    ./reader run "$@" $ko.ko "$parameters" $hits > /tmp/out 2>&1
    rmmod $ko >> /tmp/out 2>&1 || echo "rmmod failed" >> /tmp/out
}

one t_basic hold=1 500 -s
check "one of everything" '^start: 0$' '^begin 42$' '^umask 18 by reader$' \
    '^kprobe in __x64_sys_getsid, __x64_sys_getsid$' '^returned [01], entered with 1$' ' : __x64_sys_getsid\+0x' \
    ' : do_syscall_64\+0x' ' : entry_SYSCALL_64_after_hwframe\+0x' '^end: counted 50[0-9], ticks 1, map 1, statistic 50[0-9]/15[0-9]*$' \
    'site 1: djprobe, fallback 0' 'site 3: kprobe-int3' 'site 4: kretprobe' 'lost 0 busy 0 locked 0 errors 0 failed 0 state 4 error 0'

marked
insmod t_basic.ko target=7 2> /tmp/out
./reader hits 100; ./reader once
rmmod t_basic 2>> /tmp/out
log_since >> /tmp/out
check "alone: output goes to the kernel log" 't_basic: begin 7' 't_basic: umask 18 by reader' 't_basic: end: counted 10[0-9]'

marked
insmod t_small.ko ring_kb=64 2> /tmp/out
./reader hits 300
rmmod t_small 2>> /tmp/out
log_since >> /tmp/out
check "alone: a hundred lines, then how many more" 't_small: n 100$' 't_small: … 20[0-9] more lines'

# 24-byte records in a ring of 4096 bytes: 170 fit, whichever CPU; all others are lost, and counted.
one t_small "hold=1 ring_kb=4" 5000 -q
sum=$(sed -n 's/^records \([0-9]*\) lost \([0-9]*\).*/\1 \2/p' /tmp/out | { read a b; echo $((a + b)); })
echo "sum $sum" >> /tmp/out
check "a full ring counts every lost record" 'lost [1-9]' '^sum 500[1-9]'

one t_begin "hold=1 ring_kb=4" 10 -t
check "begin waits for its reader" '^begin 0$' '^begin 999$' 'lost 0 '

./reader hang t_small.ko > /tmp/out 2>&1 &
while ! grep -q started /tmp/out; do sleep 0.1; done
./reader hits 50
kill -9 $!; wait $! 2>/dev/null
i=0; while [ $i -lt 50 ] && grep -q direct /sys/kernel/debug/tracing/enabled_functions 2>/dev/null; do sleep 0.1; i=$((i + 1)); done
rmmod t_small > /tmp/out 2>&1 && echo removed >> /tmp/out
check "a killed reader leaves nothing attached" '^removed$'

one t_error hold=1 10
check "an error ends the session" '^ERROR: division by zero$' '^n 2$' '^begin 2003$' 'errors 1 .*error 1'
grep -qE '^n 4$|^begin 1003$' /tmp/out && echo "not ok an error ends the session: later records" || echo "ok nothing after the error"
marked
insmod t_error.ko; ./reader hits 10; sleep 1
grep -q 'D' /sys/kernel/debug/tracing/enabled_functions && echo "still attached" > /tmp/out || echo "detached" > /tmp/out
rmmod t_error; log_since >> /tmp/out
check "alone: an error detaches by itself" '^detached$' "ERROR: division by zero near operator '/' at test:2:3"

./reader exits t_exit.ko 10 > /tmp/out 2>&1; rmmod t_exit
check "exit() wakes the reader, end probes run" '^EXIT$' '^poll 1$' '^begin 1003$' 'state 4 error 0'

insmod t_basic.ko
one t_busy hold=1 200 -s
check "a taken function falls back to a kprobe" 'site 0: kprobe-int3, fallback 1, error 0' '^n 200$' 'lost 0 busy 0'
one t_forced hold=1 10 -s
check "a forced mechanism fails" '^start: 16$' 'WARNING: cannot attach .*direct call' 'failed 1'
marked
insmod t_forced.ko 2> /tmp/out; log_since >> /tmp/out
check "alone: a forced mechanism fails at load" 't_forced: not loaded: error -16'
rmmod t_basic

one t_nested hold=1 10 -q
check "a handler that calls its own function is guarded" 'busy [1-9]' 'error 0'
one t_ftrace hold=1 100 -s
check "ftrace" 'site 0: ftrace' '^n 100$'
one t_jump hold=1 100 -s
check "a kprobe made a jump" '^start: 0$' 'site 0: kprobe-jump' '^n 1$'

insmod t_release.ko 2> /tmp/out; log_since >> /tmp/out
check "another kernel's module is refused" 't_release: made for kernel 1.2.3-other, this is'

echo 0 > /proc/sys/kernel/ftrace_enabled
one t_forced hold=1 10 -s
check "ftrace off: refused when forced" '^start: 1$' 'WARNING: .*ftrace_enabled is 0'
one t_small hold=1 100 -s
check "ftrace off: a kprobe instead" 'site 0: kprobe-int3, fallback 2' '^n 100$'
echo 1 > /proc/sys/kernel/ftrace_enabled
insmod t_small.ko; echo 0 > /proc/sys/kernel/ftrace_enabled
rmmod t_small && cat /proc/sys/kernel/ftrace_enabled > /tmp/out
check "ftrace switched off while attached" '^0$'
echo 1 > /proc/sys/kernel/ftrace_enabled
one t_small hold=1 100 -s
check "and on again" 'site 0: djprobe, fallback 0' '^n 100$'

./reader hits 100000000 & load1=$!
(while :; do ./reader once; done) & load2=$!
i=0 failed=0
while [ $i -lt 20 ]; do
    insmod t_basic.ko || failed=$((failed + 1))
    insmod t_busy.ko || failed=$((failed + 1))
    rmmod t_basic || failed=$((failed + 1))
    rmmod t_busy || failed=$((failed + 1))
    i=$((i + 1))
done
kill $load1 $load2
echo "failed $failed" > /tmp/out
check "20 cycles under load" '^failed 0$'
