# SPDX-License-Identifier: Apache-2.0
# Compiler flags of our own targets: warnings, sanitizers, coverage.
add_library(pml_warnings INTERFACE)
target_compile_options(pml_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wvla -Wundef -Wno-sign-conversion)
add_library(pml_warnings_cxx INTERFACE)
target_compile_options(pml_warnings_cxx INTERFACE -Wall -Wextra -Wshadow -Wundef)
if(PML_WERROR)
  target_compile_options(pml_warnings INTERFACE -Werror)
  target_compile_options(pml_warnings_cxx INTERFACE -Werror)
endif()

add_library(pml_sanitize INTERFACE)
if(PML_SANITIZE)
  target_compile_options(pml_sanitize INTERFACE -fsanitize=${PML_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # The tests take a quarter less processor time than without optimisation. Reports name the same frames: those of inlined functions are
  # in the debug information, and no call takes over the frame of another.
  target_compile_options(pml_sanitize INTERFACE $<$<CONFIG:Debug>:-O1> -fno-optimize-sibling-calls)
  target_link_options(pml_sanitize INTERFACE -fsanitize=${PML_SANITIZE})

  # A compiler without the runtime, or a typing error in the name, would otherwise test nothing or fail far from the cause.
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS "-fsanitize=${PML_SANITIZE}")
  set(pml_sanitize_probe "#if defined(__has_feature)\n#define HAS(x) __has_feature(x)\n#else\n#define HAS(x) 0\n#endif\n")
  foreach(pair "address ADDRESS" "thread THREAD")
    separate_arguments(pair)
    list(GET pair 0 name)
    list(GET pair 1 macro)
    if(PML_SANITIZE MATCHES ${name})
      string(APPEND pml_sanitize_probe
        "#if !defined(__SANITIZE_${macro}__) && !HAS(${name}_sanitizer)\n#error \"${name} is not on\"\n#endif\n")
    endif()
  endforeach()
  string(MAKE_C_IDENTIFIER "PML_SANITIZE_WORKS_${PML_SANITIZE}" pml_sanitize_works)
  check_c_source_compiles("${pml_sanitize_probe}\nint main(void) { return 0; }" ${pml_sanitize_works})
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT ${pml_sanitize_works})
    message(FATAL_ERROR "${CMAKE_C_COMPILER} cannot build with -fsanitize=${PML_SANITIZE}. Correct PML_SANITIZE, or install "
      "the compiler's sanitizer runtime.")
  endif()
endif()
if(PML_COVERAGE)
  target_compile_options(pml_sanitize INTERFACE --coverage)
  target_link_options(pml_sanitize INTERFACE --coverage)
endif()
