// SPDX-License-Identifier: GPL-2.0-or-later
// Reads and writes of memory that may be unmapped. Nothing here sleeps; any context, NMI included.
#include <linux/uaccess.h>

#include "arch/runtime.h"
#include "access/access.h"
#include "cpu/level.h"

/* Kernel addresses from here to the vsyscall page can be read by one guarded instruction. The
 * kernel's own checks handle those behind it. Those in front of it are not canonical; the kernel's
 * check of that uses the processor's address bits, not those of its page tables, and would let a
 * read warn. */
static u64 kernel_low = U64_MAX;

void djs_access_init(void)
{
	kernel_low = djs_kernel_memory();
}

DJS_HANDLER_CODE bool djs_is_kernel(u64 address)
{
	return address >= kernel_low;
}

static noinline DJS_HANDLER_CODE bool read_slow(u64 address, u32 size, u64 *value)
{
	*value = 0;
	if (djs_is_user(address))
		return !copy_from_user_nofault(value, (const void __user *)address, size);
	return djs_is_kernel(address) &&
	       !copy_from_kernel_nofault(value, (const void *)address, size);
}

DJS_HANDLER_CODE bool djs_read_number(u64 address, u32 size, u64 *value)
{
	if (unlikely(address < kernel_low || address >= DJS_KERNEL_MEMORY_END))
		return read_slow(address, size, value);
	pagefault_disable();
	switch (size) {
	case 1: {
		u8 word;

		__get_kernel_nofault(&word, (void *)address, u8, fault);
		*value = word;
		break;
	}
	case 2: {
		u16 word;

		__get_kernel_nofault(&word, (void *)address, u16, fault);
		*value = word;
		break;
	}
	case 4: {
		u32 word;

		__get_kernel_nofault(&word, (void *)address, u32, fault);
		*value = word;
		break;
	}
	case 8:
		__get_kernel_nofault(value, (void *)address, u64, fault);
		break;
	default:
		goto fault;
	}
	pagefault_enable();
	return true;
fault:
	pagefault_enable();
	*value = 0;
	return false;
}

static DJS_HANDLER_CODE bool write_kernel(u64 address, u32 size, u64 value)
{
	if (address < kernel_low || address >= DJS_KERNEL_MEMORY_END)
		return false;
	pagefault_disable();
	switch (size) {
	case 1:
		__put_kernel_nofault((void *)address, &value, u8, fault);
		break;
	case 2:
		__put_kernel_nofault((void *)address, &value, u16, fault);
		break;
	case 4:
		__put_kernel_nofault((void *)address, &value, u32, fault);
		break;
	case 8:
		__put_kernel_nofault((void *)address, &value, u64, fault);
		break;
	default:
		goto fault;
	}
	pagefault_enable();
	return true;
fault:
	pagefault_enable();
	return false;
}

static DJS_HANDLER_CODE bool write_user(u64 address, u32 size, u64 value)
{
	void __user *to = (void __user *)address;
	bool written;
	u8 byte;

	/* Only where this task's own memory is certain to be mapped: while the kernel switches
	 * tasks, that of the next one is mapped before it is the current one, which the kernel's
	 * own function sees. */
	if (djs_level() || !current->mm || !access_ok(to, size) ||
	    copy_from_user_nofault(&byte, to, sizeof(byte)))
		return false;
	pagefault_disable();
	written = !__copy_to_user_inatomic(to, &value, size);
	pagefault_enable();
	return written;
}

DJS_HANDLER_CODE bool djs_write_number(u64 address, u32 size, u64 value)
{
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	return djs_is_user(address) ? write_user(address, size, value)
				    : write_kernel(address, size, value);
}

DJS_HANDLER_CODE void djs_vfail_text(struct djs_ctx *ctx, u32 place, const char *format,
				     va_list arguments)
{
	if (ctx->error)
		return;
	vsnprintf(ctx->error_text, djs_error_bytes(), format, arguments);
	djs_fail(ctx, ctx->error_text, place);
}

