# SPDX-License-Identifier: Apache-2.0
# The library in a process that has another Arrow: one that has the names of ours and kills whoever calls it. Real ones of other
# versions: scripts/check-hosts.
#
# The sanitizers refuse deep binding, which is what is tested. So beside a build with them stands a plain one of the library and
# the bridge, without optimisation and debug information to be quick.
if(PML_SANITIZE AND NOT PML_SANITIZE MATCHES address)
  return()
endif()
if(PML_SANITIZE)
  set(plain_dir ${CMAKE_BINARY_DIR}/plain)
  add_library(plain_bridge MODULE ${PML_BRIDGE_SOURCES})
  target_link_libraries(plain_bridge PRIVATE pml_arrow)
  target_link_options(plain_bridge PRIVATE -Wl,--exclude-libs,ALL
    -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/format/bridge/bridge.map)
  set_target_properties(plain_bridge PROPERTIES PREFIX "lib" OUTPUT_NAME paimonlive_bridge
    LIBRARY_OUTPUT_DIRECTORY ${plain_dir}/paimonlive)
  add_library(plain_paimonlive SHARED ${PML_SOURCES})
  target_compile_definitions(plain_paimonlive PRIVATE PML_VERSION="${PROJECT_VERSION}")
  target_link_libraries(plain_paimonlive PRIVATE pml_deps)
  target_link_options(plain_paimonlive PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/paimonlive.map)
  set_target_properties(plain_paimonlive PROPERTIES OUTPUT_NAME paimonlive LIBRARY_OUTPUT_DIRECTORY ${plain_dir})
  add_dependencies(plain_paimonlive plain_bridge)
  foreach(target plain_bridge plain_paimonlive)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src PUBLIC ${CMAKE_SOURCE_DIR}/include)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE -O0 -g0)
  endforeach()
  set(host_library plain_paimonlive)
  set(host_bridge plain_bridge)
else()
  set(host_library paimonlive)
  set(host_bridge paimonlive_bridge)
endif()

# ---- the other Arrow, under the public name that a wheel's has ----
if(PML_ARROW_INSTALLED)
  set(real_arrow $<TARGET_FILE:Arrow::arrow_shared> $<TARGET_FILE:Parquet::parquet_shared>)
  set(fake_name libarrow.so.1) # the bridge asks for the installed one by its name, and must get it
else()
  set(real_arrow ${PML_ARROW_PRIVATE})
  set(fake_name libarrow.so.${PML_ARROW_VERSION}00)
endif()
set(fake_arrow ${CMAKE_BINARY_DIR}/hosts/${fake_name})
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/hosts)
add_custom_command(OUTPUT ${fake_arrow} DEPENDS ${CMAKE_CURRENT_LIST_DIR}/fake_arrow.py
  COMMAND ${PML_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/fake_arrow.py ${fake_arrow}.s ${real_arrow}
  COMMAND ${CMAKE_C_COMPILER} -shared -o ${fake_arrow} ${fake_arrow}.s -Wl,-soname,${fake_name} VERBATIM)
add_custom_target(fake_arrow DEPENDS ${fake_arrow})

# ---- the hosts ----
foreach(host host_plain host_linked)
  add_executable(${host} ${CMAKE_SOURCE_DIR}/tests/consumer/use_table.c)
  target_link_libraries(${host} PRIVATE ${host_library} pml_warnings)
endforeach()
add_dependencies(host_linked fake_arrow)
target_link_options(host_linked PRIVATE -Wl,--no-as-needed ${fake_arrow})
set_target_properties(host_linked PROPERTIES BUILD_RPATH ${CMAKE_BINARY_DIR}/hosts)
add_executable(host_shallow ${CMAKE_CURRENT_LIST_DIR}/shallow.c)
target_link_libraries(host_shallow PRIVATE pml_warnings)
add_dependencies(host_shallow fake_arrow ${host_bridge})

set(run ${CMAKE_SOURCE_DIR}/tests/examples.sh)
set(line "use_table: 6 rows with ${PROJECT_VERSION}")
add_test(NAME hosts.linked COMMAND ${run} $<TARGET_FILE:host_linked> ${line})
add_test(NAME hosts.opened COMMAND ${run} $<TARGET_FILE:host_plain> ${line} ${fake_arrow})
add_test(NAME hosts.preloaded COMMAND ${run} $<TARGET_FILE:host_plain> ${line})
add_test(NAME hosts.can_fail COMMAND host_shallow $<TARGET_FILE:${host_bridge}> ${fake_arrow})
set_tests_properties(hosts.linked hosts.opened hosts.preloaded hosts.can_fail PROPERTIES TIMEOUT 60)
set_tests_properties(hosts.preloaded PROPERTIES ENVIRONMENT "LD_PRELOAD=${fake_arrow}")
