/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's interface for the sources that *_for_test.c include: pages, and what maps them. */
#ifndef DJSTAP_TEST_VMALLOC_H
#define DJSTAP_TEST_VMALLOC_H
#include "linux/slab.h"

struct page;
#define VM_MAP 4
#define PAGE_KERNEL 0x63
#define __GFP_NORETRY 0x10000u
#define page_address(page) test_page_address(page)
#define page_to_pfn(page) test_page_number(page)
#define vmalloc_to_page(address) test_page_of_vmalloc(address)
#define vmalloc_to_pfn(address) test_page_number(test_page_of_vmalloc(address))
#define __free_page(page) test_page_free(page)
struct page* alloc_pages_node(int node, unsigned flags, unsigned order);
void test_page_free(struct page* page);
void* test_page_address(struct page* page);
unsigned long test_page_number(struct page* page);
struct page* test_page_of_vmalloc(const void* address);
void* vmap(struct page** pages, unsigned count, unsigned long flags, int protection);
void vunmap(const void* mapping);
void* vmalloc_user(unsigned long bytes);
#endif
