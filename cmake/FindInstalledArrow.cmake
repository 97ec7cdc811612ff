# SPDX-License-Identifier: Apache-2.0
# Sets PML_ARROW_INSTALLED when development files of the supported Apache Arrow C++, built with ORC, are installed on this machine.
set(PML_ARROW_VERSION 26)
set(PML_ARROW_INSTALLED FALSE)
find_package(Arrow ${PML_ARROW_VERSION} QUIET)
find_package(Parquet QUIET)
if(Arrow_FOUND AND Parquet_FOUND AND ARROW_ORC)
  set(PML_ARROW_INSTALLED TRUE)
endif()
