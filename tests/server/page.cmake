# The web page: as bytes; in a browser before a server of known answers; and before the real one. The latter two where chromium
# and chromedriver are installed.
vc_test(server_page FILES page_test.c LINK vc_page PkgConfig::CRYPTO)
find_program(VLLMC_PYTHON3 python3)
if(VLLMC_PYTHON3)
  set(page_test ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/page_test.py)
  add_test(NAME server_page_browser COMMAND ${page_test} --html ${CMAKE_BINARY_DIR}/page/page.html --csp ${CMAKE_BINARY_DIR}/page/page.csp)
  add_test(NAME server_page_real COMMAND ${page_test} --serve $<TARGET_FILE:vllmc> SmolLM2-135M-Instruct.Q4_1.gguf)
  set_tests_properties(server_page_browser server_page_real PROPERTIES TIMEOUT 600 SKIP_REGULAR_EXPRESSION "^left out: ")
endif()
