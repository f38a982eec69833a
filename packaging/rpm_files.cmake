# SPDX-License-Identifier: GPL-2.0-or-later
# The files of an .rpm: without what Debian's policy demands, and where distributions with rpm look for them.
foreach(component ${CPACK_COMPONENTS_ALL})
  set(usr ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  file(REMOVE ${usr}/share/doc/${component}/changelog.Debian.gz)
  file(REMOVE_RECURSE ${usr}/share/lintian)
  if(EXISTS ${usr}/share/zsh/vendor-completions)
    file(RENAME ${usr}/share/zsh/vendor-completions ${usr}/share/zsh/site-functions)
  endif()
endforeach()
