# Read by cpack. A package's maintainer is who makes it: DEBFULLNAME and DEBEMAIL, as for Debian's own tools, else git's user.
set(name "$ENV{DEBFULLNAME}")
set(address "$ENV{DEBEMAIL}")
if(name STREQUAL "")
  execute_process(COMMAND git config user.name WORKING_DIRECTORY ${CPACK_GPUTOPO_SOURCE_DIR}
                  OUTPUT_VARIABLE name OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(address STREQUAL "")
  execute_process(COMMAND git config user.email WORKING_DIRECTORY ${CPACK_GPUTOPO_SOURCE_DIR}
                  OUTPUT_VARIABLE address OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(name STREQUAL "" OR NOT address MATCHES "^[^ @<>]+@[^ @<>]+$")
  message(FATAL_ERROR "A package names its maintainer, and nobody's name and address are known; set DEBFULLNAME and DEBEMAIL")
endif()
set(CPACK_PACKAGE_CONTACT "${name} <${address}>")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CPACK_PACKAGE_CONTACT}")
