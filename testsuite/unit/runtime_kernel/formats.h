/* SPDX-License-Identifier: GPL-2.0-or-later
 * Formats of the hand-written scripts, shared with the reader of these tests.
 */
#define TEST_FORMATS                                                                               \
	{                                                                                          \
	    "begin %d\n",                                                                          \
	    "umask %d by %s\n",                                                                    \
	    "kprobe in %s, %s\n",                                                                  \
	    "returned %d, entered with %d\n",                                                      \
	    "end: counted %d, ticks %d, map %d, statistic %d/%d\n",                                \
	    "n %d\n",                                                                              \
	}
#define TEST_TYPES	  {"l", "ls", "ss", "ll", "lllll", "l"}
#define TEST_FORMAT_COUNT 6
