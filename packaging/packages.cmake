# SPDX-License-Identifier: GPL-2.0-or-later
# The packages that scripts/package makes, for Debian (.deb) and as .rpm: djstap, djrun, djstap-dev and, with the libraries of
# Performance Co-Pilot, djstap-pmda (.deb only).
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
set(CPACK_DEBIAN_DJRUN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DJRUN_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_DJRUN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/scripts/postinst ${CMAKE_SOURCE_DIR}/packaging/scripts/prerm
    ${CMAKE_SOURCE_DIR}/packaging/scripts/postrm)
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
 pmdadjstap runs the scripts and modules of /etc/djstap/metrics and publishes
 their globals as metrics. A dashboard for Grafana is included.")

# The same as .rpm.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/packaging/cpack_project.cmake)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE ${DJSTAP_PACKAGE_RELEASE})
set(CPACK_RPM_PACKAGE_LICENSE GPL-2.0-or-later)
set(CPACK_RPM_PACKAGE_GROUP Development/Tools)
# The files stay as they were built and stripped for the .deb.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __os_install_post %{nil}\n%define _build_id_links none")
set(CPACK_RPM_PACKAGE_AUTOREQPROV yes)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/include /usr/libexec /usr/lib/systemd /usr/lib/systemd/system /usr/share/man
    /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man7 /usr/share/vim /usr/share/vim/vimfiles /usr/share/zsh
    /usr/share/zsh/site-functions /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/bash-completion
    /usr/share/bash-completion/completions)
foreach(package djstap djrun djstap-dev)
  string(TOUPPER ${package} upper)
  set(CPACK_RPM_${upper}_PACKAGE_NAME ${package})
  string(REGEX REPLACE "\n.*" "" summary "${CPACK_COMPONENT_${upper}_DESCRIPTION}")
  set(CPACK_RPM_${upper}_PACKAGE_SUMMARY "${summary}")
endforeach()
set(CPACK_RPM_DJSTAP_PACKAGE_REQUIRES "djrun = ${PROJECT_VERSION}-${DJSTAP_PACKAGE_RELEASE}, make, gcc, binutils")
set(CPACK_RPM_DJSTAP_PACKAGE_SUGGESTS "kernel-devel, qemu-system-x86-core, djstap-dev")
set(CPACK_RPM_DJRUN_PACKAGE_REQUIRES_PRE "shadow-utils")
set(CPACK_RPM_DJRUN_PRE_INSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/packaging/scripts/rpm_pre)
set(CPACK_RPM_DJSTAP-DEV_PACKAGE_ARCHITECTURE noarch)
set(CPACK_RPM_DJSTAP-DEV_PACKAGE_REQUIRES "djstap >= ${PROJECT_VERSION}")

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
