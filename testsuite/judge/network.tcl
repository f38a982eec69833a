# SPDX-License-Identifier: GPL-2.0-or-later
# Half a second of a simulated network, for the program ns: two senders share a link that drops packets at random.
set ns [new Simulator]
set out [open /dev/null w]
$ns trace-all $out
foreach i {0 1 2 3} { set n($i) [$ns node] }
$ns duplex-link $n(0) $n(2) 2Mb 10ms DropTail
$ns duplex-link $n(1) $n(2) 2Mb 10ms DropTail
$ns duplex-link $n(2) $n(3) 1Mb 20ms RED
set tcp [new Agent/TCP/Reno]
set sink [new Agent/TCPSink]
$ns attach-agent $n(0) $tcp
$ns attach-agent $n(3) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
set udp [new Agent/UDP]
set null [new Agent/Null]
$ns attach-agent $n(1) $udp
$ns attach-agent $n(3) $null
$ns connect $udp $null
set cbr [new Application/Traffic/CBR]
$cbr attach-agent $udp
$ns at 0.1 "$ftp start"
$ns at 0.15 "$cbr start"
$ns at 0.5 "exit 0"
$ns run
