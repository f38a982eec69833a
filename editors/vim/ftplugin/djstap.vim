" SPDX-License-Identifier: GPL-2.0-or-later
" Vim's settings for djstap's scripts: what a comment is.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=//\ %s comments=s1:/*,mb:*,ex:*/,://,:#
let b:undo_ftplugin = "setlocal commentstring< comments<"
