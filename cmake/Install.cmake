# SPDX-License-Identifier: Apache-2.0
# Headers, library and command where they belong; what the library opens at run time in <libdir>/paimonlive/.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DOCDIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/paimonlive)

install(DIRECTORY include/paimonlive DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS paimonlive EXPORT PaimonLiveTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET paimonlive_bridge)
  install(TARGETS paimonlive_bridge LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/paimonlive)
  install(FILES ${PML_ARROW_PRIVATE} DESTINATION ${CMAKE_INSTALL_LIBDIR}/paimonlive
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  if(PML_ARROW_PRIVATE)
    file(GLOB pml_arrow_licenses ${PML_ARROW_WHEEL}/pyarrow-*.dist-info/licenses/*.txt)
    install(FILES ${pml_arrow_licenses} ${CMAKE_CURRENT_LIST_DIR}/arrow-changes.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/arrow)
  endif()
endif()
if(TARGET pml)
  file(RELATIVE_PATH pml_lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(pml PROPERTIES INSTALL_RPATH "$ORIGIN/${pml_lib_from_bin}")
  install(TARGETS pml RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES man/pml.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

install(TARGETS pml-store-conform RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES man/pml-store-conform.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

install(EXPORT PaimonLiveTargets NAMESPACE PaimonLive:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PaimonLive
  FILE PaimonLiveConfig.cmake) # no dependencies of its own, so the targets are the whole package
write_basic_package_version_file(${CMAKE_BINARY_DIR}/PaimonLiveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/PaimonLiveConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PaimonLive)
# The tree may be moved after installation: the prefix is found from the place of the .pc file.
file(RELATIVE_PATH PML_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/paimonlive.pc.in ${CMAKE_BINARY_DIR}/paimonlive.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/paimonlive.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
