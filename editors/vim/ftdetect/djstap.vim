" SPDX-License-Identifier: GPL-2.0-or-later
" Vim knows *.stp as stored procedures of a database; djstap's begin otherwise.
autocmd BufRead,BufNewFile *.stp,*.stpm set filetype=djstap
autocmd BufRead,BufNewFile * if getline(1) =~# '^#!.*\<djstap\>' | set filetype=djstap | endif
