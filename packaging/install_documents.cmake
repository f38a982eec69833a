# SPDX-License-Identifier: GPL-2.0-or-later
# What Debian's policy demands of /usr/share/doc/PACKAGE and of manual pages. Runs at installation, with PACKAGE, VERSION,
# SOURCE (the project's folder) and ROOT (of the installation, /usr in a package) set.
set(documents ${ROOT}/share/doc/${PACKAGE})
file(MAKE_DIRECTORY ${documents})
file(COPY ${SOURCE}/packaging/copyright DESTINATION ${documents})
execute_process(COMMAND git -C ${SOURCE} log -1 --format=%cD OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT date)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
file(WRITE ${documents}/changelog.Debian
  "djstap (${VERSION}) unstable; urgency=medium\n\n  * CHANGELOG.md of the sources lists the changes.\n\n -- ${MAINTAINER}  ${date}\n")
file(GLOB_RECURSE files ${documents}/changelog.Debian ${ROOT}/share/man/man*/*[1-9] ${ROOT}/share/man/man*/*.3stap)
execute_process(COMMAND gzip -9nf ${files} COMMAND_ERROR_IS_FATAL ANY)
set(overrides ${SOURCE}/packaging/${PACKAGE}.lintian-overrides)
if(EXISTS ${overrides})
  file(MAKE_DIRECTORY ${ROOT}/share/lintian/overrides)
  file(COPY_FILE ${overrides} ${ROOT}/share/lintian/overrides/${PACKAGE})
endif()
