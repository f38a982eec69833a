/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys of maps that have buckets: their hash, their comparison with those of an entry, and
 * their layout in it. An entry pads a string with zeros up to the next multiple of 8. Of a stack,
 * it has the words that there are.
 */
#ifndef DJSTAP_MAP_KEYS_H
#define DJSTAP_MAP_KEYS_H

#include "map/layout.h"
#include "text/words.h"

/* Loads eight bytes of a string one by one: at most `left`, with zeros after its end. */
static __attribute__((__noinline__)) DJS_HANDLER_CODE u64 bytes_of_text(const char *text,
									size_t left)
{
	u64 word = 0;
	u32 i;

	for (i = 0; i < 8 && i < left && text[i]; i++)
		word |= (u64)(u8)text[i] << 8 * i;
	return word;
}

/* The same in the fastest possible way. Returns whether the string ends in these bytes. */
static inline int text_word(const char *text, size_t left, u64 *word)
{
	u64 bytes =
	    likely(WHOLE_WORDS(text) && left >= 8) ? load_word(text) : bytes_of_text(text, left);
	u64 ends = ends_in(bytes);

	*word = ends ? before_end(bytes, ends) : bytes;
	return ends != 0;
}

static inline u64 hash_text(const struct djs_map *map, const char *text, u64 hash)
{
	size_t left = map->max_key_text;
	u64 word;

	if (!text)
		return djs_map_stir(&map->front, hash, 0);
	for (;; text += 8, left -= 8) {
		int last = text_word(text, left, &word);

		hash = djs_map_stir(&map->front, hash, word);
		if (likely(last))
			return hash;
	}
}

/* The number of a stack's words including itself; never more than an entry has room for. */
static inline u64 stack_words(const struct djs_map *map, const u64 *stack)
{
	u64 most = map->shape.stack_words;

	return likely(stack[0] < most) ? 1 + stack[0] : most;
}

static inline u64 hash_stack(const struct djs_map *map, const u64 *stack, u64 hash)
{
	u64 words, i;

	if (!stack)
		return djs_map_stir(&map->front, hash, 0);
	words = stack_words(map, stack);
	hash = djs_map_stir(&map->front, hash, words - 1);
	for (i = 1; i < words; i++)
		hash = djs_map_stir(&map->front, hash, stack[i]);
	return hash;
}

static inline u32 hash_keys(const struct djs_map *map, const union djs_value *keys)
{
	const union djs_value *end = keys + map->shape.key_count;
	u64 hash = map->front.seed;
	u32 texts = map->text_keys, stacks = map->stack_keys;

	for (;; texts >>= 1, stacks >>= 1) {
		if (unlikely(stacks & 1))
			hash = hash_stack(map, keys->stack, hash);
		else if (texts & 1)
			hash = hash_text(map, keys->text, hash);
		else
			hash = djs_map_stir(&map->front, hash, (u64)keys->number);
		if (++keys == end)
			return (u32)(djs_map_spread(hash) >> 32);
	}
}

static inline int same_text(const struct djs_map *map, const char *stored, const char *text)
{
	size_t left = map->max_key_text;
	u64 word;

	if (!text)
		return !stored[0];
	for (;; text += 8, stored += 8, left -= 8) {
		int last = text_word(text, left, &word);

		if (*(const u64 *)stored != word)
			return 0;
		if (likely(last))
			return 1;
	}
}

static inline int same_stack(const struct djs_map *map, const u64 *stored, const u64 *stack)
{
	u64 words, i;

	if (!stack)
		return !stored[0];
	words = stack_words(map, stack);
	if (stored[0] != words - 1)
		return 0;
	for (i = 1; i < words; i++)
		if (stored[i] != stack[i])
			return 0;
	return 1;
}

static inline int same_key(const struct djs_map *map, const struct entry *entry, u32 i,
			   const union djs_value *key)
{
	const char *stored = (const char *)entry + map->key_offsets[i];

	if (map->stack_keys >> i & 1)
		return same_stack(map, (const u64 *)stored, key->stack);
	if (map->text_keys >> i & 1)
		return same_text(map, stored, key->text);
	return *(const s64 *)stored == key->number;
}

static inline int same_keys(const struct djs_map *map, const struct entry *entry,
			    const union djs_value *keys)
{
	const union djs_value *end = keys + map->shape.key_count;
	const char *stored = (const char *)(entry + 1);
	u32 texts = map->text_keys, stacks = map->stack_keys;

	for (; keys < end; keys++, texts >>= 1, stacks >>= 1) {
		if (unlikely(stacks & 1)) {
			if (!same_stack(map, (const u64 *)stored, keys->stack))
				return 0;
			stored += map->shape.stack_words * sizeof(u64);
		} else if (texts & 1) {
			if (!same_text(map, stored, keys->text))
				return 0;
			stored += DJS_ALIGN8((u64)map->max_key_text + 1);
		} else {
			if (*(const s64 *)stored != keys->number)
				return 0;
			stored += sizeof(s64);
		}
	}
	return 1;
}

static DJS_HANDLER_CODE void store_text(const struct djs_map *map, char *stored, const char *text)
{
	size_t left = map->max_key_text;
	int last = 0;

	if (!text) {
		*(u64 *)stored = 0;
		return;
	}
	for (; !last; text += 8, stored += 8, left -= 8)
		last = text_word(text, left, (u64 *)stored);
}

static DJS_HANDLER_CODE void store_stack(const struct djs_map *map, u64 *stored, const u64 *stack)
{
	u64 words, i;

	if (!stack) {
		stored[0] = 0;
		return;
	}
	words = stack_words(map, stack);
	stored[0] = words - 1;
	for (i = 1; i < words; i++)
		stored[i] = stack[i];
}

static inline void store_keys(const struct djs_map *map, struct entry *entry,
			      const union djs_value *keys)
{
	u32 i;

	for (i = 0; i < map->shape.key_count; i++) {
		char *stored = (char *)entry + map->key_offsets[i];

		if (map->shape.key_types[i] == DJS_LONG)
			*(s64 *)stored = keys[i].number;
		else if (map->shape.key_types[i] == DJS_STACK)
			store_stack(map, (u64 *)stored, keys[i].stack);
		else
			store_text(map, stored, keys[i].text);
	}
}

#endif
