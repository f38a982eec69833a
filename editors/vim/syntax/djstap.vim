" SPDX-License-Identifier: GPL-2.0-or-later
" Vim syntax file of djstap's scripts (SystemTap's language). Written by scripts/editor-syntax.
if exists("b:current_syntax")
  finish
endif
let s:cpo = &cpoptions
set cpoptions&vim

syntax include @djstapC syntax/c.vim
unlet! b:current_syntax
syntax case match

syntax keyword djstapDeclaration function global private probe
syntax keyword djstapKeyword break catch continue delete else for foreach if in limit next return try while
syntax keyword djstapType long string
syntax keyword djstapFunction AF_INET AF_INET6 HZ MAJOR MINOR MKDEV NFS_I NFS_PROTO NFS_SERVER WCOREDUMP WEXITSTATUS WIFCONTINUED WIFEXITED
syntax keyword djstapFunction WIFSIGNALED WIFSTOPPED WSTOPSIG WTERMSIG _access_mode_str _at_flag_str _bpf_cmd_str _dev_major _dev_minor
syntax keyword djstapFunction _dfd_str _dup3_flag_str _epoll_create1_flag_str _epoll_events_str _eventfd2_flag_str _faccessat2_flags_str
syntax keyword djstapFunction _fadvice_advice_str _fanotify_init_flags_str _fanotify_mark_flags_str _fanotify_mark_mask_str _fcntl_cmd_str
syntax keyword djstapFunction _finit_module_flags_str _flock_cmd_str _futex_op_str _get_wc_str _getrandom_flags_str _inotify_init1_flag_str
syntax keyword djstapFunction _inotify_watch_mask_str _itimer_which_str _kcmp_type_str _kexec_file_load_flags_str _kexec_flags_str
syntax keyword djstapFunction _madvice_advice_str _membarrier_cmd_str _mempolicy_flags_str _mempolicy_mode_str _mfd_flags_str
syntax keyword djstapFunction _mknod_mode_str _mlockall_flags_str _mmap_flags _module_flags_str _mountflags_str _mprotect_prot_str
syntax keyword djstapFunction _mremap_flags _msg_flags_str _msync_flag_str _opoll_op_str _perf_event_open_flags_str _pkey_alloc_init_val_str
syntax keyword djstapFunction _preadv2_flags_str _priority_which_str _quotactl_cmd_str _reboot_flag_str _reboot_magic_str _recvflags_str
syntax keyword djstapFunction _renameat2_flags_str _rlimit_resource_str _rusage_who_str _sched_policy_str _seccomp_flags_str _seccomp_op_str
syntax keyword djstapFunction _seek_whence_str _sendflags_str _shmat_flags_str _shutdown_how_str _signal_name _signalfd4_flags_str
syntax keyword djstapFunction _sigprocmask_how_str _sock_fam_num _sock_family_str _sock_flags_num _sock_flags_str _sock_prot_num
syntax keyword djstapFunction _sock_protocol_str _sock_state_num _sock_type_num _sock_type_str _sockopt_level_str _sockopt_optname_str
syntax keyword djstapFunction _statx_mask_str _stp_arch_prctl_func_str _stp_clock_nanosleep_flags_str _stp_fallocate_mode_str
syntax keyword djstapFunction _stp_ioprio_value_str _stp_ioprio_which_str _stp_keyctl_cmd_str _stp_mlock2_str _stp_msgctl_cmd_str
syntax keyword djstapFunction _stp_msgget_key_str _stp_shmget_flags_str _stp_sigaltstack_u _stp_siginfo_u _stp_sigset_u
syntax keyword djstapFunction _stp_splice_flags_str _stp_timerfd_flags_str _stp_xattr_flags_str _struct_itimerspec_u _struct_itimerval_u
syntax keyword djstapFunction _struct_rlimit_u _struct_sched_attr_u _struct_sigaction_u _struct_sockaddr_u _struct_sockaddr_u_ip_addr
syntax keyword djstapFunction _struct_sockaddr_u_ipv6_flowinfo _struct_sockaddr_u_ipv6_scope_id _struct_sockaddr_u_sa_family
syntax keyword djstapFunction _struct_sockaddr_u_tcp_port _struct_timespec_u _struct_timeval_u _struct_timex_u _struct_timezone_u
syntax keyword djstapFunction _struct_utimbuf_actime _struct_utimbuf_modtime _success_check _swapon_flags_str _sync_file_range_flags_str
syntax keyword djstapFunction _sys_open_flag_str _sys_pipe2_flag_str _umountflags_str _userfaultfd_flags_str _wait4_opt_str _wait_status_str
syntax keyword djstapFunction _waitid_opt_str _waitid_which_str abort addr addr_from_rqst addr_from_rqst_str addr_to_node ansi_clear_screen
syntax keyword djstapFunction ansi_cursor_hide ansi_cursor_move ansi_cursor_restore ansi_cursor_save ansi_cursor_show ansi_new_line
syntax keyword djstapFunction ansi_reset_color ansi_set_color ansi_set_color2 ansi_set_color3 arch_bytes asmlinkage assert atomic_long_read
syntax keyword djstapFunction atomic_read backtrace bdevname big_endian2 big_endian4 big_endian8 bio_op bio_rw_num bio_rw_str
syntax keyword djstapFunction bytes_to_string caller caller_addr callers clones_from_clnt cmdline_arg cmdline_args cmdline_str commit cpu
syntax keyword djstapFunction cpu_clock_ms cpu_clock_ns cpu_clock_s cpu_clock_us cputime_to_msecs cputime_to_string cputime_to_usecs ctime
syntax keyword djstapFunction current_exe_file cve_count_metric cve_record_metric cve_tmpdisable d_name d_path daddr_to_string
syntax keyword djstapFunction delete_stopwatch describe_data_direction describe_device_state discard disk_major_from_request
syntax keyword djstapFunction disk_minor_from_request disk_name egid env_var errno_p errno_str error euid execname exit fastcall
syntax keyword djstapFunction format_ipaddr fp32_to_fp64 fp_add fp_div fp_eq fp_le fp_lt fp_mul fp_rem fp_sqrt fp_sub fp_to_long
syntax keyword djstapFunction fp_to_string ftype fullpath_struct_file fullpath_struct_nameidata fullpath_struct_path get_cycles
syntax keyword djstapFunction get_devstate_from_req get_ip get_ip_from_client get_loadavg_index get_netdev_name get_prot
syntax keyword djstapFunction get_prot_from_client get_sa_flags get_sa_handler get_sigaction_mask get_sigset gettimeofday_ms gettimeofday_ns
syntax keyword djstapFunction gettimeofday_s gettimeofday_us gid host_name htonl htonll htons indent indent_depth inet_get_ip_source
syntax keyword djstapFunction inet_get_local_port inode_name inode_path int_arg ip_ntop ipmib_filter_key ipmib_get_proto ipmib_local_addr
syntax keyword djstapFunction ipmib_remote_addr ipmib_tcp_local_port ipmib_tcp_remote_port irqflags_str is_myproc is_return is_sig_blocked
syntax keyword djstapFunction isdigit isinstr jiffies json_add_array json_add_array_numeric_metric json_add_array_string_metric
syntax keyword djstapFunction json_add_numeric_metric json_add_string_metric json_set_prefix kernel_buffer_quoted kernel_buffer_quoted_error
syntax keyword djstapFunction kernel_char kernel_int kernel_long kernel_or_user_string_quoted kernel_or_user_string_quoted_utf16
syntax keyword djstapFunction kernel_or_user_string_quoted_utf32 kernel_pointer kernel_short kernel_string kernel_string2
syntax keyword djstapFunction kernel_string2_utf16 kernel_string2_utf32 kernel_string_n kernel_string_quoted kernel_string_quoted_utf16
syntax keyword djstapFunction kernel_string_quoted_utf32 kernel_string_utf16 kernel_string_utf32 ktime_get_ns linuxmib_filter_key
syntax keyword djstapFunction little_endian2 little_endian4 little_endian8 local_clock_ms local_clock_ns local_clock_s local_clock_us log
syntax keyword djstapFunction long_arg long_to_fp longlong_arg matched matched_str mem_page_size modname module_name msecs_to_string
syntax keyword djstapFunction msg_flags_num2str nfs3_cmode nfs4_ctype nfsderror ngroups ns_egid ns_euid ns_gid ns_pgrp ns_pid ns_ppid ns_sid
syntax keyword djstapFunction ns_tid ns_uid nsecs_to_string ntohl ntohll ntohs pages_to_string pexecname pgrp pid pid2execname pid2task pn
syntax keyword djstapFunction pnlabel pointer_arg port_from_clnt port_from_xprt pp ppfunc ppid ppos_pos print print_backtrace
syntax keyword djstapFunction print_backtrace_fileline print_char print_regs print_stack print_syms print_ubacktrace print_ubacktrace_brief
syntax keyword djstapFunction print_ubacktrace_fileline print_ustack print_usyms printd printdln printf printk println probe_type probefunc
syntax keyword djstapFunction probemod probing_32bit_app proc_from_msg proc_mem_data proc_mem_data_pid proc_mem_rss proc_mem_rss_pid
syntax keyword djstapFunction proc_mem_shr proc_mem_shr_pid proc_mem_size proc_mem_size_pid proc_mem_string proc_mem_string_pid proc_mem_txt
syntax keyword djstapFunction proc_mem_txt_pid prog_from_clnt prot_from_clnt pstrace qs_done qs_run qs_time qs_wait qsq_blocked qsq_print
syntax keyword djstapFunction qsq_service_time qsq_start qsq_throughput qsq_utilization qsq_wait_queue_length qsq_wait_time raise randint
syntax keyword djstapFunction rcu_dereference read_stopwatch_ms read_stopwatch_ns read_stopwatch_s read_stopwatch_us real_mount register
syntax keyword djstapFunction registers_valid return_str returnstr returnval reverse_path_walk rlimit_from_str s32_arg s64_arg sa_flags_str
syntax keyword djstapFunction sa_handler_str scsi_timer_pending set_kernel_char set_kernel_int set_kernel_long set_kernel_pointer
syntax keyword djstapFunction set_kernel_short set_kernel_string set_kernel_string_n set_user_char set_user_int set_user_long
syntax keyword djstapFunction set_user_pointer set_user_short set_user_string set_user_string_n sid signal_str sigset_mask_str
syntax keyword djstapFunction sock_fam_num2str sock_fam_str2num sock_flags_num2str sock_prot_num2str sock_prot_str2num sock_state_num2str
syntax keyword djstapFunction sock_state_str2num sock_type_num2str sock_type_str2num speculate speculation sprint sprint_backtrace
syntax keyword djstapFunction sprint_loadavg sprint_stack sprint_syms sprint_ubacktrace sprint_ustack sprint_usyms sprintd sprintdln sprintf
syntax keyword djstapFunction sprintln stack stack_size stack_unused stack_used start_stopwatch stop_stopwatch stp_pid str_replace
syntax keyword djstapFunction string_quoted string_to_fp stringat strlen strpos strtol substr switch_file symdata symfile symfileline
syntax keyword djstapFunction symline symname syscall_name syscall_num system table_begin table_due target target_set_pid target_set_report
syntax keyword djstapFunction task_ancestry task_cpu task_current task_cwd_path task_dentry_path task_egid task_euid task_exe_file
syntax keyword djstapFunction task_execname task_fd_lookup task_gid task_max_file_handles task_nice task_ns_egid task_ns_euid task_ns_gid
syntax keyword djstapFunction task_ns_pid task_ns_tid task_ns_uid task_open_file_handles task_parent task_pid task_ppid task_prio
syntax keyword djstapFunction task_rlimit task_rlimit_as task_rlimit_core task_rlimit_cpu task_rlimit_data task_rlimit_fsize
syntax keyword djstapFunction task_rlimit_locks task_rlimit_memlock task_rlimit_msgqueue task_rlimit_nice task_rlimit_nofile
syntax keyword djstapFunction task_rlimit_nproc task_rlimit_rss task_rlimit_rtprio task_rlimit_rttime task_rlimit_sigpending
syntax keyword djstapFunction task_rlimit_stack task_start_time task_state task_stime task_stime_tid task_tid task_time_string
syntax keyword djstapFunction task_time_string_tid task_uid task_utime task_utime_tid tasks_from_clnt tcp_get_info_rto tcp_get_info_snd_cwnd
syntax keyword djstapFunction tcp_ipv6_sockopt_str tcp_sockopt_str tcp_sockstate_str tcp_ts_get_info_rcv_mss tcp_ts_get_info_snd_ssthresh
syntax keyword djstapFunction tcp_ts_get_info_state tcpmib_filter_key tcpmib_get_state tcpmib_local_addr tcpmib_local_port
syntax keyword djstapFunction tcpmib_remote_addr tcpmib_remote_port text_str text_strn thread_indent thread_indent_depth tid timer_pending
syntax keyword djstapFunction tokenize tz_ctime tz_gmtoff tz_name u32_arg u64_arg u_register uaddr uarch_bytes ubacktrace ucallers uid
syntax keyword djstapFunction uint_arg ulong_arg ulonglong_arg umodaddr umodbuildid umodname usecs_to_string user_buffer_quoted
syntax keyword djstapFunction user_buffer_quoted_error user_char user_char_error user_char_warn user_int user_int16 user_int16_error
syntax keyword djstapFunction user_int32 user_int32_error user_int64 user_int64_error user_int8 user_int8_error user_int_error user_int_warn
syntax keyword djstapFunction user_long user_long_error user_long_warn user_mode user_short user_short_error user_short_warn user_string
syntax keyword djstapFunction user_string2 user_string2_n_warn user_string2_utf16 user_string2_utf32 user_string2_warn user_string_n
syntax keyword djstapFunction user_string_n2 user_string_n2_quoted user_string_n_nofault user_string_n_quoted user_string_n_warn
syntax keyword djstapFunction user_string_nofault user_string_quoted user_string_quoted_utf16 user_string_quoted_utf32 user_string_utf16
syntax keyword djstapFunction user_string_utf32 user_string_warn user_uint16 user_uint16_error user_uint32 user_uint32_error user_uint64
syntax keyword djstapFunction user_uint64_error user_uint8 user_uint8_error user_ulong user_ulong_error user_ulong_warn user_ushort
syntax keyword djstapFunction user_ushort_error user_ushort_warn usrdev2kerndev ustack usymdata usymfile usymfileline usymline usymname
syntax keyword djstapFunction vers_from_clnt vers_from_prog vm_fault_contains warn xid_from_clnt

