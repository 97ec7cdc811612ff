# SPDX-License-Identifier: Apache-2.0
# What the library is built from. scripts/bootstrap installs all of it on Debian.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PML_JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(PML_ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(PML_XXHASH REQUIRED IMPORTED_TARGET libxxhash)
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)
pkg_check_modules(PML_LZMA REQUIRED IMPORTED_TARGET liblzma)
find_library(PML_SNAPPY_LIBRARY snappy REQUIRED)
add_library(pml_jansson INTERFACE)
target_link_libraries(pml_jansson INTERFACE PkgConfig::PML_JANSSON)
add_library(pml_deps INTERFACE)
target_link_libraries(pml_deps INTERFACE pml_jansson PkgConfig::PML_ZSTD PkgConfig::PML_XXHASH ZLIB::ZLIB BZip2::BZip2
  PkgConfig::PML_LZMA ${PML_SNAPPY_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS} m)

# Apache Arrow C++: an installed one of the supported version, else the pyarrow wheel that scripts/bootstrap unpacked.
# scripts/bootstrap asks cmake/FindInstalledArrow.cmake the same question.
include(${CMAKE_CURRENT_LIST_DIR}/FindInstalledArrow.cmake)
if(DEFINED ENV{PML_DEPS_DIR})
  set(pml_deps_dir $ENV{PML_DEPS_DIR})
else()
  set(pml_deps_dir ${CMAKE_SOURCE_DIR}/build/deps)
endif()
set(PML_ARROW_WHEEL ${pml_deps_dir}/arrow CACHE PATH "where scripts/bootstrap unpacked the wheel")
add_library(pml_arrow INTERFACE)
set(PML_ARROW_PRIVATE "") # what an installation has to carry along; empty with an installed Arrow
if(PML_ARROW_INSTALLED)
  target_link_libraries(pml_arrow INTERFACE Arrow::arrow_shared Parquet::parquet_shared)
elseif(EXISTS ${PML_ARROW_WHEEL}/pyarrow/include/arrow/api.h)
  foreach(name parquet arrow arrow_compute)
    file(GLOB found ${PML_ARROW_WHEEL}/pyarrow/lib${name}.so.*)
    list(APPEND pml_arrow_libraries ${found})
  endforeach()
  # Under names of our own beside the bridge: the process that loads us may have the same or another Arrow already.
  find_program(PML_PYTHON python3 REQUIRED)
  execute_process(COMMAND ${PML_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/private_arrow.py ${CMAKE_BINARY_DIR}/lib/paimonlive
    ${pml_arrow_libraries} OUTPUT_VARIABLE PML_ARROW_PRIVATE COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/private_arrow.py ${pml_arrow_libraries})
  target_include_directories(pml_arrow SYSTEM INTERFACE ${PML_ARROW_WHEEL}/pyarrow/include)
  target_link_libraries(pml_arrow INTERFACE ${PML_ARROW_PRIVATE})
else()
  message(FATAL_ERROR "Apache Arrow C++ ${PML_ARROW_VERSION} was not found. Run scripts/bootstrap (or `make`), which unpacks it.")
endif()
