# SPDX-License-Identifier: Apache-2.0
# The command's pure parts are compiled into their tests: the command itself is no library.
function(pml_tool_test target)
  if(TARGET ${target})
    foreach(source ${ARGN})
      target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tools/${source}.c)
    endforeach()
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tools)
  endif()
endfunction()
pml_tool_test(test_tools_where where_lex where_parse where_table filter app args arrow_text)
pml_tool_test(test_tools_grid grid app args)
