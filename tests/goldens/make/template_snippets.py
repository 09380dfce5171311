# SPDX-License-Identifier: Apache-2.0
"""Usage: template_snippets.py OUT.jsonl
Snippets of the template language, rendered by transformers' own environment (Jinja2's ImmutableSandboxedEnvironment) with the
variables below. Rows: {"template", "output"} or {"template", "error": class, "message"}; an output that holds a memory address is cut before it
and has "address": true. Nothing in them is random. Needs jinja2 and transformers."""
import json
import sys

from transformers.utils.chat_template_utils import _compile_jinja_template

CONTEXT = {
    "a": [1, 2, 3, 4, 5], "s": "Hello World", "e": "", "d": {"b": 2, "a": 1, "C": 3}, "n": None, "t": True, "f": False, "i": 7, "neg": -7,
    "fl": 1.5, "u": "naïve “q” 😀", "html": "<a href='x'>&\"</a>", "ws": "  x y  \n", 
    "users": [{"name": "Bob", "age": 30, "on": True}, {"name": "amy", "age": 25, "on": False}, {"name": "Cy", "age": 30, "on": True}],
    "nest": [[1, [2, 3]], [4]], "msgs": [{"role": "user", "content": "hi"}, {"role": "assistant"}],
    "deep": {"k": {"l": [{"m": "v"}]}}, "long": "the quick brown fox jumps over the lazy dog " * 4,
}

