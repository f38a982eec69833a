# SPDX-License-Identifier: GPL-2.0-or-later
# Read by cpack for each generator.
if(CPACK_GENERATOR STREQUAL RPM)
  # The agent of Performance Co-Pilot is packaged for Debian only.
  set(CPACK_COMPONENTS_ALL djstap djrun djstap-dev)
  set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/rpm_files.cmake)
endif()
