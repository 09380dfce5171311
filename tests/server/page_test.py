# SPDX-License-Identifier: Apache-2.0
"""The web page in a real browser (chromium, driven by chromedriver), before a server of known answers or a running one.

usage: page_test.py --html page.html --csp page.csp [--shots DIR]
       page_test.py --url http://127.0.0.1:8000/ [--shots DIR]
       page_test.py --serve build/vllmc MODEL [--shots DIR]
"""
import argparse
import os
import signal
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import page_access
import page_driver
import page_mock

LAST = "[...document.querySelectorAll('.msg.assistant')].at(-1)"
WIDTHS = ((1280, 800), (360, 740))


def button(name, of=LAST):
    return "[...%s.querySelectorAll('.tools button')].find(b => b.textContent === '%s')" % (of, name)


class Page:
    def __init__(self, browser, url, mock, shots):
        self.b, self.url, self.mock, self.shots = browser, url, mock, shots

    def open(self, width=1280, height=800, scheme="light", forget=True):
        self.b.size(width, height)
        self.b.scheme(scheme)
        self.b.open(self.url)
        if forget:
            self.b.js("localStorage.clear(); sessionStorage.clear();")
            self.b.open(self.url)
        self.b.wait("document.getElementById('state').dataset.state === 'good'", 60)

    def ask(self, text, wait=True):
        self.b.type("#input", text)
        self.b.key("Enter")
        if wait:
            self.b.wait("!conversation.busy() && document.querySelector('.msg.assistant')", 120)
            self.b.wait("!%s.classList.contains('live')" % LAST)

    def quiet(self):
        lines = [e["message"] for e in self.b.console() if e["level"] in ("SEVERE", "WARNING")]
        assert not lines, "the console says: " + "; ".join(lines)

    def look(self, name):
        if self.shots:
            self.b.shot(os.path.join(self.shots, name + ".png"))


# ---- with answers that are known ----

def test_chat(p):
    b, m = p.b, p.mock
    p.open()
    assert b.js("return document.title") == "tiny-model \u00b7 vllm.c"
    assert b.js("return [...document.getElementById('model').options].map(o => o.value)") == ["tiny-model", "another"]
    b.type("#input", "one")
    b.key("Enter", held="Shift")
    b.type("#input", "two")
    assert b.js("return document.getElementById('input').value") == "one\ntwo"
    assert not m.requests
    p.ask("")
    assert b.js("return %s.querySelector('.body').innerText" % LAST) == "You said: one\ntwo\nAnd that is all."
    assert b.js("return %s.querySelector('.body strong').textContent" % LAST) == "that"
    sent = m.requests[-1]
    assert sent["messages"] == [{"role": "user", "content": "one\ntwo"}] and sent["model"] == "tiny-model"
    assert sent["stream"] is True and sent["stream_options"] == {"include_usage": True} and sent["logprobs"] is True and sent["top_logprobs"] == 5
    assert not {"temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"} & set(sent)
    assert "10 tokens" in b.js("return %s.querySelector('.figures').textContent" % LAST)
    p.ask("again")
    assert [x["role"] for x in m.requests[-1]["messages"]] == ["user", "assistant", "user"]
    assert b.js("return document.activeElement.id") == "input"
    b.click("#new")
    assert b.js("return document.querySelectorAll('.msg').length") == 0
    p.quiet()