DJS_HANDLER_CODE void djs_fail_text(struct djs_ctx *ctx, u32 place, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	djs_vfail_text(ctx, place, format, arguments);
	va_end(arguments);
}

/* Nothing is mapped below this address, neither by the kernel nor, because of vm.mmap_min_addr, by
 * a process: a pointer in this range is NULL plus the offset of a member. */
#define NULL_AREA 65536u

noinline DJS_HANDLER_CODE void djs_describe_access(char *out, const char *what, u64 address,
						   bool user)
{
	if (address < NULL_AREA)
		snprintf(out, DJS_ACCESS_MESSAGE,
			 address ? "cannot %s at NULL + 0x%llx" : "cannot %s at NULL", what,
			 address);
	else
		snprintf(out, DJS_ACCESS_MESSAGE, "cannot %s of %s memory at 0x%llx%s", what,
			 user ? "user" : "kernel", address,
			 user == djs_is_user(address) ? ""
			 : user			      ? ", which is a kernel address"
						      : ", which is a user-space address");
}

noinline DJS_HANDLER_CODE void djs_describe_number(char *out, const char *verb, u64 address,
						   u32 size, bool user)
{
	char what[24];

	snprintf(what, sizeof(what), "%s %u byte%s", verb, size, size == 1 ? "" : "s");
	djs_describe_access(out, what, address, user);
}

noinline DJS_HANDLER_CODE void djs_fail_access(struct djs_ctx *ctx, const char *what, u64 address,
					       bool user, u32 place)
{
	char message[DJS_ACCESS_MESSAGE];

	djs_describe_access(message, what, address, user);
	djs_fail_text(ctx, place, "%s", message);
}

noinline DJS_HANDLER_CODE void djs_fail_number(struct djs_ctx *ctx, const char *verb, u64 address,
					       u32 size, bool user, u32 place)
{
	char message[DJS_ACCESS_MESSAGE];

	djs_describe_number(message, verb, address, size, user);
	djs_fail_text(ctx, place, "%s", message);
}

DJS_HANDLER_CODE void djs_fail_load(struct djs_ctx *ctx, u64 address, u32 size, u32 place)
{
	djs_fail_number(ctx, "read", address, size, djs_is_user(address), place);
}

DJS_HANDLER_CODE u64 djs_load(struct djs_ctx *ctx, u64 address, u32 size, u32 place)
{
	return djs_load_here(ctx, address, size, place);
}

DJS_HANDLER_CODE u64 djs_load_user(struct djs_ctx *ctx, u64 address, u32 size, u32 place)
{
	u64 value;

	if (unlikely(!djs_is_user(address) || !djs_read_number(address, size, &value))) {
		djs_fail_number(ctx, "read", address, size, true, place);
		return 0;
	}
	return value;
}

DJS_HANDLER_CODE void djs_copy_memory(struct djs_ctx *ctx, char *out, u64 address, u64 size,
				      u32 user, u32 place)
{
	while (size) {
		u32 step = size >= 8 ? 8 : 1;
		u64 value = user ? djs_load_user(ctx, address, step, place)
				 : djs_load(ctx, address, step, place);

		if (ctx->error)
			return;
		memcpy(out, &value, step);
		out += step;
		address += step;
		size -= step;
	}
}

DJS_HANDLER_CODE void djs_store(struct djs_ctx *ctx, u64 address, u32 size, u64 value, u32 place)
{
	if (unlikely(!djs_write_number(address, size, value)))
		djs_fail_number(ctx, "write", address, size, djs_is_user(address), place);
}

DJS_HANDLER_CODE void djs_store_user(struct djs_ctx *ctx, u64 address, u32 size, u64 value,
				     u32 place)
{
	if (unlikely(!djs_is_user(address) || !djs_write_number(address, size, value)))
		djs_fail_number(ctx, "write", address, size, true, place);
}
