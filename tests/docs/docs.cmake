# SPDX-License-Identifier: Apache-2.0
# The C code of the pages is compiled and run: tests/docs/<name>_page.c includes every block of its page.
foreach(pair "realtime=docs/realtime.md" "readme=README.md")
  string(REGEX REPLACE "=.*" "" name ${pair})
  string(REGEX REPLACE ".*=" "" page ${pair})
  set(program ${CMAKE_CURRENT_LIST_DIR}/${name}_page.c)
  set(folder ${CMAKE_BINARY_DIR}/docs/${name})
  add_custom_command(OUTPUT ${folder}.stamp DEPENDS ${CMAKE_SOURCE_DIR}/${page} ${program} ${CMAKE_CURRENT_LIST_DIR}/snippets.py
    COMMAND ${PML_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/snippets.py ${page} ${program} ${folder}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}.stamp
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
  set_source_files_properties(${program} PROPERTIES OBJECT_DEPENDS ${folder}.stamp) # the parts have no rules of their own
  add_executable(docs_${name} ${program})
  target_include_directories(docs_${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR} ${folder})
  target_link_libraries(docs_${name} PRIVATE paimonlive pml_warnings pml_sanitize)
  set_target_properties(docs_${name} PROPERTIES C_EXTENSIONS ON)
endforeach()
add_dependencies(docs_realtime plugin_list_store)

set(run ${CMAKE_SOURCE_DIR}/tests/examples.sh)
add_test(NAME docs.realtime COMMAND ${run} $<TARGET_FILE:docs_realtime> "docs/realtime.md: every block was run"
  $<TARGET_FILE:plugin_list_store>)
add_test(NAME docs.readme COMMAND ${run} $<TARGET_FILE:docs_readme> "README.md: every block was run")
add_test(NAME docs.refused COMMAND ${PML_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/refused.py ${CMAKE_SOURCE_DIR})
set(docs_tests docs.realtime docs.readme docs.refused)
if(TARGET pml)
  add_test(NAME docs.two_minutes COMMAND ${CMAKE_CURRENT_LIST_DIR}/readme.sh ${CMAKE_SOURCE_DIR}/README.md $<TARGET_FILE:pml>)
  list(APPEND docs_tests docs.two_minutes)
endif()
set_tests_properties(${docs_tests} PROPERTIES TIMEOUT 60 ENVIRONMENT "${pml_test_environment}")
