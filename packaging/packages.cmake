# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian packages that scripts/package makes: djstap, djrun, djstap-dev and, with the libraries of Performance Co-Pilot, djstap-pmda.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME djstap)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(packages djstap djrun djstap-dev)
if(TARGET pmdadjstap)
  list(APPEND packages djstap-pmda)
endif()
set(CPACK_COMPONENTS_ALL ${packages})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${DJSTAP_PACKAGE_RELEASE})
# By convention that of the person who builds them.
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The djstap developers <djstap@localhost>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DJSTAP_PACKAGE_NAME djstap)
set(CPACK_DEBIAN_DJSTAP_PACKAGE_SHLIBDEPS ON)
# What builds the runtime for a kernel comes with the kernel's headers: their compiler and Kbuild's programs.
set(CPACK_DEBIAN_DJSTAP_PACKAGE_DEPENDS "djrun (= ${PROJECT_VERSION}-${DJSTAP_PACKAGE_RELEASE}), make, gcc, binutils")
set(CPACK_DEBIAN_DJSTAP_PACKAGE_RECOMMENDS "linux-headers-amd64")
set(CPACK_DEBIAN_DJSTAP_PACKAGE_SUGGESTS "qemu-system-x86, busybox-static, cpio, e2fsprogs, libdebuginfod1, djstap-dev")
set(CPACK_COMPONENT_DJSTAP_DESCRIPTION "compiler from probe scripts to native kernel modules
 djstap compiles scripts in SystemTap's language to native modules of the
 running kernel, loads them and prints what their handlers record. The entry
 of a function is probed by a direct call into code compiled for that probe.")

set(CPACK_DEBIAN_DJRUN_PACKAGE_NAME djrun)
set(CPACK_COMPONENT_DJRUN_DESCRIPTION "loader and reader of djstap's modules
 djrun loads a module that djstap built, prints its output and unloads it. It
 needs neither a compiler nor shared libraries, and reads flight recorders and
 crash dumps.")

set(CPACK_DEBIAN_DJSTAP-DEV_PACKAGE_NAME djstap-dev)
set(CPACK_DEBIAN_DJSTAP-DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DJSTAP-DEV_PACKAGE_DEPENDS "djstap (>= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DJSTAP-DEV_DESCRIPTION "headers for kernel modules with static markers and djprobes
 djstap/marker.h defines static markers in the source of a module;
 djstap/djprobe.h attaches djprobes from a module without a script.")

set(CPACK_DEBIAN_DJSTAP-PMDA_PACKAGE_NAME djstap-pmda)
set(CPACK_DEBIAN_DJSTAP-PMDA_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_DJSTAP-PMDA_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DJSTAP-PMDA_PACKAGE_DEPENDS "djrun (= ${PROJECT_VERSION}-${DJSTAP_PACKAGE_RELEASE}), pcp")
set(CPACK_DEBIAN_DJSTAP-PMDA_PACKAGE_RECOMMENDS "djstap")
set(CPACK_COMPONENT_DJSTAP-PMDA_DESCRIPTION "agent of Performance Co-Pilot for djstap's scripts
 pmdadjstap runs the scripts and modules of /etc/djstap/scripts and publishes
 their globals as metrics. A dashboard for Grafana is included.")

if(DJSTAP_DEBIAN_DOCUMENTS)
  foreach(package ${packages})
    install(CODE "
      set(PACKAGE ${package})
      set(VERSION ${PROJECT_VERSION}-${DJSTAP_PACKAGE_RELEASE})
      set(SOURCE ${CMAKE_SOURCE_DIR})
      set(MAINTAINER \"${CPACK_DEBIAN_PACKAGE_MAINTAINER}\")
      set(ROOT \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
      include(${CMAKE_SOURCE_DIR}/packaging/install_documents.cmake)" COMPONENT ${package})
  endforeach()
endif()
include(CPack)
