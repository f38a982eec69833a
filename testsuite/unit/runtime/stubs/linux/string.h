/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of the C library. */
#include <string.h>
