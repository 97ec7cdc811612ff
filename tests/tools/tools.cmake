# SPDX-License-Identifier: Apache-2.0
# The command's pure parts are compiled into their test: the command itself is no library.
if(TARGET test_tools_where)
  foreach(source where_lex where_parse where_table filter app args arrow_text)
    target_sources(test_tools_where PRIVATE ${CMAKE_SOURCE_DIR}/tools/${source}.c)
  endforeach()
  target_include_directories(test_tools_where PRIVATE ${CMAKE_SOURCE_DIR}/tools)
endif()
