// SPDX-License-Identifier: GPL-2.0-or-later
#define WITHOUT_MARKERS
#include "macro.c"
