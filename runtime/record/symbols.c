// SPDX-License-Identifier: GPL-2.0-or-later
// The table of symbols (include/symbols.h): what looks them up, and when.
//
// A handler that claims a slot has the next timer tick wake a work item: kallsyms is searched in a
// task, and the handler raises no interrupt of its own. Readers do not wait for this task but have
// the slots filled, and so does a module that comes or goes: a slot gets the symbol that its
// address had when it was recorded. The work item is for crash dumps, which nobody prepares.
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/vmalloc.h>

#include "cpu/memory.h"
#include "cpu/queue.h"
#include "include/words.h"
#include "record/rings.h"
#include "record/symbols.h"

DJS_STATIC_ASSERT(KSYM_SYMBOL_LEN + sizeof(DJS_OF_KERNEL) <= DJS_SYMBOL_MAX,
		  "a symbol is longer than its slot allows");

static struct djs_symbol_table table;
static unsigned long table_pages;
static bool watching_symbols;
static DEFINE_MUTEX(filling);
static char symbol_text[DJS_SYMBOL_MAX]; /* under `filling` */

u32 (*djs_symbol_of_program)(char *symbol, u64 word);

static DJS_HANDLER_CODE bool is_of_program(u64 word)
{
	return djs_is_user_word(word) && djs_symbol_of_program;
}

DJS_HANDLER_CODE void djs_symbol_of(char *symbol, unsigned long address)
{
	if (is_of_program(address)) {
		djs_symbol_of_program(symbol, address);
		return;
	}
	sprint_symbol(symbol, address);
	if (strchr(symbol, '+') && !strchr(symbol, '['))
		memcpy(symbol + strlen(symbol), DJS_OF_KERNEL, sizeof(DJS_OF_KERNEL));
}

/*
 * Modules announce that they come and go. BPF programs and the kernel's trampolines, which are in
 * the same range of addresses, do not; nor do they say what was there before.
 */
static enum djs_symbol_state state_of(unsigned long address, const char *symbol)
{
	const char *module = strchr(symbol, '[');

#ifdef MODULES_VADDR
	if (address < MODULES_VADDR || address >= MODULES_END)
		return DJS_SYMBOL_KEPT;
#endif
	if (module && strcmp(module, "[kernel]") && strcmp(module, "[bpf]") &&
	    !strstarts(module, "[__builtin__"))
		return DJS_SYMBOL_KEPT;
	return DJS_SYMBOL_ONCE;
}

static void fill_locked(void)
{
	u32 slot, slots;

	if (!djs_symbols_pending(&table))
		return;
	slots = table.area->slots;
	for (slot = djs_symbol_next(&table, 0); slot < slots;
	     slot = djs_symbol_next(&table, slot + 1)) {
		unsigned long address = READ_ONCE(table.symbols[slot].key);

		if (is_of_program(address)) {
			djs_symbol_fill(&table, slot, symbol_text,
					djs_symbol_of_program(symbol_text, address),
					DJS_SYMBOL_KEPT);
			continue;
		}
		djs_symbol_of(symbol_text, address);
		djs_symbol_fill(&table, slot, symbol_text, strlen(symbol_text),
				state_of(address, symbol_text));
		cond_resched();
	}
}

void djs_symbols_fill(void)
{
	if (!table.symbols)
		return;
	mutex_lock(&filling);
	fill_locked();
	mutex_unlock(&filling);
}

static void fill_work_run(struct work_struct *work)
{
	djs_symbols_fill();
}
static DECLARE_WORK(fill_work, fill_work_run);

static void wake_work_run(struct irq_work *work)
{
	queue_work(DJS_QUEUE, &fill_work);
}
static struct irq_work wake_work = IRQ_WORK_INIT_LAZY(wake_work_run);

