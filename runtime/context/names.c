// SPDX-License-Identifier: GPL-2.0-or-later
// Names of numbers: errors and signals.
#include <linux/kernel.h>

#include "include/functions.h"
#include "include/text.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/signal.h>
#else
#include <errno.h>
#include <signal.h>

/* Of include/linux/errno.h, which no C library has. */
enum {
	ERESTARTSYS = 512,
	ERESTARTNOINTR,
	ERESTARTNOHAND,
	ENOIOCTLCMD,
	ERESTART_RESTARTBLOCK,
	EPROBE_DEFER,
	EOPENSTALE,
	ENOPARAM,
	EBADHANDLE = 521,
	ENOTSYNC,
	EBADCOOKIE,
	ENOTSUPP,
	ETOOSMALL,
	ESERVERFAULT,
	EBADTYPE,
	EJUKEBOX,
	EIOCBQUEUED,
	ERECALLCONFLICT,
};
#endif

/* clang-format off */
/* Of include/uapi/asm-generic/errno.h; two further names are other words for EAGAIN and EDEADLK. */
#define DJS_ERRNO_NAMES(E) \
	E(EPERM) E(ENOENT) E(ESRCH) E(EINTR) E(EIO) E(ENXIO) E(E2BIG) E(ENOEXEC) E(EBADF) \
	E(ECHILD) E(EAGAIN) E(ENOMEM) E(EACCES) E(EFAULT) E(ENOTBLK) E(EBUSY) E(EEXIST) E(EXDEV) \
	E(ENODEV) E(ENOTDIR) E(EISDIR) E(EINVAL) E(ENFILE) E(EMFILE) E(ENOTTY) E(ETXTBSY) E(EFBIG) \
	E(ENOSPC) E(ESPIPE) E(EROFS) E(EMLINK) E(EPIPE) E(EDOM) E(ERANGE) E(EDEADLK) \
	E(ENAMETOOLONG) E(ENOLCK) E(ENOSYS) E(ENOTEMPTY) E(ELOOP) E(ENOMSG) E(EIDRM) E(ECHRNG) \
	E(EL2NSYNC) E(EL3HLT) E(EL3RST) E(ELNRNG) E(EUNATCH) E(ENOCSI) E(EL2HLT) E(EBADE) E(EBADR) \
	E(EXFULL) E(ENOANO) E(EBADRQC) E(EBADSLT) E(EBFONT) E(ENOSTR) E(ENODATA) E(ETIME) E(ENOSR) \
	E(ENONET) E(ENOPKG) E(EREMOTE) E(ENOLINK) E(EADV) E(ESRMNT) E(ECOMM) E(EPROTO) \
	E(EMULTIHOP) E(EDOTDOT) E(EBADMSG) E(EOVERFLOW) E(ENOTUNIQ) E(EBADFD) E(EREMCHG) \
	E(ELIBACC) E(ELIBBAD) E(ELIBSCN) E(ELIBMAX) E(ELIBEXEC) E(EILSEQ) E(ERESTART) E(ESTRPIPE) \
	E(EUSERS) E(ENOTSOCK) E(EDESTADDRREQ) E(EMSGSIZE) E(EPROTOTYPE) E(ENOPROTOOPT) \
	E(EPROTONOSUPPORT) E(ESOCKTNOSUPPORT) E(EOPNOTSUPP) E(EPFNOSUPPORT) E(EAFNOSUPPORT) \
	E(EADDRINUSE) E(EADDRNOTAVAIL) E(ENETDOWN) E(ENETUNREACH) E(ENETRESET) E(ECONNABORTED) \
	E(ECONNRESET) E(ENOBUFS) E(EISCONN) E(ENOTCONN) E(ESHUTDOWN) E(ETOOMANYREFS) E(ETIMEDOUT) \
	E(ECONNREFUSED) E(EHOSTDOWN) E(EHOSTUNREACH) E(EALREADY) E(EINPROGRESS) E(ESTALE) \
	E(EUCLEAN) E(ENOTNAM) E(ENAVAIL) E(EISNAM) E(EREMOTEIO) E(EDQUOT) E(ENOMEDIUM) \
	E(EMEDIUMTYPE) E(ECANCELED) E(ENOKEY) E(EKEYEXPIRED) E(EKEYREVOKED) E(EKEYREJECTED) \
	E(EOWNERDEAD) E(ENOTRECOVERABLE) E(ERFKILL) E(EHWPOISON) 

