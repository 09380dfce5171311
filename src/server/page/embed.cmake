# Puts the page into C: cmake -DOUT=folder [-DONLY_HTML=ON] -P embed.cmake
# Writes OUT/page.html (index.html with the included files in place), OUT/page.csp (its Content-Security-Policy, with the
# hash of every script and style element) and OUT/page_data.c (both as C constants, and the entity tag).
cmake_minimum_required(VERSION 3.22)
set(here ${CMAKE_CURRENT_LIST_DIR})
file(READ ${here}/index.html page)

string(REGEX MATCHALL "/\\*@include [a-z]+\\.[a-z]+\\*/" marks "${page}")
foreach(mark IN LISTS marks)
  string(REGEX REPLACE ".* ([a-z]+\\.[a-z]+)\\*/" "\\1" name "${mark}")
  file(READ ${here}/${name} text)
  string(REGEX MATCH "</(script|style)|<!--" bad "${text}")
  if(bad)
    message(FATAL_ERROR "${name}: contains ${bad}, which means something to the element that holds it")
  endif()
  string(REPLACE "${mark}" "${text}" page "${page}")
endforeach()
string(REGEX MATCH "[^\n -~]" foreign "${page}")
if(NOT foreign STREQUAL "")
  message(FATAL_ERROR "the page must be ASCII without tabs; found '${foreign}'")
endif()

# out = base64 of bytes given in hexadecimal, a multiple of 2 digits.
function(base64 hex out)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(LENGTH "${hex}" n)
  set(at 0)
  set(text "")
  while(at LESS n)
    string(SUBSTRING "${hex}" ${at} 6 part)
    string(LENGTH "${part}" digits)
    string(SUBSTRING "${part}0000" 0 6 part)
    math(EXPR word "0x${part}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${word} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${index} 1 letter)
      string(APPEND text "${letter}")
    endforeach()
    if(digits EQUAL 2)
      string(REGEX REPLACE "..$" "==" text "${text}")
    elseif(digits EQUAL 4)
      string(REGEX REPLACE ".$" "=" text "${text}")
    endif()
    math(EXPR at "${at} + 6")
  endwhile()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# out = " 'sha256-...'" for what stands between each <tag> and </tag>.
function(hashes tag out)
  set(rest "${page}")
  set(list "")
  string(LENGTH "<${tag}>" skip)
  while(TRUE)
    string(FIND "${rest}" "<${tag}>" begin)
    if(begin EQUAL -1)
      break()
    endif()
    math(EXPR begin "${begin} + ${skip}")
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(FIND "${rest}" "</${tag}>" length)
    string(SUBSTRING "${rest}" 0 ${length} body)
    string(SHA256 digest "${body}")
    base64("${digest}" code)
    string(APPEND list " 'sha256-${code}'")
    string(SUBSTRING "${rest}" ${length} -1 rest)
  endwhile()
  set(${out} "${list}" PARENT_SCOPE)
endfunction()

hashes(script scripts)
hashes(style styles)
string(CONCAT csp "default-src 'none'; script-src${scripts}; style-src${styles}; connect-src 'self'; img-src data:; base-uri 'none'; "
                  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
file(WRITE ${OUT}/page.html "${page}")
file(WRITE ${OUT}/page.csp "${csp}")
if(ONLY_HTML)
  return()
endif()

string(SHA256 digest "${page}${csp}")
string(SUBSTRING "${digest}" 0 24 tag)
file(READ ${OUT}/page.html hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REPEAT "0x..," 20 line)
string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT}/page_data.c "/* Made by src/server/page/embed.cmake. */
#include \"server/page/page.h\"

const char vc_page_bytes[] = {
${bytes}
};
const size_t vc_page_size = sizeof vc_page_bytes;
const char vc_page_csp[] = \"${csp}\";
const char vc_page_etag[] = \"\\\"${tag}\\\"\";
")
