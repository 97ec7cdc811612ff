# SPDX-License-Identifier: Apache-2.0
# Stores in shared objects for realtime.plugin_load and tools.conform: all in one folder, named by what they are.
set(pml_test_plugins ${CMAKE_BINARY_DIR}/tests/plugins)
set(pml_plugin_targets)
function(pml_test_plugin name)
  add_library(plugin_${name} MODULE ${ARGN})
  target_include_directories(plugin_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(plugin_${name} PRIVATE _GNU_SOURCE)
  target_link_libraries(plugin_${name} PRIVATE pml_warnings pml_sanitize Threads::Threads)
  set_target_properties(plugin_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${pml_test_plugins})
  set(pml_plugin_targets ${pml_plugin_targets} plugin_${name} PARENT_SCOPE)
endfunction()

foreach(kind no_symbol magic abi size name null)
  pml_test_plugin(refused_${kind} ${CMAKE_CURRENT_LIST_DIR}/refused_plugin.c)
  string(TOUPPER ${kind} upper)
  target_compile_definitions(plugin_refused_${kind} PRIVATE REFUSED_${upper})
endforeach()
file(GLOB pml_store_sources ${CMAKE_SOURCE_DIR}/src/stores/*.c)
pml_test_plugin(lossy ${CMAKE_CURRENT_LIST_DIR}/lossy_plugin.c ${CMAKE_SOURCE_DIR}/tests/support/broken_stores.c ${pml_store_sources})
pml_test_plugin(crashing ${CMAKE_CURRENT_LIST_DIR}/crashing_plugin.c)
# As the tree's flags see it; ground.install builds it as users do.
pml_test_plugin(list_store ${CMAKE_SOURCE_DIR}/examples/store/list_store.c ${CMAKE_SOURCE_DIR}/examples/store/list_rows.c)

target_compile_definitions(test_realtime_plugin_load PRIVATE PML_TEST_PLUGINS="${pml_test_plugins}")
add_dependencies(test_realtime_plugin_load ${pml_plugin_targets})
add_dependencies(pml-store-conform ${pml_plugin_targets})