/* Errors that stay within the kernel, include/linux/errno.h. */
#define DJS_INTERNAL_ERRNO_NAMES(E) \
	E(ERESTARTSYS) E(ERESTARTNOINTR) E(ERESTARTNOHAND) E(ENOIOCTLCMD) E(ERESTART_RESTARTBLOCK) \
	E(EPROBE_DEFER) E(EOPENSTALE) E(ENOPARAM) E(EBADHANDLE) E(ENOTSYNC) E(EBADCOOKIE) \
	E(ENOTSUPP) E(ETOOSMALL) E(ESERVERFAULT) E(EBADTYPE) E(EJUKEBOX) E(EIOCBQUEUED) \
	E(ERECALLCONFLICT) 

#define DJS_SIGNAL_NAMES(S) \
	S(HUP) S(INT) S(QUIT) S(ILL) S(TRAP) S(ABRT) S(BUS) S(FPE) S(KILL) S(USR1) S(SEGV) S(USR2) \
	S(PIPE) S(ALRM) S(TERM) S(STKFLT) S(CHLD) S(CONT) S(STOP) S(TSTP) S(TTIN) S(TTOU) S(URG) \
	S(XCPU) S(XFSZ) S(VTALRM) S(PROF) S(WINCH) S(PWR) S(SYS)
/* clang-format on */

#define ERROR_ROW(name)	 [name] = #name,
#define SIGNAL_ROW(name) [SIG##name] = #name,
static const char *const error_names[] = {DJS_ERRNO_NAMES(ERROR_ROW)
					      DJS_INTERNAL_ERRNO_NAMES(ERROR_ROW)};
static const char *const signal_names[] = {DJS_SIGNAL_NAMES(SIGNAL_ROW)[SIGIO] = "IO/POLL"};

/* The first real-time signal as the kernel numbers them; a C library keeps two for itself. */
#define FIRST_REAL_TIME 32
#define LAST_REAL_TIME	64

/* Copies entry `number` of a table, or "" if the table has none. */
static __always_inline void copy_name(char *out, const char *const *names, u64 count, u64 number)
{
	const char *name = number < count ? names[number] : NULL;

	djs_text_copy(out, name ? name : "", djs_script.string_bytes);
}

/* The name of an error, whose number may be negative, as functions of the kernel return it. */
DJS_HANDLER_CODE void djs_fn_errno_str(struct djs_ctx *ctx, char *out, s64 error)
{
	u64 number = error < 0 ? 0 - (u64)error : (u64)error;

	copy_name(out, error_names, ARRAY_SIZE(error_names), number);
}

/* The name of a signal without SIG, "RTMIN+n" for real-time signals. */
DJS_HANDLER_CODE void djs_fn_signal_str(struct djs_ctx *ctx, char *out, s64 number)
{
	s64 above;
	u32 length;

	if (number < FIRST_REAL_TIME || number > LAST_REAL_TIME) {
		copy_name(out, signal_names, ARRAY_SIZE(signal_names), (u64)number);
		return;
	}
	above = number - FIRST_REAL_TIME;
	djs_text_copy(out, above ? "RTMIN+" : "RTMIN", djs_script.string_bytes);
	if (!above)
		return;
	length = djs_text_length_here(out);
	if (above >= 10)
		out[length++] = (char)('0' + above / 10);
	out[length++] = (char)('0' + above % 10);
	out[length] = 0;
}
