# The web page: as bytes, and in a browser where chromium and chromedriver are installed.
vc_test(server_page FILES page_test.c LINK vc_page PkgConfig::CRYPTO)
find_program(VLLMC_PYTHON3 python3)
if(VLLMC_PYTHON3)
  add_test(NAME server_page_browser COMMAND ${VLLMC_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/page_test.py
           --html ${CMAKE_BINARY_DIR}/page/page.html --csp ${CMAKE_BINARY_DIR}/page/page.csp)
  set_tests_properties(server_page_browser PROPERTIES TIMEOUT 600 SKIP_REGULAR_EXPRESSION "^left out: chromium")
endif()