def test_markdown(p):
    b = p.b
    p.open()
    p.ask("markdown")
    text = lambda s: b.js("return [...%s.querySelector('.body').querySelectorAll('%s')].map(n => n.textContent)" % (LAST, s))
    assert text(":scope > h3") == ["Heading one"] and text("h3 em") == ["one"]
    assert text("p > strong") == ["strong", "both"] and text("p > em") == ["emphasis"] and text("p > strong > em") == ["both"] and text("p > del") == ["gone"]
    assert text("p > code") == ["code <b>"]
    assert b.js("return [...%s.querySelectorAll('.body p > a')].map(a => [a.href, a.textContent])" % LAST) == [
        ["https://example.org/a_(b)", "link"], ["https://example.org/x?y=1", "https://example.org/x?y=1"]]
    assert "snake_case_name, 2 * 3 * 4, a bare" in text(":scope > p")[0]
    assert b.js("return %s.querySelector('.body > ol').children.length" % LAST) == 3
    assert text(":scope > ol > li > ul > li") == ["nested", "listwith a paragraph"]
    assert text(":scope > blockquote") == ["A quoteof two lines"]
    assert text("th") == ["name", "value"] and text("td") == ["a | b", "1", "x|y", "2"] and text("td code") == ["x|y"]
    assert text("pre code") == ["int main(void) {\n    return a < b && c > d;   /* <script>alert(1)</script> */\n}"]
    assert text(".code-head span") == ["c"] and text(":scope > hr") == [""] and text(":scope > p")[-1] == "The end."
    # A text that grows piece by piece ends as the same text does at once.
    assert b.js("""const a = document.createElement('div'), c = document.createElement('div'), s = arguments[0];
        for (let i = 1; i <= s.length; i++) renderMarkdown(a, s.slice(0, i));
        renderMarkdown(c, s);
        return a.isEqualNode(c);""", page_mock.MARKDOWN)
    # Nesting without end, and delimiters without partners, lose no text. A rendering of quadratic time would not come to an
    # end before the driver gives up.
    for piece in ("> ", "- ", "*a ", "[", "`a", "**", "_a_b", "| a ", "![x](", "http://", "#", "~~~", "\\", "***", "[a](b) ", "1. ", "- - "):
        assert b.js("""const a = document.createElement('div');
            renderMarkdown(a, arguments[0].repeat(100000) + '\\n\\nend');
            return a.textContent.includes('end');""", piece), piece
    p.quiet()


def test_hostile(p):
    b = p.b
    p.open()
    p.ask("hostile")
    assert b.js("return window.hit === undefined")
    assert b.js("return %s.querySelectorAll('img, script, iframe, .body svg, [onerror], [onload]').length" % LAST) == 0
    assert b.js("return [...%s.querySelectorAll('a')].map(a => a.protocol)" % LAST) == []
    assert "<img src=x" in b.js("return %s.querySelector('.body').textContent" % LAST)
    p.quiet()
    # What the policy forbids is refused by the browser.
    assert b.js("try { document.getElementById('say').innerHTML = '<b>x</b>'; return 'done'; } catch (e) { return e.name; }") == "TypeError"
    assert b.js("try { document.createElement('p').setAttribute('onclick', 'window.hit = 2'); return 'done'; } catch (e) { return e.name; }") == "TypeError"
    assert b.js("const s = document.createElement('script'); try { s.textContent = 'window.hit = 3'; document.body.append(s); } catch { } return window.hit === undefined")
    b.console()


def test_stop(p):
    b, m = p.b, p.mock
    p.open()
    for how in ("key", "button"):
        cut = m.cut
        p.ask("slow please", wait=False)
        b.wait("%s && %s.querySelector('.body').textContent.length > 20" % (LAST, LAST))
        assert b.js("return document.getElementById('send').hidden && !document.getElementById('stop').hidden")
        if how == "key":
            b.key("Escape")
        else:
            b.click("#stop")
        b.wait("!conversation.busy()")
        assert "stopped" in b.js("return %s.querySelector('.figures').textContent" % LAST)
        for _ in range(100):
            if m.cut > cut:
                break
            b.js("return new Promise(f => setTimeout(f, 50))")
        assert m.cut > cut, "the server did not see the client leave"
    p.ask("go on")
    assert "word word" in m.requests[-1]["messages"][1]["content"]
    p.quiet()


def test_regenerate_and_edit(p):
    b, m = p.b, p.mock
    p.open()
    p.ask("first")
    p.ask("second")
    b.js(button("Regenerate") + ".click()")
    b.wait("!conversation.busy()")
    assert m.requests[-1]["messages"] == m.requests[-2]["messages"] and b.js("return document.querySelectorAll('.msg').length") == 4
    first = "document.querySelector('.msg.user')"
    b.js(button("Edit", first) + ".click()")
    assert b.js("return document.activeElement.getAttribute('aria-label')") == "Edit your message"
    b.js("document.activeElement.value = ''")
    b.type(".editor textarea", "changed")
    b.key("Enter")
    b.wait("!conversation.busy()")
    assert m.requests[-1]["messages"] == [{"role": "user", "content": "changed"}] and b.js("return document.querySelectorAll('.msg').length") == 2
    n = len(m.requests)
    b.js(button("Edit") + ".click()")
    b.js("document.activeElement.value = 'My **own** words'")
    b.click(".editor .primary")
    assert len(m.requests) == n and b.js("return %s.querySelector('.body').textContent" % LAST) == "My own words"
    b.js(button("Edit") + ".click()")
    b.key("Escape")
    assert b.js("return document.querySelector('.editor') === null && document.activeElement.textContent") == "Edit"
    p.ask("third")
    assert m.requests[-1]["messages"][1] == {"role": "assistant", "content": "My **own** words"}
    p.quiet()


