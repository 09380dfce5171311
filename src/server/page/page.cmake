# vc_page: the web page as constants. Made again when one of its files changes.
set(page_here ${CMAKE_SOURCE_DIR}/src/server/page)
set(page_out ${CMAKE_BINARY_DIR}/page)
set(page_parts index.html page.css message.css theme.js dom.js inline.js markdown.js metrics.js charts.js api.js tokens.js settings.js message.js
               chat.js main.js)
list(TRANSFORM page_parts PREPEND ${page_here}/)
add_custom_command(OUTPUT ${page_out}/page_data.c BYPRODUCTS ${page_out}/page.html ${page_out}/page.csp
                   COMMAND ${CMAKE_COMMAND} -DOUT=${page_out} -P ${page_here}/embed.cmake
                   DEPENDS ${page_here}/embed.cmake ${page_parts} VERBATIM)
add_library(vc_page STATIC ${page_here}/page.c ${page_out}/page_data.c)
target_link_libraries(vc_page PUBLIC vc_base)
