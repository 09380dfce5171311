# Tests of the server speak HTTP to the program itself.
pkg_check_modules(CURL IMPORTED_TARGET libcurl)
if(NOT CURL_FOUND)
  message(STATUS "left out: tests of the server (no libcurl)")
  return()
endif()
add_library(server_client STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_SOURCE_DIR}/client.c)
target_include_directories(server_client PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(server_client PRIVATE VC_TEST_GOLDENS="" VC_GOLDENS="" VC_TEST_TMP="${CMAKE_BINARY_DIR}/tests"
                                                 VC_TEST_PROGRAM="$<TARGET_FILE:vllmc>")
target_link_libraries(server_client PUBLIC cli_program PkgConfig::CURL)
foreach(name replay local limits embed calls models stall slow options keys)
  vc_test(server_${name} FILES ${name}_test.c LINK server_client vc_server TIMEOUT 600)
  add_dependencies(test_server_${name} vllmc)
endforeach()

# Real clients, where their packages are installed.
find_program(VLLMC_PYTHON3 python3)
if(NOT VLLMC_PYTHON3)
  message(STATUS "left out: clients, fields, OpenAPI file and transports of the server (no python3)")
else()
  add_test(NAME server_clients COMMAND ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/openai_test.py $<TARGET_FILE:vllmc> SmolLM2-135M-Instruct.Q4_1.gguf
                                       ${CMAKE_SOURCE_DIR}/tests/goldens/gguf-quants/models/tiny-Q4_0.gguf)
  set_tests_properties(server_clients PROPERTIES TIMEOUT 600 LABELS clients SKIP_REGULAR_EXPRESSION "^left out: ")
  # LangChain, LiteLLM, vllm bench serve, guidellm, lm-eval: minutes long. tools/get-clients installs them.
  add_test(NAME server_tools COMMAND ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/tools_test.py $<TARGET_FILE:vllmc> SmolLM2-135M-Instruct.Q4_1.gguf ${VLLMC_GOLDENS})
  set_tests_properties(server_tools PROPERTIES TIMEOUT 1800 LABELS long)
  # Only the standard library, and the small model of the repository.
  add_test(NAME server_fields COMMAND ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/fields_test.py $<TARGET_FILE:vllmc>
                                      ${CMAKE_SOURCE_DIR}/tests/goldens/gguf-quants/models/tiny-Q4_0.gguf)
  set_tests_properties(server_fields PROPERTIES TIMEOUT 600)
  add_test(NAME server_openapi COMMAND ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/openapi_test.py $<TARGET_FILE:vllmc>
                                       ${CMAKE_SOURCE_DIR}/tests/goldens/gguf-quants/models/tiny-Q4_0.gguf ${CMAKE_SOURCE_DIR}/doc/openapi.json)
  set_tests_properties(server_openapi PROPERTIES TIMEOUT 600)
  add_test(NAME server_embed_client COMMAND ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/embed_client_test.py $<TARGET_FILE:vllmc> ${CMAKE_SOURCE_DIR}/tests/goldens SmolLM2-135M-Instruct.Q4_1.gguf)
  set_tests_properties(server_embed_client PROPERTIES TIMEOUT 300 LABELS clients)
  add_test(NAME server_transport COMMAND ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/transport_test.py $<TARGET_FILE:vllmc>
                                         ${CMAKE_SOURCE_DIR}/tests/goldens/models/llama)
  set_tests_properties(server_transport PROPERTIES TIMEOUT 300 SKIP_REGULAR_EXPRESSION "^left out: ")
endif()

# Hostile load: a short form for every run (sanitizers too), the long one for check-long.
find_path(VLLMC_FAULT_MODEL config.json PATHS ${VLLMC_GOLDENS}/models/llama ${CMAKE_SOURCE_DIR}/tests/goldens/models/llama NO_DEFAULT_PATH)
if(NOT VLLMC_PYTHON3 OR NOT VLLMC_FAULT_MODEL)
  message(STATUS "left out: hostile load on the server (no python3)")
else()
  set(FAULT_LOAD ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/fault_load.py $<TARGET_FILE:vllmc> ${VLLMC_FAULT_MODEL})
  if(VLLMC_SANITIZE)
    list(APPEND FAULT_LOAD --no-rss)
  endif()
  add_test(NAME server_faults COMMAND ${FAULT_LOAD} --seconds 6)
  add_test(NAME server_faults_tls COMMAND ${FAULT_LOAD} --seconds 6 --connections 500 --tls)
  add_test(NAME server_faults_long COMMAND ${FAULT_LOAD} --minutes 30)
  set_tests_properties(server_faults server_faults_tls PROPERTIES TIMEOUT 300 SKIP_REGULAR_EXPRESSION "^left out: ")
  if(VLLMC_SANITIZE)
    message(STATUS "left out: jumps of the wall clock (libfaketime does not go with sanitizers)")
  else()
    add_test(NAME server_clock COMMAND ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/clock_test.py $<TARGET_FILE:vllmc>
                                       ${CMAKE_SOURCE_DIR}/tests/goldens/gguf-quants/models/tiny-Q4_0.gguf)
    set_tests_properties(server_clock PROPERTIES TIMEOUT 300 SKIP_REGULAR_EXPRESSION "^left out: ")
  endif()
  set_tests_properties(server_faults_long PROPERTIES LABELS long TIMEOUT 3600)
endif()
