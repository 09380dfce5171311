# The program, the library in both forms, and what is installed.
include(GNUInstallDirs)

# ---- vllmc ----
add_executable(vllmc ${CMAKE_SOURCE_DIR}/src/cli/main.c)
target_link_libraries(vllmc PRIVATE vc_cli)
set_target_properties(vllmc PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# ---- libvllmc: all rooms up to the public API; only the VC_API functions of vllmc.h are visible ----
set(rooms base num io op dev kern back kv text prog model run api)
set(objects "")
foreach(room ${rooms})
  list(APPEND objects $<TARGET_OBJECTS:vc_${room}>)
endforeach()
foreach(tier portable avx2 avx512 avx512bf16)
  if(TARGET vc_kern_${tier})
    list(APPEND objects $<TARGET_OBJECTS:vc_kern_${tier}>)
  endif()
endforeach()
set(packages PkgConfig::JANSSON PkgConfig::PCRE2 PkgConfig::UTF8PROC PkgConfig::CRYPTO PkgConfig::XXHASH)
add_library(vllmc_shared SHARED ${objects})
target_link_libraries(vllmc_shared PRIVATE ${packages} Threads::Threads m)
set_target_properties(vllmc_shared PROPERTIES OUTPUT_NAME vllmc VERSION ${PROJECT_VERSION} SOVERSION 0 LINKER_LANGUAGE C
                                              LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_options(vllmc_shared PRIVATE LINKER:--no-undefined)
if(VLLMC_SANITIZE)
  set_target_properties(vllmc_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()

# The static library is one object in which everything but the public functions was made local.
set(static_object ${CMAKE_BINARY_DIR}/vllmc_all.o)
set(static_library ${CMAKE_BINARY_DIR}/libvllmc.a)
add_custom_command(
  OUTPUT ${static_library}
  COMMAND ${CMAKE_LINKER} -r -o ${static_object} ${objects}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${static_object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${static_library}
  COMMAND ${CMAKE_AR} rcs ${static_library} ${static_object}
  DEPENDS ${objects}
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(vllmc_static ALL DEPENDS ${static_library})

# ---- example ----
add_executable(vllmc_hello ${CMAKE_SOURCE_DIR}/examples/hello.c)
target_link_libraries(vllmc_hello PRIVATE vc_api)
set_target_properties(vllmc_hello PROPERTIES OUTPUT_NAME hello RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)

# ---- texts that the program prints about itself ----
set(texts "")
foreach(pair "man:vllmc.1" "bash:vllmc.bash" "zsh:_vllmc")
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 option)
  list(GET pair 1 file)
  if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/share/${file}
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/share
                       COMMAND vllmc help --${option} > ${CMAKE_BINARY_DIR}/share/${file}
                       DEPENDS vllmc)
    list(APPEND texts ${CMAKE_BINARY_DIR}/share/${file})
  endif()
endforeach()
if(texts)
  add_custom_target(vllmc_texts ALL DEPENDS ${texts})
endif()

# ---- install ----
set(pc_private "")
foreach(p JANSSON PCRE2 UTF8PROC CRYPTO XXHASH)
  string(APPEND pc_private " ${${p}_MODULE_NAME}")
endforeach()
string(STRIP "${pc_private}" pc_private)
configure_file(${CMAKE_SOURCE_DIR}/cmake/vllmc.pc.in ${CMAKE_BINARY_DIR}/vllmc.pc @ONLY)
install(TARGETS vllmc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(NOT VLLMC_SANITIZE)
  install(TARGETS vllmc_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES ${static_library} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_SOURCE_DIR}/include/vllmc.h ${CMAKE_SOURCE_DIR}/include/vllmc_base.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/vllmc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(texts)
  install(FILES ${CMAKE_BINARY_DIR}/share/vllmc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/share/vllmc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME vllmc)
  install(FILES ${CMAKE_BINARY_DIR}/share/_vllmc DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL FILES_MATCHING PATTERN "*.md")