syntax match djstapMacro /@\h\w*/
syntax match djstapLibraryMacro /@\%(cast_module_sizeof\|cast_sizeof\|choose_defined\|container_of\|host\|json_output_array_numeric_value\|json_output_array_string_value\|json_output_data_end\|json_output_data_start\|json_output_numeric_value\|json_output_string_value\|mm\|module_container_of\|module_offsetof\|module_type_defined\|module_type_member_defined\|offsetof\|prometheus_dump_array1\|prometheus_dump_array1_map\|prometheus_dump_array1_map_unquoted\|prometheus_dump_array2\|prometheus_dump_array2_map\|prometheus_dump_array2_map_unquoted\|prometheus_dump_array3\|prometheus_dump_array3_map\|prometheus_dump_array3_map_unquoted\|prometheus_dump_array4\|prometheus_dump_array4_map\|prometheus_dump_array4_map_unquoted\|prometheus_dump_array5\|prometheus_dump_array5_map\|prometheus_dump_array5_map_unquoted\|prometheus_dump_array6\|prometheus_dump_array6_map\|prometheus_dump_array6_map_unquoted\|prometheus_dump_array7\|prometheus_dump_array7_map\|prometheus_dump_array7_map_unquoted\|prometheus_dump_array8\|prometheus_dump_array8_map\|prometheus_dump_array8_map_unquoted\|task\|this1\|this2\|this3\|this4\|this5\|this6\|this7\|this8\|type_defined\|type_member_defined\)\>/
syntax match djstapOperator /@\%(avg\|cast\|const\|count\|define\|defined\|entry\|enum\|hist_linear\|hist_log\|kderef\|kregister\|max\|min\|perf\|probewrite\|sum\|uderef\|uregister\|var\|variance\)\>/
syntax match djstapTarget /\$\$\?\h\w*/
syntax match djstapArgument /[$@]\%(\d\+\|#\)/
syntax match djstapNumber /\<\%(0[xX]\x\+\|0[bB][01]\+\|\d\+\)\>/
syntax match djstapCondition /%[(?:)]/
syntax match djstapFormat /%[-+ #0]*\%(\d\+\|\*\)\?\%(\.\%(\d\+\|\*\)\)\?\%(hh\?\|ll\?\|z\|t\)\?[a-zA-Z%]/ contained
syntax match djstapEscape /\\\%(\o\{1,3}\|x\x\{1,2}\|.\)/ contained
syntax region djstapString start=/"/ skip=/\\\\\|\\"/ end=/"/ oneline contains=djstapFormat,djstapEscape
syntax match djstapPoint /\%(\<probe\s\+\|[,=]\s*\)\@<=\%(begin\|compat_syscall\|end\|error\|generic\|init\|input\|ioblock\|ioblock_trace\|ioscheduler\|ioscheduler_trace\|ipmib\|irq_handler\|json_data\|kernel\|kprobe\|kprocess\|linuxmib\|module\|nd_syscall\|netdev\|netfilter\|never\|nfs\|nfsd\|oneshot\|perf\|process\|procfs\|prometheus\|scheduler\|scsi\|signal\|socket\|softirq\|sunrpc\|syscall\|syscall_any\|tcp\|tcpmib\|timer\|tty\|udp\|vfs\|vm\|workqueue\)\>\ze[.({ \t]/
syntax match djstapComment /#.*$/ contains=djstapTodo
syntax match djstapComment /\/\/.*$/ contains=djstapTodo
syntax region djstapComment start=/\/\*/ end=/\*\// contains=djstapTodo
syntax keyword djstapTodo contained TODO FIXME XXX
syntax region djstapEmbeddedC matchgroup=djstapDelimiter start=/%{/ end=/%}/ contains=@djstapC keepend

highlight default link djstapDeclaration Keyword
highlight default link djstapKeyword Statement
highlight default link djstapType Type
highlight default link djstapFunction Function
highlight default link djstapMacro Macro
highlight default link djstapLibraryMacro Macro
highlight default link djstapOperator Operator
highlight default link djstapTarget Identifier
highlight default link djstapArgument PreProc
highlight default link djstapNumber Number
highlight default link djstapCondition PreCondit
highlight default link djstapFormat SpecialChar
highlight default link djstapEscape SpecialChar
highlight default link djstapString String
highlight default link djstapPoint Special
highlight default link djstapComment Comment
highlight default link djstapTodo Todo
highlight default link djstapDelimiter Delimiter

let b:current_syntax = "djstap"
let &cpoptions = s:cpo
unlet s:cpo
