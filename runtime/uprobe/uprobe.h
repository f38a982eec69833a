/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes in programs and libraries: a consumer of the kernel's uprobes at an offset in a file, for
 * every process that maps the file. files.c finds the files.
 */
#ifndef DJSTAP_UPROBE_H
#define DJSTAP_UPROBE_H

#include "sites/sites.h"

struct inode;

/* ---- files: files.c -------------------------------------------------------------------------- */

/* Returns the inode of the site's file, which is kept until djs_programs_release; or an error, and
 * why. May sleep. */
struct inode *djs_program_file(const struct djs_site_run *run, const char **why);
void djs_programs_release(void);
/* Returns whether the file has the code for which the site was compiled: 0 or an error. For files
 * that no build-id identifies. May sleep. */
int djs_program_check_code(const struct djs_site_run *run);
/* Returns the offset of a site in its file. */
static inline u64 djs_offset_in_file(const struct djs_site *site)
{
	return site->address - djs_script.segments[site->segment].file_distance;
}

#endif
