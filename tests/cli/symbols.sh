#!/bin/sh
# The dynamic symbols of the shared library, and the global ones of the static library, are exactly the functions that
# the headers declare with VC_API. usage: symbols.sh INCLUDE_FOLDER LIBRARY.so LIBRARY.a
set -eu
include=$1; shared=$2; static=$3
want=$(sed -n 's/^VC_API .*[ *]\(vc_[a-z0-9_]*\)(.*/\1/p' "$include"/*.h | sort -u)
[ "$(echo "$want" | wc -l)" -ge 20 ]
check() {
    [ "$2" = "$want" ] && return 0
    echo "$1 does not export what $include declares:"
    echo "$want" > "${TMPDIR:-/tmp}/symbols-want.$$"
    echo "$2" | diff "${TMPDIR:-/tmp}/symbols-want.$$" - || true
    rm -f "${TMPDIR:-/tmp}/symbols-want.$$"
    exit 1
}
if [ -f "$shared" ]; then
    check "$shared" "$(nm -D --defined-only "$shared" | awk '{ print $3 }' | sort -u)"
else
    echo "left out: $shared (not built)"
fi
check "$static" "$(nm -g --defined-only "$static" 2>/dev/null | awk 'NF == 3 && $3 !~ /^__/ { print $3 }' | sort -u)"   # __: of sanitizers
echo "$(echo "$want" | wc -l) symbols"
