/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TINY_H
#define TINY_H
struct tiny_script {
	int (*run)(int);
	int count;
};
extern const struct tiny_script djs_script;
extern int djs_answer;
int djs_double(int value);
int djs_apply(int (*function)(int), int value);
#endif
