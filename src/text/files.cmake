# One folder per subject, each with its own list: tok tokenizers, jinja chat templates, parse reasoning and tool calls,
# gram structured output.
set(all "")
foreach(part tok jinja parse gram)
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/text/${part}/files.cmake)
    set(FILES "")
    include(${CMAKE_SOURCE_DIR}/src/text/${part}/files.cmake)
    list(TRANSFORM FILES PREPEND ${part}/)
    list(APPEND all ${FILES})
  endif()
endforeach()
set(FILES ${all})