def test_copy(p):
    b = p.b
    p.open()
    b.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=p.url.rstrip("/"))
    p.ask("markdown")
    b.js("document.body.focus();" + button("Copy") + ".click()")
    b.wait(button("Copied"))
    assert b.js("return navigator.clipboard.readText()") == page_mock.MARKDOWN
    b.js("%s.querySelector('.code-head button').click()" % LAST)
    b.wait("%s.querySelector('.code-head button').textContent === 'Copied'" % LAST)
    assert b.js("return navigator.clipboard.readText()").startswith("int main(void) {\n    return")
    p.quiet()


def test_settings(p):
    b, m = p.b, p.mock
    p.open()
    b.click("#tab-settings")
    b.type("#system", "Be terse.")
    for name, value in (("temperature", "0.5"), ("top_p", "0.9"), ("top_k", "40"), ("min_p", "0.05"), ("max_tokens", "64"), ("seed", "7")):
        b.type("#f-" + name, value)
    b.click("#probs")
    p.ask("hello")
    sent = m.requests[-1]
    assert {k: sent[k] for k in ("temperature", "top_p", "top_k", "min_p", "max_tokens", "seed")} == {
        "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "max_tokens": 64, "seed": 7}
    assert sent["messages"][0] == {"role": "system", "content": "Be terse."} and "logprobs" not in sent
    assert b.js("return %s.hidden" % button("Tokens"))
    n = len(m.requests)
    b.js("document.getElementById('f-temperature').value = ''")
    b.type("#f-temperature", "9")
    p.ask("refused", wait=False)
    assert b.js("return document.activeElement.id + document.activeElement.getAttribute('aria-invalid')") == "f-temperaturetrue"
    assert b.js("return document.getElementById('e-temperature').textContent") == "0 to 2"
    assert len(m.requests) == n and b.js("return document.getElementById('input').value") == "refused"
    b.click("#sampling-reset")
    b.click("#send")
    b.wait("!conversation.busy()")
    assert len(m.requests) == n + 1 and "temperature" not in m.requests[-1]
    b.js("document.getElementById('model').value = 'another'; document.getElementById('model').dispatchEvent(new Event('change'))")
    p.ask("other model")
    assert m.requests[-1]["model"] == "another"
    p.quiet()


def test_keep(p):
    b = p.b
    p.open()
    p.ask("do not keep")
    assert b.js("return localStorage.getItem('vllmc.kept')") is None
    b.click("#tab-settings")
    b.type("#f-seed", "5")
    b.click("#keep")
    p.open(forget=False)
    assert b.js("return [...document.querySelectorAll('.msg .body')].map(n => n.innerText)") == ["do not keep", "You said: do not keep\nAnd that is all."]
    assert b.js("return document.getElementById('f-seed').value") == "5"
    b.click("#tab-settings")
    b.click("#keep")
    assert b.js("return localStorage.getItem('vllmc.kept')") is None
    p.open(forget=False)
    assert b.js("return document.querySelectorAll('.msg').length") == 0
    b.js("localStorage.setItem('vllmc.kept', '{\"messages\":[{\"role\":\"system\"},7,{\"role\":\"user\",\"content\":[1]}],\"fields\":null}')")
    p.open(forget=False)
    assert b.js("return document.querySelectorAll('.msg').length") == 1
    p.quiet()


def test_tokens(p):
    b = p.b
    p.open()
    p.ask("show me tokens")
    b.js(button("Tokens") + ".click()")
    assert b.js("return [...%s.querySelectorAll('.tokens .token')].map(n => n.textContent)" % LAST) == [
        "You", " said:", " show", " me", " tokens", "\u21b5", "And", " **that**", " is", " all."]
    assert b.js("return [...%s.querySelectorAll('.tokens .token')].map(n => n.className.split(' ')[1]).slice(0, 6)" % LAST) == ["p4", "p2", "p3", "p1", "p4", "p0"]
    assert b.js("return [...%s.querySelectorAll('.tokens .near')].length" % LAST) == 2
    b.hover(".tokens .token:nth-of-type(1)")
    assert b.js("return document.querySelector('#tip tr.chosen').innerText").split() == ["You", "98.0", "%", "-0.020"]
    assert "Margin of the best two: 4.585 nats" in b.js("return document.getElementById('tip').innerText")
    b.js("%s.querySelector('.tokens .token').focus()" % LAST)
    b.key("Right")
    assert b.js("return document.activeElement.getAttribute('aria-label')") == "\u00b7said:, 52.0 %, margin 3 ulps"
    assert "3 ulps (near tie)" in b.js("return document.getElementById('tip').innerText")
    assert b.js("return document.querySelectorAll('#tip tr').length") == 5
    b.key("End")
    assert b.js("return document.activeElement.textContent") == " all."
    b.key("Escape")
    assert b.js("return document.getElementById('tip').hidden")
    b.js(button("Tokens") + ".click()")
    assert b.js("return !%s.querySelector('.body').hidden" % LAST)
    p.quiet()


def test_reasoning(p):
    b, m = p.b, p.mock
    p.open()
    p.ask("reason")
    assert b.js("const d = %s.querySelector('details'); return [d.hidden, d.open, d.querySelector('summary').textContent]" % LAST) == [False, False, "Reasoning"]
    assert b.js("return %s.querySelector('.thoughts em').textContent + %s.querySelector('.body').textContent" % (LAST, LAST)) == "thinkThe answer is 42."
    p.ask("and")
    assert m.requests[-1]["messages"][1] == {"role": "assistant", "content": "The answer is 42."}
    assert b.js("return splitThinking({ content: '<think>a</think>b', reasoning: '' })") == {"reasoning": "a", "content": "b"}
    p.quiet()


def test_charts(p):
    b = p.b
    p.open()
    value = lambda chart, i: b.js("return document.querySelectorAll('#chart-%s .legend b')[%d].textContent" % (chart, i))
    b.wait("document.querySelector('#chart-kv .legend b').textContent === '5.0 %'")
    p.ask("slow", wait=False)
    b.wait("document.querySelector('#chart-requests .legend b').textContent === '1'")
    b.wait("parseFloat(document.querySelector('#chart-rate .legend b').textContent) > 5")
    assert value("requests", 1) == "1" and value("kv", 0) == "45 %", (value("requests", 1), value("kv", 0))
    b.wait("/^[0-9.]+ ms$/.test(document.querySelector('#chart-between .legend b').textContent)")
    assert len(b.js("return document.querySelector('#chart-rate .line').getAttribute('d')")) > 5
    assert "generated" in b.js("return document.querySelector('#chart-rate svg[role=img]').getAttribute('aria-label')")
    p.look("charts")
    b.key("Escape")
    facts = b.js("return document.getElementById('facts').innerText").split("\n")
    assert facts[facts.index("Prefix cache hits") + 1] == "25 %" and facts[facts.index("KV blocks") + 1] == "2048 \u00d7 16 tokens", facts
    assert not facts[facts.index("Tokens generated") + 1].endswith("M"), facts        # the other model's are not counted
    # Quantiles as Prometheus defines them, on numbers worked out by hand: 10 below 0.1, 30 more to 0.5, 10 beyond 1.
    assert b.js("return [0.5, 0.1, 0.99].map(q => quantile(q, [], [[0.1, 10], [0.5, 40], [1, 40], [Infinity, 50]]))") == [0.1 + 0.4 * 15 / 30, 0.05, 1]
    assert b.js("return quantile(0.5, [[1, 3], [Infinity, 3]], [[1, 3], [Infinity, 3]])") is None
    assert b.js("return parseMetrics('# HELP a b\\na{x=\"1\\\\\"2\",le=\"+Inf\"} 3 17\\nb 4e2').get('a')[0].labels") == {"x": '1"2', "le": "+Inf"}
    p.quiet()


def test_key(p):
    b, m = p.b, p.mock
    m.key = "sesame"
    try:
        b.size(1280, 800)
        b.open(p.url)
        b.wait("document.getElementById('state-text').textContent === 'Key needed'")
        b.console()
        b.click("#tab-settings")
        b.type("#key", "sesame\n")
        b.js("document.getElementById('key').blur()")
        b.wait("document.getElementById('state').dataset.state === 'good'")
        p.ask("with key")
        assert "You said" in b.js("return %s.textContent" % LAST)
        assert b.js("return [sessionStorage.getItem('vllmc.key'), JSON.stringify({ ...localStorage }).includes('sesame')]") == ["sesame", False]
        p.quiet()
    finally:
        m.key = None


def test_faults(p):
    b, m = p.b, p.mock
    p.open()
    p.ask("fail")
    assert b.js("return %s.querySelector('[role=alert]').textContent" % LAST) == "max_tokens must be at least 1, got 0."
    assert b.js("return %s.hidden && !%s.hidden" % (button("Copy"), button("Regenerate")))
    p.ask("after it")
    assert m.requests[-1]["messages"] == [{"role": "user", "content": "after it"}]
    m.loading = True                                        # noticed by itself
    b.wait("document.getElementById('state-text').textContent === 'Loading'")
    m.loading = False
    b.wait("document.getElementById('state').dataset.state === 'good'")
    b.console()


def test_access(p):
    b = p.b
    for width, height in WIDTHS:
        for scheme in ("light", "dark"):
            def check(what):
                n, out = page_access.faults(b)
                assert n > 10 and not out, "%s, %d px, %s:\n  %s" % (what, width, scheme, "\n  ".join(out))
                p.look("%d-%s-%s" % (width, scheme, what))
            p.open(width, height, scheme)
            check("empty")
            p.ask("markdown")
            p.ask("reason")
            b.js("%s.querySelector('details').open = true; %s.click(); %s.querySelectorAll('.tokens .token')[1].focus()" % (LAST, button("Tokens"), LAST))
            check("tokens")
            p.ask("fail")
            check("chat")
            if width < 1000:
                b.click("#panel-button")
            b.wait("document.querySelector('#chart-kv .legend b').textContent === '5.0 %'")
            check("engine")
            b.click("#tab-settings")
            b.type("#f-temperature", "9")
            check("settings")
            if width < 1000:
                b.key("Escape")
                assert b.js("return document.getElementById('panel').hidden && document.activeElement.id") == "panel-button"
    b.console()


def test_focus(p):
    p.open()
    steps = page_access.tab_order(p.b, 13)
    assert [s[0] for s in steps] == ["skip", "model", "new", "theme", "panel-button", "log", "Explain paged attent", "Write a C function t", "List the planets as ",
                                     "input", "send", "tab-engine", "panel-close"], steps
    assert all(s[1] and s[2] for s in steps), steps
    p.b.js("document.getElementById('tab-engine').focus()")
    p.b.key("Left")
    assert p.b.js("return document.activeElement.id + document.getElementById('settings').hidden") == "tab-settingsfalse"
    # Over the conversation the panel keeps the focus to itself.
    p.open(360, 740)
    p.b.click("#panel-button")
    assert p.b.js("return document.activeElement.id") == "panel-close" and p.b.js("return document.getElementById('chat').inert")
    p.quiet()


# ---- with any server ----

def test_theme(p):
    b = p.b
    ground = lambda: b.js("return getComputedStyle(document.body).backgroundColor")
    p.open(scheme="light")
    light = ground()
    b.scheme("dark")
    dark = ground()
    assert light != dark
    b.click("#theme")
    assert ground() == light and b.js("return document.getElementById('theme').getAttribute('aria-label')") == "Theme: light"
    b.click("#theme")
    assert ground() == dark
    b.scheme("light")
    assert ground() == dark
    p.open(forget=False)
    assert ground() == dark
    b.click("#theme")
    assert ground() == light and b.js("return localStorage.getItem('vllmc.theme')") is None
    p.quiet()


def test_any_server(p):
    """A conversation with a real model: streams, counts, stops, shows tokens and charts, says nothing on the console."""
    b = p.b
    p.open()
    b.click("#tab-settings")
    b.type("#f-temperature", "0")
    b.type("#f-max_tokens", "48")
    b.click("#tab-engine")
    p.ask("Name three primary colors.")
    assert b.js("return %s.querySelector('.fault-box').hidden && %s.querySelector('.body').textContent.trim().length > 3" % (LAST, LAST)), b.js("return %s.innerText" % LAST)
    assert " tokens, " in b.js("return %s.querySelector('.figures').textContent" % LAST)
    first = b.js("return conversation.messages.at(-1).content")
    b.js(button("Regenerate") + ".click()")
    b.wait("!conversation.busy()", 120)
    assert b.js("return conversation.messages.at(-1).content") == first, "greedy text differs when asked again"
    # The tokens shown are the text shown.
    assert b.js("return conversation.messages.at(-1).tokens.map(t => t.token).join('')").startswith(first.rstrip())
    assert b.js("return conversation.messages.at(-1).tokens.every(t => t.top_logprobs.length === 5 && t.logprob <= 0)")
    b.js(button("Tokens") + ".click(); %s.querySelector('.tokens .token').focus()" % LAST)
    assert b.js("return document.querySelectorAll('#tip tr').length") == 5
    assert b.js("return [...%s.querySelectorAll('.tokens .token')].every(n => / ulps$/.test(n.getAttribute('aria-label')))" % LAST)
    p.look("any-tokens")
    b.js("document.getElementById('f-max_tokens').value = 600")
    p.ask("Write a long story about the sea.", wait=False)
    b.wait("conversation.busy() && conversation.messages.at(-1).content.length > 20", 60)
    b.wait("document.querySelector('#chart-requests .legend b').textContent === '1'")
    b.wait("parseFloat(document.querySelector('#chart-rate .legend b').textContent) > 0")
    b.wait("/ (ms|s)$/.test(document.querySelector('#chart-between .legend b').textContent)")
    p.look("any-charts")
    b.key("Escape")
    b.wait("!conversation.busy()")
    assert "stopped" in b.js("return %s.querySelector('.figures').textContent" % LAST)
    b.wait("document.querySelector('#chart-requests .legend b').textContent === '0'")
    n, out = page_access.faults(b)
    assert not out, out
    p.quiet()


def serve(program, model):
    """Starts a server of the model; returns its process and address."""
    server = subprocess.Popen([program, "serve", model, "--port", "0", "--max-model-len", "2048", "--log-level", "warning"], stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    if not line.startswith("vllmc: http://"):
        server.kill()
        raise AssertionError("the server did not start: " + line)
    return server, line.split()[1] + "/"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--html")
    a.add_argument("--csp")
    a.add_argument("--url")
    a.add_argument("--serve", nargs=2, metavar=("PROGRAM", "MODEL"))
    a.add_argument("--shots")
    a.add_argument("--only", default="")
    o = a.parse_args()
    if not page_driver.found():
        print("left out: chromium and chromedriver (not on this machine)")
        return 0
    if o.shots:
        os.makedirs(o.shots, exist_ok=True)
    if o.serve and not os.path.exists(o.serve[1]):
        models = os.environ.get("VLLMC_TEST_MODELS") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vllmc", "models")
        o.serve[1] = os.path.join(models, o.serve[1])          # where tools/get-model puts them
    if o.serve and not os.path.exists(o.serve[1]):
        print("left out: %s (not on this machine)" % o.serve[1])
        return 0
    mock, server = None, None
    if o.serve:
        server, o.url = serve(*o.serve)
    elif not o.url:
        with open(o.html, encoding="ascii") as html, open(o.csp, encoding="ascii") as csp:
            mock = page_mock.Mock(html.read(), csp.read())
    names = ["test_any_server", "test_theme"] if o.url else [n for n in globals() if n.startswith("test_") and n != "test_any_server"]
    failed = 0
    browser = page_driver.Browser(1280, 800)
    try:
        page = Page(browser, o.url or mock.url, mock, o.shots)
        for name in names:
            if o.only not in name:
                continue
            try:
                if mock:
                    mock.requests.clear()
                browser.console()
                globals()[name](page)
                print("ok", name)
            except (AssertionError, RuntimeError):
                failed += 1
                print("FAILED", name)
                traceback.print_exc(file=sys.stdout)
    finally:
        browser.quit()
        if server:
            server.send_signal(signal.SIGTERM)
            if server.wait(timeout=60) != 0:
                failed += 1
                print("FAILED the server ended with", server.returncode)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