LINES = r'''
{{ "see http://example.com/a?b=c&d=e." | urlize }}
{{ "www.example.com, (https://a.b/c) <http://x.y>" | urlize }}
{{ "mail me@example.org or mailto:you@example.com now" | urlize }}
{{ "http://example.com/a/very/long/path/indeed" | urlize(20) }}
{{ "http://example.com" | urlize(nofollow=true) }} {{ "http://example.com" | urlize(target="_blank") }}
{{ "http://example.com" | urlize(40, true, "_top", rel="me  you") }}
{{ "a <b> & 'c' \"d\"" | urlize }}
{{ "example.com example.org/x foo.net bar.info a.co" | urlize }}
{{ "tel:+123 ftp://x.y" | urlize(extra_schemes=["tel:", "ftp://"]) }}
{{ "x" | urlize(extra_schemes=["bad"]) }}
{{ "(http://a.com/x(y)) [http://b.com]" | urlize }}
{{ "http://a.com/?q=\"x\"" | urlize }} {{ "  http://a.com  \n https://b.org" | urlize }}
{{ "localhost http://localhost:8000/x, 1.2.3.4 http://1.2.3.4/" | urlize }}
{{ "http://a.com!?;:" | urlize }} {{ "HTTP://A.COM" | urlize }} {{ "user@host" | urlize }}
{{ "xyz" | urlize | upper }} {{ ("http://a.b" | urlize) is escaped }}
{{ "abc".translate({97: "x", 98: none}) }} {{ "abc".translate({97: 65, 99: "yy"}) }} {{ "héé".translate({233: "e"}) }}
{{ "abc".translate("abc".maketrans("ab", "xy")) }} {{ "a-b_c".translate("".maketrans("-_", "  ", "c")) }}
{{ "abc".maketrans("ab", "xy") }} {{ "".maketrans("a", "b", "c") }} {{ "".maketrans({"a": "b", 99: none}) }}
{{ "".maketrans("a", "bc") }}
{{ "".maketrans({"ab": 1}) }}
{{ "".maketrans(1) }}
{{ "abc".translate() }}
{{ "abc".translate(["x", "y"]) }}
{{ "abc".translate({97: 1.5}) }}
{{ "\N{NO SUCH NAME}" }}
{{ "\N{BULLET" }}
{{ "\Nx" }}
{{ [1, 2, 3] | pprint }} {{ {"b": 1, "a": [1, 2]} | pprint }} {{ "x" | pprint }} {{ none | pprint }} {{ 1.5 | pprint }}
{{ range(30) | list | pprint }}
{{ {"key_number_one": "some value here", "key_number_two": "some other value", "key_number_three": [1, 2, 3]} | pprint }}
{{ users | pprint }}
{{ [users, users, {"a": users}] | pprint }}
{{ {"k": {"kk": "v" * 30, "ll": ["w" * 30, "x" * 30]}} | pprint }}
{{ ["a" * 30, ("b" * 30, "c" * 30), {}] | pprint }} {{ ("a" * 50, "b" * 50) | pprint }} {{ ("a" * 90,) | pprint }}
{{ long | pprint }}
{{ [long, 1] | pprint }} {{ {"a": long} | pprint }}
{{ "line one\nline two is a bit longer than that\nline three is a good deal longer still\n" | pprint }}
{{ {2: "a", 1: "b"} | pprint }} {{ {"b": 1, 1: 2, none: 3} | pprint }}
{{ [[], [[]], [[[]]], {}, ()] | pprint }} {{ [] | pprint }} {{ {} | pprint }}
{{ [1.5, none, true, "it's", [range(3)]] | pprint }} {{ range(3) | pprint }}
{{ (7).bit_length() }} {{ (7).bit_count() }} {{ (-8).bit_length() }} {{ (5).conjugate() }} {{ (2.5).as_integer_ratio() }} {{ (7).as_integer_ratio() }} {{ 123456789012345678901234567890.bit_length() }} {{ true.bit_length() }}
{{ (1.5).hex() }} {{ (0.1).hex() }} {{ (0.0).hex() }} {{ (-2.0).hex() }} {{ (1.5).conjugate() }} {{ (2.0).is_integer() }} {{ (2.5).is_integer() }} {{ (1.5).real }} {{ (1.5).imag }} {{ (3).numerator }}
{{ a.append(1) }}
{{ a.pop() }}
{{ a.sort() }}
{{ a.reverse() }}
{{ a.insert(0, 1) }}
{{ a.extend([1]) }}
{{ a.remove(1) }}
{{ a.clear() }}
{{ d.update({}) }}
{{ d.pop("a") }}
{{ d.popitem() }}
{{ d.setdefault("x", 1) }}
{{ d.clear() }}
[{{ a.append }}] [{{ a.append is defined }}] [{{ d.update is undefined }}]
{{ a.__class__ }}
{{ "".__class__.__mro__ }}
{{ s.__len__() }}
{{ s["__class__"] }}
{{ (s | attr("__class__")) }}
{{ range.__globals__ }}
{{ cycler.__init__ }}
{{ "{0.__class__}".format(1) }}
{{ "{0.__class__.__name__}".format(s) }}
{{ "{x[__class__]}".format(x={}) }}
{{ "{0.real} {1[a]} {1[b]} {2.name}".format(5, d, {"name": 1}) }}
{{ "{a.__init__}".format_map({"a": 1}) }}
{{ range(100001) }}
{{ range(100000) | length }} {{ range(0, 300000, 3) | length }} {{ range(5, 0, -2) | list }} {{ range(0) | list }}
{{ range(1, 2, 0) }}
{{ range("a") }}
{{ range(2.5) }}
{{ a.copy() }} {{ d.copy() }} {{ a.index(3) }} {{ a.count(2) }} {{ (1, 2, 1).count(1) }} {{ (1, 2).index(2) }} {{ d.fromkeys([1, 2]) }} {{ d.fromkeys("ab", 0) }}
{{ a.index(9) }}
{{ a.index(3, 3) }}
{{ d.keys() | list }} {{ d.values() | sum }} {{ d.items() | list }} {{ "a" in d.keys() }} {{ 2 in d.values() }} {{ ("a", 1) in d.items() }} {{ d.keys() | length }} {{ d.keys() == {"a": 0, "b": 0, "C": 0}.keys() }}
{{ d.keys().isdisjoint(["x"]) }} {{ d.keys() | first }} {{ d.items() | last }}
{{ d.keys()[0] }}
{{ d.nope }}|{{ d["nope"] }}|{{ d.nope is defined }}
{{ d.nope.x }}
{{ d | attr("items") }}
{{ deep.k.l[0].m }} {{ deep["k"]["l"][-1]["m"] }} {{ deep.k.get("z", {}).get("y", "none") }} {{ deep.k.l.0.m }}
{{ users | map(attribute="name") | join(", ") }} {{ users | map(attribute="nope", default="-") | list }} {{ [deep] | map(attribute="k.l.0.m") | list }}
{{ users | groupby("age") | list }}
{% for g, l in users | groupby("on") %}{{ g }}:{{ l | map(attribute="name") | join("+") }} {% endfor %}
{% for x in users | groupby("age", default=0) %}{{ x.grouper }}={{ x.list | length }};{% endfor %} {% for x in [{"a": "X"}, {"a": "x"}, {}] | groupby("a", default="y") %}{{ x }}{% endfor %}
{% for x in [{"a": "X"}, {"a": "x"}] | groupby("a", case_sensitive=true) %}{{ x.grouper }}{{ x.list }}{% endfor %}
{{ users | groupby("nope") | list }}
{{ a | batch(2) | list }} {{ a | batch(2, "-") | list }} {{ a | slice(2) | list }} {{ a | slice(3, "-") | list }} {{ [] | batch(3) | list }} {{ [] | slice(2) | list }}
{{ a | slice(0) | list }}
{{ a | batch(0) | list }}
{{ 123456789 | filesizeformat }} {{ 1 | filesizeformat }} {{ 0 | filesizeformat }} {{ 1000 | filesizeformat }} {{ 1024 | filesizeformat(true) }} {{ 1e15 | filesizeformat }} {{ "1500" | filesizeformat }} {{ 1e27 | filesizeformat }} {{ 999 | filesizeformat(binary=true) }}
{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 2.1 | round(0, "ceil") }} {{ 2.9 | round(method="floor") }} {{ 1234.5 | round(-2) }} {{ 7 | round }} {{ "2" | round }}
{{ 2.5 | round(1, "up") }}
{{ 1234.5678 | round(2, "floor") }} {{ -2.5 | round }} {{ (-2.5) | round }} {{ 0.5 | round(0, "ceil") | int }} {{ 42.55 | round(1) }}
{{ "12" | int }} {{ "x" | int }} {{ "x" | int(5) }} {{ "0x1F" | int(base=16) }} {{ "0b11" | int(0, 2) }} {{ "12.7" | int }} {{ 12.7 | int }} {{ none | int(3) }} {{ "1e3" | int }} {{ true | int }} {{ "  42 " | int }} {{ "1_000" | int }} {{ [] | int(9) }} {{ "٣" | int }}
{{ "1.5" | float }} {{ "x" | float }} {{ "x" | float(2) }} {{ "1e3" | float }} {{ "inf" | float }} {{ "nan" | float }} {{ none | float }} {{ " 2.5\n" | float }} {{ "1_0.5" | float }} {{ 3 | float }}
{{ -5 | abs }} {{ (-5) | abs }} {{ (-2.5) | abs }} {{ true | abs }}
{{ "x" | abs }}
{{ a | sum(start=10) }} {{ users | sum(attribute="age") }} {{ [[1], [2]] | sum(start=[]) }} {{ [1.5, 2] | sum }} {{ [] | sum }}
{{ ["a"] | sum }}
{{ ["b", "A"] | min }} {{ ["b", "A"] | max(true) }} {{ users | max(attribute="age") }} {{ users | min(attribute="name") }}
{{ [1, "a"] | max }}
{{ [3, none] | sort }}
{{ ["b", "a", "C"] | sort }} {{ ["b", "a", "C"] | sort(true) }} {{ ["b", "a", "C"] | sort(case_sensitive=true) }} {{ d | sort }} {{ users | sort(attribute="age,name") | map(attribute="name") | list }} {{ [[2, 1], [1, 2]] | sort }} {{ users | sort(false, false, "name") | map(attribute="name") | list }} {{ "hello" | sort }} {{ [true, 0, 2] | sort }}
{{ d | dictsort }} {{ d | dictsort(true) }} {{ d | dictsort(by="value") }} {{ d | dictsort(reverse=true) }} {{ {"x": "b", "y": "A"} | dictsort(by="value") }}
{{ d | dictsort(by="nope") }}
{{ [1, 2, 1, "a", "A"] | unique | list }} {{ ["a", "A"] | unique(true) | list }} {{ users | unique(attribute="age") | map(attribute="name") | list }}
{{ [1, 2, 3] | reverse | list }} {{ "abc" | reverse }} {{ (1, 2) | reverse | list }} {{ d | reverse | list }}
{{ 5 | reverse }}
{{ a | first }} {{ a | last }} {{ "ab" | first }} {{ "" | first }}|{{ [] | last }}|{{ d | first }} {{ range(3) | last }}
{{ a | map("multiply") | list }}
{{ a | map | list }}
{{ a | select("nope") | list }}
{{ a | select("divisibleby", 2) | list }} {{ a | reject("gt", 2) | list }} {{ a | select("in", [1, 9]) | list }} {{ ["", "x"] | select | list }} {{ users | selectattr("age", "ge", 30) | map(attribute="name") | list }} {{ users | rejectattr("on") | list }} {{ msgs | selectattr("content", "defined") | list }} {{ msgs | selectattr("role", "equalto", "user") | list | length }} {{ users | selectattr("nope") | list }}
{{ ["a", "b"] | map("upper") | join }} {{ ["1", "2"] | map("int") | list }} {{ ["a b", "c"] | map("replace", " ", "_") | list }} {{ [[1, 2], [3]] | map("join", "-") | list }} {{ ["x"] | map("default", "y") | list }} {{ [{"a": 1}] | map("tojson") | list }} {{ [" a "] | map("trim") | list }}
{{ [1, [2]] | tojson }} {{ {"a": none, "b": true, "c": 1.5, "d": "é\"\\\n"} | tojson }} {{ "<script>&'" | tojson }} {{ 1e100 | tojson }} {{ d | tojson(indent=2) }} {{ [] | tojson(indent=2) }} {{ d | tojson(sort_keys=true) }} {{ d | tojson(separators=(",", ":")) }} {{ u | tojson(ensure_ascii=true) }} {{ (1, 2) | tojson }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }} {{ 123456789012345678901234567890 | tojson }}
{{ {"a": [1, {"b": []}], "c": {}} | tojson(indent=1) }} {{ [1, 2] | tojson(indent="--") }} {{ [1] | tojson(indent=0) }} {{ "\u007f\u2028\ud7ff" | tojson }} {{ "\x00\x1f\b\f" | tojson }} {{ [0.1, 1e22, 1e16, -0.0, 123456789.123] | tojson }}
{{ d.items() | tojson }}
{{ range(3) | tojson }}
{{ undefined_thing | tojson }}
{{ {(1, 2): 3} | tojson }}
{{ ("nan" | float) | tojson }} {{ ("inf" | float) | tojson }} {{ (0 - ("inf" | float)) | tojson }}
{{ "abc" | tojson | length }} {{ ("a<b" | tojson) is escaped }}
{{ "foo bar baz qux" | truncate(9) }} {{ "foo bar baz qux" | truncate(9, true) }} {{ "foo bar baz qux" | truncate(11) }} {{ "foo bar baz qux" | truncate(11, false, "...", 0) }} {{ "foo bar" | truncate(3, true, "", 0) }} {{ "naïve naïve naïve" | truncate(8, end="…", leeway=0) }}
{{ "foo" | truncate(2) }}
{{ long | wordwrap(30) }}
{{ "aaaaaaaaaaaaaaaaaaaaaaaa bbb" | wordwrap(10) }} {{ "aaaaaaaaaaaaaaaaaaaaaaaa bbb" | wordwrap(10, false) }} {{ "a-b c-d e-f" | wordwrap(4) }} {{ "foo bar" | wordwrap(3, wrapstring="|") }} {{ "one-two-three four" | wordwrap(8, break_on_hyphens=false) }} {{ "para one\n\npara two" | wordwrap(5) }}
{{ "x" | wordwrap(0) }}
{{ "a\nb\n\nc" | indent }} {{ "a\nb" | indent(2, true) }} {{ "a\n\nb" | indent(2, blank=true) }} {{ "a\nb" | indent("> ") }} {{ "a\r\nb" | indent(1) }} {{ "a\n" | indent(2) }}|
{{ "foo bar-baz (qux) o'neil <b>x" | title }} {{ "hello world".title() }} {{ "o'neil they're".title() }} {{ "ǆ ß" | title }} {{ 5 | title }}
{{ "foo" | center(9) }}|{{ "foo" | center }}| {{ "foo".center(8, "*") }} {{ "foo".ljust(5, ".") }} {{ "foo".rjust(5, ".") }} {{ "-5".zfill(5) }} {{ "+5".zfill(4) }}
{{ "foo".center(8, "ab") }}
{{ "a b c" | wordcount }} {{ "" | wordcount }} {{ "it's a-b c_d é" | wordcount }}
{{ "<b>x</b> <!-- c --> &amp; &lt;  y\n z" | striptags }} {{ "a < b > c" | striptags }} {{ "&eacute;&#233;&#xe9;&nope;&copy;" | striptags }}
{{ "a b&c/d?e=é" | urlencode }} {{ {"a b": "c&d", "e": 1} | urlencode }} {{ [("x", "y z")] | urlencode }} {{ 5 | urlencode }} {{ "~_.-/" | urlencode }}
{{ {"class": "x y", "id": none, "data-a": 1, "q": "\"<"} | xmlattr }} {{ {"a": "b"} | xmlattr(false) }} {{ {} | xmlattr }}|
{{ {"a b": 1} | xmlattr }}
{{ html | escape }} {{ html | e | e }} {{ html | safe }} {{ (html | safe) ~ html }} {{ html | escape | safe | string | escape }} {{ html | forceescape }} {{ (html | e) | forceescape }} {{ "<" | e + ">" }} {{ ">" + ("<" | e) }} {{ ("<b>" | safe).join(["<", ">"]) }} {{ ("<%s>" | safe) % "<" }} {{ ("{}" | safe).format("<") }} {{ ("<" | safe) * 2 }} {{ ("a,<b" | safe).split(",") }} {{ ("<" | safe) | upper }} {{ ("x<" | safe).replace("x", "&") }}
{{ ("&lt;b&gt;" | safe).unescape() }} {{ ("<b>x</b>" | safe).striptags() }} {{ ("x" | safe) is escaped }} {{ ("x" | safe)[0] is escaped }} {{ ("x" | safe).upper() is escaped }} {{ ("<i>" | safe).__html__ is defined }}
{% autoescape true %}{{ html }}{{ html | safe }}{{ [html] }}{{ "<" ~ "&" }}{{ ["<", "&"] | join }}{{ ["<", "&" | safe] | join(">") }}{{ "x<" | replace("x", ">") }}{{ 1 }}{{ none }}{% endautoescape %}
{% autoescape true %}{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m("<") }}{% set b %}<{{ html }}>{% endset %}{{ b }}{% filter upper %}<i>{{ html }}{% endfilter %}{{ {"a": "<"} | xmlattr }}{{ "a" | urlize }}{% endautoescape %}
{{ "%s" % "a" }} {{ "%s %s" % (1, 2) }} {{ "%(a)s-%(b)05d" % d }} {{ "%5.1f|%-5d|%+d|%x|%X|%o|%e|%g|%c|%%|%r" % (1.25, 3, 4, 255, 255, 8, 12345.678, 0.0001, "z", "q") }} {{ "%s" % [1] }} {{ "%d" % 3.9 }} {{ "%5s|%-5s|%.2s" % ("a", "b", "cde") }} {{ "%*d" % (5, 3) }} {{ "%#x %#o % d" % (255, 8, 5) }}
{{ "%d" % "x" }}
{{ "%s" % (1, 2) }}
{{ "%s %s" % 1 }}
{{ "%(a)s" % [1] }}
{{ "%z" % 1 }}
{{ "{} {}".format(1, "b") }} {{ "{1}{0}{1}".format("a", "b") }} {{ "{x}{y!r}{z!s}".format(x=1, y="q", z=none) }} {{ "{:>5}|{:<5}|{:^5}|{:*^5}".format(1, 2, 3, 4) }} {{ "{:05d} {:+d} {:,} {:_} {:x} {:#x} {:b} {:o} {:e} {:.2f} {:%} {:g} {:n}".format(42, 42, 1234567, 1234567, 255, 255, 5, 8, 12345.678, 3.14159, 0.25, 1e10, 5) }} {{ "{:.3}".format("abcdef") }} {{ "{:{}}".format("x", 5) }} {{ "{0[0]}{1[a]}".format([9], {"a": 8}) }} {{ "{{}}{}".format(1) }} {{ "{:10.3f}|{:<10}|{:=+10d}".format(3.14159, "ab", 42) }} {{ "{!a}".format("é") }} {{ "{:,.2f}".format(1234567.891) }} {{ "{:d}".format(true) }} {{ "{}".format(none) }} {{ "{:c}".format(65) }}
{{ "{} {}".format(1) }}
{{ "{x}".format() }}
{{ "{".format() }}
{{ "}".format() }}
{{ "{0} {}".format(1, 2) }}
{{ "{:d}".format("x") }}
{{ "{:5z}".format(1) }}
{{ "{:>5}".format([1]) }}
{{ "{a}".format_map({"a": 1}) }} {{ "%s" | format("x") }} {{ "%(a)s" | format(a=1) }} {{ "%s, %s!" | format("a", "b") }} {{ "%d" | format(3) }}
{{ "a,b,c".split(",") }} {{ "a,b,c".split(",", 1) }} {{ " a  b ".split() }} {{ "a  b".split(" ") }} {{ "a,b,c".rsplit(",", 1) }} {{ "abc".split("") if false else "ok" }} {{ "aXbXc".split(sep="X", maxsplit=1) }} {{ "".split(",") }} {{ "".split() }} {{ "a\nb\r\nc\rd".splitlines() }} {{ "a\nb\n".splitlines(true) }} {{ " a b c ".rsplit(none, 1) }} {{ "a\u2003b".split() }}
{{ "aaaa".split("aa") }} {{ "aaaaa".rsplit("aa") }} {{ "xaaax".rsplit("aa", 1) }} {{ "abcabc".rfind("abc") }} {{ "aaaa".rfind("aa") }} {{ "héhé".rfind("hé") }} {{ "abc".rfind("") }} {{ "abc".rfind("b", 2) }} {{ "aaa".rpartition("aa") }}
{{ "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz!".find("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz!") }} {{ ("ab" * 40 ~ "c").find("ab" * 20 ~ "c") }} {{ ("ab" * 40 ~ "c").count("ab" * 20) }} {{ ("a" * 100).replace("a" * 40, "X") }} {{ ("abc" * 30).rfind("abc" * 12) }} {{ ("abc" * 30).rsplit("abc" * 12, 1) }} {{ ("x" * 50) in ("y" ~ "x" * 50) }} {{ ("x" * 50) in ("x" * 49 ~ "y" ~ "x" * 49) }}
{{ "abc".strip("ac") }} {{ "xxhixx".lstrip("x") }} {{ "hi!!".rstrip("!") }} {{ "\t a\u00a0".strip() }}| {{ "éaé".strip("é") }} {{ "abc".strip("") }} {{ "abc" | trim("c") }} {{ none | trim }}
{{ "abc".startswith("a") }} {{ "abc".startswith(("x", "a")) }} {{ "abc".startswith("b", 1) }} {{ "abc".endswith("c", 0, 3) }} {{ "abc".endswith(("x", "bc")) }} {{ "abc".startswith("") }} {{ "".startswith("a") }} {{ "abc".startswith("c", -1) }} {{ "abc".startswith("", 4) }}
{{ "abc".startswith(["a"]) }}
{{ "abc".startswith(1) }}
{{ "abc".find("c") }} {{ "abc".find("z") }} {{ "abcabc".find("b", 2) }} {{ "abcabc".find("b", -3, -1) }} {{ "abc".index("b") }} {{ "abc".count("") }} {{ "é1é".find("1") }} {{ "aXbX".count("X", 2) }}
{{ "abc".index("z") }}
{{ "abc".replace("b", "xx") }} {{ "aaa".replace("a", "b", 2) }} {{ "abc".replace("", "-") }} {{ "abc".replace("z", "y") }} {{ "abc" | replace("b", "x") }} {{ "aaa" | replace("a", "b", 1) }} {{ 112 | replace("1", "x") }} {{ "abc".replace("b", "x", -1) }} {{ "aé".replace("", "|", 2) }}
{{ "Hello".swapcase() }} {{ "hELLO".capitalize() }} {{ "ß".upper() }} {{ "İ".lower() | length }} {{ "ΑΣ".lower() }} {{ "ﬁ".upper() }} {{ "ŉ".title() }} {{ "ẞ".casefold() }} {{ "ǅ".swapcase() }} {{ "éÀ" | lower }}
{{ "a1".isalnum() }} {{ "a".isalpha() }} {{ "1".isdigit() }} {{ "²".isdigit() }} {{ "½".isnumeric() }} {{ "١".isdecimal() }} {{ " ".isspace() }} {{ "".isspace() }} {{ "Ab Cd".istitle() }} {{ "AB1".isupper() }} {{ "ab1".islower() }} {{ "a_1".isidentifier() }} {{ "1a".isidentifier() }} {{ "é".isascii() }} {{ "".isascii() }} {{ "a\n".isprintable() }} {{ "for".isidentifier() }}
{{ "a.b.c".partition(".") }} {{ "a.b.c".rpartition(".") }} {{ "abc".partition("x") }} {{ "abc".rpartition("x") }} {{ "prefix-x".removeprefix("prefix-") }} {{ "x-suffix".removesuffix("-suffix") }} {{ "a\tb".expandtabs(4) }} {{ "a\tb\tc".expandtabs() }} {{ "-".join(["a", "b"]) }} {{ "-".join("abc") }} {{ "-".join(d) }}
{{ "-".join([1]) }}
{{ "é".encode() }} {{ "é".encode("utf-8").decode("utf-8") }} {{ "abc".encode() | length }} {{ "é".encode("utf-8")[0] }}
{{ "abc"[0] }} {{ "abc"[-1] }} {{ "abc"[1:] }} {{ "abc"[::-1] }} {{ "abcdef"[1:5:2] }} {{ "abc"[5:] }}|{{ "abc"[-2:] }} {{ "😀é"[1] }} {{ [1, 2, 3][:-1] }} {{ (1, 2, 3)[1:] }} {{ "abc"[5] }}|{{ a[10] }}|{{ a["x"] }}|{{ range(10)[2:5] | list }} {{ a[none:2] }} {{ a[true] }}
{{ a[::0] }}
{{ a["x":] }}
{{ a[1.5] }}|{{ a[1.5] is defined }}
{{ n[0] }}
{{ 1 + 1.5 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % -3 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }} {{ 10 / 4 }} {{ 10 / 5 }} {{ 1e3 }} {{ 1e16 }} {{ 1.0 }} {{ 100000000000000000000 }} {{ 9223372036854775807 + 1 }} {{ -9223372036854775808 - 1 }} {{ 3 * "ab" }} {{ [1] * 2 }} {{ [1] + [2] }} {{ (1,) + (2,) }} {{ "a" ~ 1 ~ none ~ true ~ [1] }} {{ 2 ** 100 }} {{ 123456789012345678901234567890 // 7 }} {{ 123456789012345678901234567890 % 1000 }} {{ 123456789012345678901234567890 * 123456789012345678901234567890 }} {{ -123456789012345678901234567890 // 3 }} {{ 123456789012345678901234567890 == 123456789012345678901234567890 + 0 }} {{ 123456789012345678901234567890 > 1e30 }} {{ 1 == 1.0 }} {{ true + true }} {{ true == 1 }} {{ 0.1 + 0.2 }} {{ 1 / 3 }} {{ 5e-324 }} {{ 1.7976931348623157e308 * 10 }} {{ - - 3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1.5 % 0 }}
{{ 0 ** -1 }}
{{ "a" + 1 }}
{{ 1 + "a" }}
{{ [1] + (2,) }}
{{ "a" * 1.5 }}
{{ none + 1 }}
{{ {} + {} }}
{{ -"a" }}
{{ -none }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ "a" < "b" }} {{ [1, 2] < [1, 3] }} {{ (1,) < (1, 2) }} {{ 1 in a }} {{ 9 not in a }} {{ "ell" in s }} {{ "a" in d }} {{ not 1 == 2 }} {{ 1 == 1 == 1 }} {{ none == none }} {{ none == false }} {{ "1" == 1 }} {{ [1] == [1.0] }} {{ {"a": 1} == {"a": 1.0} }} {{ 1 != 2 }} {{ true and "x" }} {{ "" or "y" }} {{ not "" }} {{ 1 if true }} {{ (1 if false) }}| {{ 1 if false else 2 }} {{ "a" "b" }} {{ (1, 2) == [1, 2] }} {{ "" in "" }}
{{ 1 < "a" }}
{{ none < 1 }}
{{ {} < {} }}
{{ 1 in 5 }}
{{ 1 in "a" }}
{{ [] in {} }}
{{ {[]: 1} }}
{{ {"a": 1, "a": 2} }} {{ {1: "a", 1.0: "b", true: "c"} }} {{ {"x": 1}["x"] }} {{ {"x": 1}.x }} {{ {(1, 2): 3}[(1, 2)] }} {{ {none: 1}[none] }} {{ {"items": 5}.items }} {{ {"items": 5}["items"] }} {{ {}.get("a") }} {{ {"keys": 1} | length }}
{{ 5 is odd }} {{ 4 is even }} {{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }} {{ "a" is string }} {{ 1 is number }} {{ true is number }} {{ true is integer }} {{ 1.0 is float }} {{ 1 is float }} {{ none is none }} {{ d is mapping }} {{ a is sequence }} {{ s is iterable }} {{ 5 is iterable }} {{ "abc" is lower }} {{ "ABC" is upper }} {{ 1 is in [1] }} {{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 2 is ge 2 }} {{ x is defined }} {{ x is undefined }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ 0 is boolean }} {{ true is boolean }} {{ range is callable }} {{ s is callable }} {{ "upper" is filter }} {{ "odd" is test }} {{ n is sameas none }} {{ a is sameas a }} {{ 1 is not odd }} {{ not 1 is odd }} {{ d.keys() is iterable }} {{ range(3) is sequence }} {{ none is defined }} {{ "" is string and e is not none }} {{ 1 is == 1 }}
{{ 1 is > 0 }} {{ "x" is nosuchtest }}
{{ "x" | nosuchfilter }}
{% if false %}{{ "x" | nosuchfilter }}{% endif %}ok
{% if true %}{{ "x" | nosuchfilter }}{% endif %}
{{ "x" is odd }}
{{ none is even }}
{{ undefined_thing }}|{{ undefined_thing | default("d") }}|{{ undefined_thing | length }}|{{ undefined_thing or "o" }}|{{ undefined_thing is defined }}|{{ undefined_thing | list }}|{{ undefined_thing | upper }}|{{ undefined_thing ~ "x" }}|{{ undefined_thing == undefined_other }}|{{ [undefined_thing] }}|{% for x in undefined_thing %}{% else %}none{% endfor %}
{{ undefined_thing.x }}
{{ undefined_thing["x"] }}
{{ undefined_thing() }}
{{ undefined_thing + 1 }}
{{ undefined_thing < 1 }}
{{ undefined_thing | int }} {{ undefined_thing | float(1) }}
{{ undefined_thing | abs }}
{{ undefined_thing | round }}
{{ undefined_thing | sum }} {{ undefined_thing | join(",") }} {{ undefined_thing | first }} {{ undefined_thing | sort }} {{ undefined_thing | map("upper") | list }} {{ undefined_thing | string }} {{ undefined_thing | trim }} {{ undefined_thing | e }} {{ undefined_thing | reverse | list }} {{ undefined_thing | unique | list }} {{ undefined_thing | select | list }}
{{ undefined_thing | items | list }} {{ d | items | list }} {{ {} | items | list }}
{{ a | items | list }}
{{ undefined_thing | dictsort }}
{{ none | length }}
{{ 5 | length }}
{{ 5 | list }}
{{ none | join }}
{{ d | join }} {{ [1, none, "a"] | join("-") }} {{ users | join("|", "name") }} {{ "abc" | join(".") }} {{ [] | join }}|{{ [[1], [2]] | join }} {{ range(3) | join }}
{% for i in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}
{% for i in [1, 1, 2] %}{{ loop.changed(i) }}{{ loop.cycle("a", "b") }}{% endfor %} {% for i in [] %}{% else %}empty{% endfor %} {% for i in [1, 2, 3, 4] if i is even %}{{ i }}{{ loop.index }}{{ loop.last }}{% endfor %} {% for k, v in d.items() %}{{ k }}={{ v }}{{ "," if not loop.last }}{% endfor %} {% for (x, y), z in [((1, 2), 3)] %}{{ x }}{{ y }}{{ z }}{% endfor %}
{% for i in [1, 2, 3, 4] %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %} {% for i in range(3) %}{% for j in range(2) %}{{ i }}{{ j }}{{ loop.index }}{{ "," }}{% endfor %}{% endfor %} {% for i in range(2) %}{% set outer = loop %}{% for j in range(2) %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for x in none %}{% endfor %}
{% for x, y in [1] %}{% endfor %}
{% for x, y in [(1, 2, 3)] %}{% endfor %}
{% for x in [1] %}{{ loop(x) }}{% endfor %}
{% for t in [{"v": 1, "c": [{"v": 2, "c": []}]}] recursive %}{{ t.v }}{{ loop.depth }}[{{ loop(t.c) }}]{% endfor %}
{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }} {% set ns = namespace(x=1) %}{% for i in [1, 2] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }} {% set ns2 = namespace({"a": 1}, b=2) %}{{ ns2.a }}{{ ns2.b }}{{ ns2.c is defined }} {% set a, b = 1, 2 %}{{ b }}{{ a }} {% set y = [1, 2] | join %}{{ y }} {% set z %}block {{ y }}{% endset %}{{ z }} {% set q | upper %}abc{% endset %}{{ q }}
{% set d.x = 1 %}
{% set nosuch.x = 1 %}
{% set 1 = 2 %}
{% set a, b = 1 %}
{% set a, b = [1, 2, 3] %}
{% macro m(a, b=2, *c) %}{% endmacro %}
{% macro m(a, b=2) %}[{{ a }}{{ b }}{{ varargs }}{{ kwargs }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, 2, 3, 4) }}{{ m(a=5, z=6) }}{{ m() }}{{ m.name }}{{ m.arguments }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}x{{ s }}{% endcall %} {% macro l(xs) %}{% for x in xs %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(x, i) l([7, 8]) %}{{ i }}:{{ x }} {% endcall %} {% macro r(n) %}{{ n }}{% if n %}{{ r(n - 1) }}{% endif %}{% endmacro %}{{ r(3) }}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
{% call s() %}{% endcall %}
{% macro a() %}{% set v = 1 %}{{ v }}{% endmacro %}{{ a() }}{{ v is defined }} {% macro p(x=[]) %}{{ x + [1] }}{% endmacro %}{{ p() }}{{ p() }} {% set f = p %}{{ f([5]) }} {% macro k() %}{{ kwargs.x }}{{ kwargs["y"] }}{% endmacro %}{{ k(x=1, y=2) }} {{ m is defined }}
{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %} {% with %}{% set q = 3 %}{{ q }}{% endwith %}{{ q is defined }} {% filter upper | replace("B", "x") %}abc{% endfilter %} {% if 0 %}a{% elif 1 %}b{% else %}c{% endif %} {% raw %}{{ x }}{% endraw %} {# c #}{% set j = joiner("|") %}{% for x in [1, 2] %}{{ j() }}{{ x }}{% endfor %} {% set c = cycler("o", "e") %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}
{% generation %}x{% endgeneration %} {% block b %}{{ s }}{% endblock %}{{ self.b() }} {{ dict(a=1, b=2) }} {{ dict([("x", 1)]) }} {{ dict({"a": 1}, b=3) }} {{ namespace(a=1).a }} {{ lipsum(n=0) }}|
{% include "x" %}
{% import "x" as y %}
{% from "x" import y %}
{% extends "x" %}
{% nosuchtag %}
{% endif %}
{% if true %}
{% for x in a %}{% endif %}{% endfor %}
{{ 1 + }}
{{ (1 }}
{{ "abc }}
{{ a.b. }}
{{ a[ }}
{{ a b }}
{{ }}
{% %}
{{ 'a' 'b' 1 }}
{{ a..b }}
{{ a | }}
{{ a is }}
{{ {1 2} }}
{{ f(a=1, 2) }}
{{ f(**d, *a) }}
{{ dict(**{"x": 1}, y=2) }} {{ range(*[1, 4]) | list }} {{ "{}{}".format(*["a", "b"]) }} {{ "{x}".format(**{"x": 9}) }}
{{ dict(x=1, **{"x": 2}) }}
{{ range(*5) }}
{{ dict(**[1]) }}
{{ s.upper }}|{{ s.upper() }} {{ s.nope }}|{{ s.nope is defined }}
{{ s.upper(1) }}
{{ s.nope() }}
{{ 5() }}
{{ s() }}
{{ none() }}
{{ raise_exception("boom " ~ 1) }}
{{ raise_exception(1) }}
{% if messages is not defined %}{{ raise_exception("no messages") }}{% endif %}
{{ strftime_now("%Y") | length }} {{ strftime_now("%%") }} {{ strftime_now("") }}|
  {%- if true -%}  x  {%- endif -%}  y
a {%- set x = 1 %} b {{- x -}} c {%+ if true %} d {% endif +%} e
    {% if true %}
  line
    {% endif %}
tail
{% for x in [1, 2] %}
  {{ x }}
{% endfor %}
{{ "a\\nb" }} {{ 'it\'s' }} {{ "tab\t|" }} {{ "\x41\u00e9\U0001F600" }} {{ "\101" }} {{ "\q" }} {{ "a\
b" }}
{{ "é" | length }} {{ "😀" | length }} {{ u | length }} {{ u[2] }} {{ u.split() }} {{ u | upper }} {{ u | reverse }} {{ u.find("q") }} {{ u.encode("utf-8") | length }} {{ "e\u0301" | length }} {{ u }}
{{ ["é", "\u200b", "\n", "'", "\"", "\\", "\x7f", "\u00a0", "😀", "\u0378"] }} {{ {"é": "'"} }} {{ ("a",) }} {{ [none, true, 1.0, 1e100, -0.0] }} {{ [["x"]] }} {{ [range(3), s.upper is callable] }}
{{ true }}{{ True }}{{ false }}{{ none }}{{ None }}{{ nil }} {{ TRUE is defined }} {{ not none }} {{ [true, none] | string }} {{ true | string | length }} {{ none | string }} {{ true ~ "" }} {{ none | default("x") }} {{ none | default("x", true) }} {{ false | d("x", boolean=true) }} {{ 0 | default(1) }}
{{ lipsum | string | length > 0 }} {{ a | random in a }} {{ [7] | random }} {{ "x" | random }} {{ [] | random }}|
{{ a | attr("nope") is defined }} {{ s | attr("upper") is callable }} {{ s | attr("upper")() }} {{ (s | attr("upper"))() }} {{ users[0] | attr("name") is defined }}
{{ loop is defined }} {{ self is defined }} {{ caller is defined }} {{ varargs is defined }} {{ super is defined }}
{{ 1 if 1 else 2 if 3 else 4 }} {{ (1, 2, 3) | length }} {{ () }} {{ (1) }} {{ 1, 2 }} {{ [1, 2,] }} {{ {"a": 1,} }} {{ [] == [] and {} == {} }} {{ (a | length) * 2 }} {{ a | length * 2 }} {{ -a | length if false else "p" }} {{ "a" ~ "b" | upper }} {{ ("a" ~ "b") | upper }} {{ 1 + 2 | string }} {{ 2 * 3 ~ 4 }} {{ not a | length == 5 }} {{ "x" in "xyz" and not "q" in "xyz" }} {{ 1 is odd and 2 is even or x }}
'''