DJS_HANDLER_CODE bool djs_symbol_slots(const u64 *addresses, u32 count, u64 *slots)
{
	bool fresh = false, all = true;
	u32 i;

	if (!table.symbols)
		return false;
	for (i = 0; i < count; i++) {
		u32 slot = djs_symbol_claim(&table, addresses[i], &fresh);

		if (unlikely(slot == DJS_NO_SYMBOL)) {
			all = false;
			break;
		}
		slots[i] = slot;
	}
	if (unlikely(fresh))
		irq_work_queue(&wake_work);
	return all;
}

DJS_HANDLER_CODE bool djs_symbol_copy(char *symbol, unsigned long address)
{
	const char *known;
	u64 key = address, slot;
	u32 length;

	if (!djs_symbol_slots(&key, 1, &slot))
		return false;
	known = djs_symbol_known(&table, slot, &length);
	if (!known)
		return false;
	memcpy(symbol, known, length);
	symbol[length] = 0;
	return true;
}

/* ---- modules that come and go ---------------------------------------------------------------- */

#ifdef CONFIG_MODULES
static bool is_in_init(const struct module *module, u64 address)
{
	return within_module_init(address, module);
}

/* The module's addresses mean something else from now on: all of them, or those of its init part.
 */
static void retire(const struct module *module, bool only_init)
{
	u32 slot, slots = table.area->slots;

	for (slot = 0; slot < slots; slot++) {
		u64 address = READ_ONCE(table.symbols[slot].key);

		if (address > DJS_SYMBOL_RETIRED &&
		    (only_init ? is_in_init(module, address) : within_module(address, module)))
			djs_symbol_retire(&table, slot);
	}
}

/*
 * A module that goes still has its symbols; what was recorded before it came did not mean it. When
 * it lives, its init part, and the symbols of that, are about to be freed.
 */
static int symbols_module_changes(struct notifier_block *block, unsigned long state, void *data)
{
	mutex_lock(&filling);
	fill_locked();
	retire(data, state == MODULE_STATE_LIVE);
	mutex_unlock(&filling);
	return NOTIFY_DONE;
}

static struct notifier_block module_block = {.notifier_call = symbols_module_changes};
#endif

/* ---- begin and end -------------------------------------------------------------------------- */

int djs_symbols_init(void)
{
	u64 bytes = PAGE_ALIGN(djs_symbol_area_bytes(djs_script.max_symbols));
	void *area;
	int error = 0;

	if (!djs_script.max_symbols)
		return 0;
	if (!djs_memory_allows(bytes))
		return -ENOMEM;
	area = vmalloc_user(bytes);
	if (!area)
		return -ENOMEM;
	table_pages = bytes >> PAGE_SHIFT;
	djs_symbol_table_init(&table, area, djs_script.max_symbols, djs_script.string_bytes);
	error = djs_dump_symbols_add(area, table_pages);
#ifdef CONFIG_MODULES
	if (!error) {
		error = register_module_notifier(&module_block);
		watching_symbols = !error;
	}
#endif
	if (error)
		djs_symbols_exit();
	return error;
}

/* No handler runs any more. */
void djs_symbols_exit(void)
{
	void *area = table.area;

#ifdef CONFIG_MODULES
	if (watching_symbols)
		unregister_module_notifier(&module_block);
#endif
	watching_symbols = false;
	irq_work_sync(&wake_work);
	cancel_work_sync(&fill_work);
	djs_dump_symbols_exit();
	memset(&table, 0, sizeof(table));
	table_pages = 0;
	vfree(area); /* a reader that maps a page holds a reference of its own */
}

unsigned long djs_symbol_pages(void)
{
	return table_pages;
}

struct page *djs_symbol_page(unsigned long index)
{
	if (index >= table_pages)
		return NULL;
	return vmalloc_to_page((char *)table.area + index * PAGE_SIZE);
}

struct djs_symbol_view djs_symbols_here(void)
{
	struct djs_symbol_view view = {
	    .area = table.area,
	    .bytes = table_pages * PAGE_SIZE,
	};

	return view;
}
