# The imported target edgewright::xnnpack: XNNPACK, its micro-kernels, pthreadpool, cpuinfo.
#
# Two places, in this order: the static build of tools/setup/xnnpack.sh in
# ${EDGEWRIGHT_DEPS}/xnnpack (the environment's EDGEWRIGHT_DEPS, else <repo>/.deps), then the
# distribution's libxnnpack-dev (Debian 13, shared).

include_guard(GLOBAL)
find_package(Threads REQUIRED)

set(_deps "$ENV{EDGEWRIGHT_DEPS}")
if(NOT _deps)
  set(_deps "${CMAKE_CURRENT_LIST_DIR}/../.deps")
endif()
get_filename_component(_deps "${_deps}" ABSOLUTE)
set(EDGEWRIGHT_XNNPACK_PREFIX "${_deps}/xnnpack" CACHE PATH "Where tools/setup/xnnpack.sh put XNNPACK")

add_library(edgewright_xnnpack INTERFACE)
add_library(edgewright::xnnpack ALIAS edgewright_xnnpack)

if(EXISTS "${EDGEWRIGHT_XNNPACK_PREFIX}/stamp")
  set(_lib "${EDGEWRIGHT_XNNPACK_PREFIX}/lib")
  target_include_directories(edgewright_xnnpack SYSTEM INTERFACE "${EDGEWRIGHT_XNNPACK_PREFIX}/include")
  # libXNNPACK and the micro-kernels need each other.
  target_link_libraries(edgewright_xnnpack INTERFACE
    -Wl,--start-group "${_lib}/libXNNPACK.a" "${_lib}/libmicrokernels-prod.a" -Wl,--end-group
    "${_lib}/libpthreadpool.a" "${_lib}/libcpuinfo.a" Threads::Threads ${CMAKE_DL_LIBS} m)
  message(STATUS "XNNPACK: ${EDGEWRIGHT_XNNPACK_PREFIX} (static)")
else()
  find_path(XNNPACK_INCLUDE_DIR xnnpack.h)
  find_path(PTHREADPOOL_INCLUDE_DIR pthreadpool.h)
  find_library(XNNPACK_LIBRARY NAMES XNNPACK xnnpack)
  find_library(PTHREADPOOL_LIBRARY NAMES pthreadpool)
  if(NOT XNNPACK_INCLUDE_DIR OR NOT XNNPACK_LIBRARY OR NOT PTHREADPOOL_INCLUDE_DIR OR NOT PTHREADPOOL_LIBRARY)
    message(FATAL_ERROR "XNNPACK is not in ${EDGEWRIGHT_XNNPACK_PREFIX} and libxnnpack-dev is not installed: "
                        "run tools/setup/xnnpack.sh (./dev build does)")
  endif()
  target_include_directories(edgewright_xnnpack SYSTEM INTERFACE "${XNNPACK_INCLUDE_DIR}" "${PTHREADPOOL_INCLUDE_DIR}")
  target_link_libraries(edgewright_xnnpack INTERFACE "${XNNPACK_LIBRARY}" "${PTHREADPOOL_LIBRARY}" Threads::Threads)
  message(STATUS "XNNPACK: ${XNNPACK_LIBRARY} (the distribution's)")
endif()
