// SPDX-License-Identifier: GPL-2.0-or-later
// Prints records that no reader consumed to the kernel log, when a manually loaded module is
// unloaded.
#include <linux/mm.h>
#include <linux/slab.h>

#include "include/text.h"
#include "record/rings.h"
#include "record/symbols.h"

#define LOG_LINE_MAX 900 /* printk truncates at about 1000 */

static char log_line[LOG_LINE_MAX + 1];
static unsigned int log_line_length, log_lines, log_lines_max;

static void log_end_line(void)
{
	log_line[log_line_length] = 0;
	if (log_lines++ < log_lines_max)
		pr_info("%s: %s\n", THIS_MODULE->name, log_line);
	log_line_length = 0;
}

static void log_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\n' || log_line_length == LOG_LINE_MAX)
			log_end_line();
		if (*text != '\n')
			log_line[log_line_length++] = *text;
	}
}

/* Returns the string argument at `from`, which `bytes` bytes follow; "" if it is incomplete. */
static const char *text_argument(char *out, size_t size, const void *from, size_t bytes)
{
	u32 length = bytes >= sizeof(u32) ? *(const u32 *)from : 0;

	if (length > bytes - min(bytes, sizeof(u32)))
		length = 0;
	length = min_t(size_t, length, size - 1);
	memcpy(out, from + sizeof(u32), length);
	out[length] = 0;
	return out;
}

/* print_backtrace(): a line for each slot that it recorded. */
static void log_stack(const u64 *words, size_t bytes, char *buffer, size_t size)
{
	const struct djs_symbol_view view = djs_symbols_here();
	u64 i, count = bytes < sizeof(u64) ? 0 : words[0] & ~DJS_STACK_FILELINE;

	for (i = 1; i <= count && i < bytes / sizeof(u64); i++) {
		djs_symbol_line(&view, buffer, size, words[i]);
		log_text(buffer);
	}
}

static void log_special(const struct djs_record *record, size_t bytes, char *buffer, size_t size)
{
	u64 place_at;
	s64 place;

	if (record->id == DJS_RECORD_TEXT)
		log_text(text_argument(buffer, size, record + 1, bytes));
	if (record->id == DJS_RECORD_STACK)
		log_stack((const u64 *)(record + 1), bytes, buffer, size);
	if (record->id != DJS_RECORD_ERROR && record->id != DJS_RECORD_WARNING)
		return;
	if (log_line_length)
		log_end_line();
	log_text(record->id == DJS_RECORD_ERROR ? "ERROR: " : "WARNING: ");
	log_text(text_argument(buffer, size, record + 1, bytes));
	if (record->id == DJS_RECORD_ERROR && bytes >= sizeof(u32) + sizeof(s64)) {
		place_at = DJS_ALIGN8(sizeof(u32) + *(const u32 *)(record + 1));
		place = place_at + sizeof(s64) <= bytes
			    ? *(const s64 *)((const char *)(record + 1) + place_at)
			    : -1;
		if (place >= 0 && place < djs_script.place_count) {
			log_text(" near ");
			log_text(djs_script.places[place]);
		}
	}
	log_end_line();
}

/* Returns the number at the end of a record of a string and a number, or of a number alone. */
static s64 last_number(const struct djs_record *record)
{
	size_t bytes = record->size - sizeof(*record);

	return bytes < sizeof(s64) ? 0 : ((const s64 *)((const char *)record + record->size))[-1];
}

static void keep_speculation(struct djs_record *record);
static void log_speculations(const struct djs_record *end, char *buffer, size_t size);

/* A format whose arguments are made of symbols: these become strings in the second half of the
 * buffer. */
static void format_symbols(const char *format, const char *types, const char *args, size_t bytes,
			   char *buffer, size_t size)
{
	const struct djs_symbol_view view = djs_symbols_here();
	char *strings = buffer + size / 2;
	size_t used = djs_symbols_expand(&view, strings, size / 2, types, args, bytes);

	if (used != DJS_SYMBOLS_DAMAGED)
		djs_format(buffer, size / 2, format, types, strings, min(used, size / 2));
}

static void log_formatted(const struct djs_record *record, size_t bytes, char *buffer, size_t size)
{
	const char *types = djs_script.format_types[record->id], *type;
	const char *format = djs_script.formats[record->id], *args = (const char *)(record + 1);
	size_t fields = 0;

	for (; *types == DJS_EVENT_FIELD_TYPE; types++)
		fields += sizeof(u64);
	if (fields > bytes)
		return;
	buffer[0] = 0;
	for (type = types; *type && !djs_is_symbols(*type);)
		type++;
	if (*type)
		format_symbols(format, types, args + fields, bytes - fields, buffer, size);
	else
		djs_format(buffer, size, format, types, args + fields, bytes - fields);
	log_text(buffer);
}

static void log_record(struct djs_record *record, char *buffer, size_t size)
{
	size_t bytes = record->size - sizeof(*record);

	if (record->id == DJS_RECORD_SPECULATION) {
		keep_speculation(record);
	} else if (record->id == DJS_RECORD_COMMIT || record->id == DJS_RECORD_DISCARD) {
		log_speculations(record, buffer, size);
	} else if (record->id >= DJS_RECORD_FIRST_SPECIAL) {
		log_special(record, bytes, buffer, size);
	} else if (record->id < djs_script.format_count) {
		log_formatted(record, bytes, buffer, size);
	}
}

