# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/<noun>_fuzz.c is a target of libFuzzer. With PML_FUZZ it is linked with that; in every other build with replay.c, and is
# the test fuzz.<noun>: the corpus in corpus/<noun>/ and so many mutants of each of its files.
set(pml_fuzz_mutants_default 300)
set(pml_fuzz_mutants_parquet 100)
set(pml_fuzz_mutants_table 1)
set(pml_fuzz_mutants_live_split 100)
set(pml_fuzz_mutants_exchange 30)
set(pml_fuzz_mutants_file_index 100)

# The support files without cmocka: a broken assertion must end the process.
add_library(pml_fuzz_support STATIC fuzz/fuzz.c fuzz/fuzz_fs.c fuzz/fuzz_edit.c fuzz/mutate.c support/test_env.c support/random_batch.c)
target_include_directories(pml_fuzz_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz)
target_compile_definitions(pml_fuzz_support PUBLIC PML_WITHOUT_CMOCKA PML_FUZZ_TABLES="${CMAKE_BINARY_DIR}/fuzz-tables")
target_link_libraries(pml_fuzz_support PUBLIC pml_objects pml_jansson)

# The tables of table_fuzz.c.
set(pml_fuzz_archive ${CMAKE_CURRENT_SOURCE_DIR}/tables/corpus.tar.xz)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/fuzz-tables.stamp DEPENDS ${pml_fuzz_archive} VERBATIM
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/fuzz-tables
  COMMAND ${CMAKE_COMMAND} -E chdir ${CMAKE_BINARY_DIR}/fuzz-tables ${CMAKE_COMMAND} -E tar xf ${pml_fuzz_archive}
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/fuzz-tables.stamp)
add_custom_target(pml_fuzz_tables DEPENDS ${CMAKE_BINARY_DIR}/fuzz-tables.stamp)

file(GLOB pml_fuzz_files CONFIGURE_DEPENDS fuzz/*_fuzz.c)
foreach(file ${pml_fuzz_files})
  get_filename_component(noun ${file} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" noun ${noun})
  set(target fuzz_${noun})
  add_executable(${target} ${file})
  target_link_libraries(${target} PRIVATE pml_fuzz_support)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(TARGET paimonlive_bridge)
    add_dependencies(${target} paimonlive_bridge) # it is opened at run time
  endif()
  if(PML_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX) # the bridge wants the sanitizers' runtime for C++, too
  else()
    target_sources(${target} PRIVATE fuzz/replay.c)
    set(mutants ${pml_fuzz_mutants_default})
    if(DEFINED pml_fuzz_mutants_${noun})
      set(mutants ${pml_fuzz_mutants_${noun}})
    endif()
    add_test(NAME fuzz.${noun} COMMAND ${target} --mutants=${mutants} --keep=fuzz-${noun}-failed.bin
      ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${noun})
    set_tests_properties(fuzz.${noun} PROPERTIES TIMEOUT 240 ENVIRONMENT "${pml_test_environment}")
  endif()
endforeach()
pml_tool_test(fuzz_where where_lex where_parse where_table filter app args arrow_text)
pml_tool_test(fuzz_type schema_text app args arrow_text)
add_dependencies(fuzz_table pml_fuzz_tables)
# The same tables for a test that asks their indexes.
target_compile_definitions(test_table_file_index PRIVATE PML_FUZZ_TABLES="${CMAKE_BINARY_DIR}/fuzz-tables")
add_dependencies(test_table_file_index pml_fuzz_tables)