# Snippets of several lines, and others that don't fit above.
BLOCKS = [
    "{% for m in msgs %}\n  {%- if m.role == 'user' %}\nU: {{ m.content }}\n  {%- else %}\nA: {{ m.content | default('-') }}\n  {% endif %}\n{% endfor %}\n",
    "{%- macro render(v, depth=0) -%}\n  {%- if v is mapping -%}\n    {%- for k, x in v | dictsort %}{{ k }}:{{ render(x, depth + 1) }};{% endfor -%}\n  {%- elif v is iterable and v is not string -%}\n    {%- for x in v %}{{ render(x, depth + 1) }},{% endfor -%}\n  {%- else -%}{{ depth }}{{ v }}{%- endif -%}\n{%- endmacro -%}\n{{ render(deep) }}|{{ render(nest) }}|{{ render(users) }}",
    "{% set ns = namespace(last=none, out='') %}{% for x in [1, 1, 2, 2, 3] %}{% if x != ns.last %}{% set ns.out = ns.out ~ x ~ ',' %}{% endif %}{% set ns.last = x %}{% endfor %}{{ ns.out }}",
    "{#- comment\nover lines -#}\n{{- 'x' }}\n\n{{ 'y' -}}\n\n z\n",
    "a\r\nb{{ 1 }}\r\nc\n\n", "\n\n{% if true %}\n\nx\n\n{% endif %}\n\n", "{% raw -%}\n {{ x }} \n{%- endraw %}", "x\n", "x\n\n", "{{ 'a' }}\n{{ 'b' }}\n",
    "{%- for x in a %}\n{{- x }}\n{%- endfor %}", "{% if a %}\t{% endif %}\t{% if a %} {% endif %}", "\t{# c #}\n\t{% set x = 1 %}\n\t{{ x }}\n",
    "{{ 'x' }}{#", "{% raw %}x", "{{ '{{' }}{{ \"}}\" }}", "{{ {'a': {'b': 1}}.a.b }}", "{{ [[[1]]][0][0][0] }}", "{%set x=1%}{{x}}", "{{1}}{{-1}}{{- 1}}",
    "{% if s == 'Hello World' and (a | length > 3 or n) and not f %}yes{% endif %}", "{{ a[i - 4] }}{{ a[-(1)] }}{{ a[1:][0] }}",
    "{% for c in 'héy' %}{{ loop.index }}{{ c }}{% endfor %}", "{% for k in d %}{{ k }}{{ d[k] }}{% endfor %}", "{% for x in a | map('string') %}{{ x }}{% endfor %}",
    "{% set it = a | map('string') %}{{ it | list }}{{ it | list }}", "{% set l = [1] %}{% set l = l + [2] %}{{ l }}", "{% set d2 = dict(d, z=9) %}{{ d2 }}{{ d }}",
    "{% for i in range(3) %}{{ loop.index }}{% if not loop.last %}, {% endif %}{% endfor %}", "{{ messages | default([]) | length }}",
    "{% set s2 = 'a' %}{% set s2 = s2 ~ 'b' %}{{ s2 }}{% set s2 = s2 + 'c' %}{{ s2 }}",
]

templates = []
for line in LINES.strip("\n").replace("\\\nb", "\\\x01b").split("\n"):
    line = line.replace("\x01", "\n")
    templates.append(line)
    if line.startswith("{{ ") and " }} {{ " in line:      # and each expression on its own
        templates += ["{{ " + piece + " }}" for piece in line[3:].removesuffix(" }}").split(" }} {{ ")]
rows = []
for template in dict.fromkeys(templates + BLOCKS):
    try:
        row = {"template": template, "output": _compile_jinja_template(template).render(**CONTEXT)}
        if " at 0x" in row["output"]:
            row |= {"output": row["output"].split(" at 0x")[0] + " at 0x", "address": True}
    except Exception as e:
        row = {"template": template, "error": type(e).__name__, "message": str(e)}
    rows.append(row)
with open(sys.argv[1], "w", encoding="utf-8") as f:
    f.write(json.dumps({"context": CONTEXT}, ensure_ascii=False) + "\n")
    for row in rows:
        f.write(json.dumps(row, ensure_ascii=False) + "\n")
print(len(rows), "snippets,", sum("error" in r for r in rows), "errors")