/* The position of a walk over the records of all CPUs in the order of time. */
struct walk {
	u64 *at; /* [nr_cpu_ids]: like tails */
};

/* Returns the next record of a CPU, or NULL. */
static struct djs_record *next_of(struct walk *walk, unsigned int cpu)
{
	const struct djs_cpu *data = per_cpu_ptr(&djs_cpu, cpu);
	struct djs_record *record;
	u64 left, rest;

	if (!data->data)
		return NULL;
	rest = DJS_PART_BYTES - (walk->at[cpu] & (DJS_PART_BYTES - 1));
	if (djs_overwrite && rest < sizeof(*record))
		walk->at[cpu] += rest; /* too small for a padding record */
	left = data->head - walk->at[cpu];
	if (left < sizeof(*record) || left > djs_ring_bytes)
		return NULL;
	record = (struct djs_record *)(data->data + (walk->at[cpu] & data->mask));
	if (record->size < sizeof(*record) || record->size > left || (record->size & 7))
		return NULL;
	return record;
}

/* Returns and consumes the earliest remaining record; NULL: none. */
static struct djs_record *next_record(struct walk *walk)
{
	struct djs_record *record, *first = NULL;
	unsigned int cpu, first_cpu = 0;

	for_each_possible_cpu (cpu) {
		record = next_of(walk, cpu);
		if (record && (!first || record->time < first->time)) {
			first = record;
			first_cpu = cpu;
		}
	}
	if (first)
		walk->at[first_cpu] += first->size;
	return first;
}

static void walk_begin(struct walk *walk)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		const struct djs_cpu *data = per_cpu_ptr(&djs_cpu, cpu);

		walk->at[cpu] = djs_overwrite ? djs_oldest_part(data) : data->page->tail;
	}
}

static struct walk all_records;

/*
 * Speculated output whose end has not been met, by its number: each record that was consumed holds
 * the address of the one before it in place of its time. Looking for them from the first record on
 * at each end would take time in proportion to the square of the records.
 */
static u64 *speculations;
static u64 speculations_mask;

static u64 *speculations_of(s64 number)
{
	return &speculations[number & speculations_mask];
}

static struct djs_record *record_at(u64 address)
{
	return (struct djs_record *)(unsigned long)address;
}

static void keep_speculation(struct djs_record *record)
{
	u64 *last = speculations_of(last_number(record));

	record->time = *last;
	*last = (unsigned long)record;
}

/* Prints or drops the output that was speculated under the number of `end`. */
static void log_speculations(const struct djs_record *end, char *buffer, size_t size)
{
	u64 *link = speculations_of(last_number(end)), first = 0;
	struct djs_record *record;

	/* The last record comes first, so those that are taken out are in their order again. */
	while ((record = record_at(*link))) {
		cond_resched();
		if (last_number(record) != last_number(end)) {
			link = &record->time;
			continue;
		}
		*link = record->time;
		record->time = first;
		first = (unsigned long)record;
	}
	if (end->id != DJS_RECORD_COMMIT)
		return;
	for (record = record_at(first); record; record = record_at(record->time))
		log_text(text_argument(buffer, size, record + 1, record->size - sizeof(*record)));
}

static void log_lost(u64 records, const char *why)
{
	if (records)
		djs_warning("%llu record%s lost: %s", records, records == 1 ? " was" : "s were",
			    why);
}

void djs_rings_to_log(unsigned int max_lines)
{
	size_t size = 4 * DJS_RECORD_MAX;
	char *buffer = kvmalloc(size, GFP_KERNEL);

	struct djs_record *record;
	unsigned int cpu;

	all_records.at = kcalloc(nr_cpu_ids, sizeof(u64), GFP_KERNEL);
	speculations_mask =
	    roundup_pow_of_two(clamp(djs_ring_bytes / 256, 1024ull, 1ull << 20)) - 1;
	speculations = kvcalloc(speculations_mask + 1, sizeof(*speculations), GFP_KERNEL);
	if (!buffer || !all_records.at || !speculations)
		goto out;
	log_lines = 0;
	log_lines_max = max_lines;
	log_line_length = 0;
	djs_symbols_fill();
	walk_begin(&all_records);
	while ((record = next_record(&all_records))) {
		log_record(record, buffer, size);
		cond_resched();
	}
	for_each_possible_cpu (cpu)
		per_cpu(djs_cpu, cpu).page->tail = all_records.at[cpu];
	if (log_line_length)
		log_end_line();
	if (log_lines > log_lines_max)
		pr_info("%s: … %u more line%s\n", THIS_MODULE->name, log_lines - log_lines_max,
			log_lines - log_lines_max == 1 ? "" : "s");
	log_lost(djs_rings_lost(), "the buffer was full");
	log_lost(djs_rings_oversized(), "longer than a buffer");
out:
	kvfree(speculations);
	kfree(all_records.at);
	kvfree(buffer);
}
