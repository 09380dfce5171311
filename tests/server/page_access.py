# SPDX-License-Identifier: Apache-2.0
"""What an accessibility checker looks for, asked of the browser itself: names of controls as it computes them, contrast of
every text to its ground (WCAG 2.2, 1.4.3 and 1.4.11), size of targets (2.5.8), references between elements, overflow."""

CONTROLS = {"button", "textbox", "combobox", "checkbox", "spinbutton", "tab", "link", "searchbox", "DisclosureTriangle", "tabpanel", "log", "region", "image", "article"}

CONTRAST = r"""
const parse = (c) => {
    let m = /^rgba?\(([^)]*)\)$/.exec(c);
    if (m) { const v = m[1].split(/[\s,\/]+/).map(Number); return [v[0], v[1], v[2], v.length > 3 ? v[3] : 1]; }
    m = /^color\(srgb ([^)]*)\)$/.exec(c);
    if (m) { const v = m[1].split(/[\s\/]+/).map(Number); return [255 * v[0], 255 * v[1], 255 * v[2], v.length > 3 ? v[3] : 1]; }
    throw new Error("colour " + c);
};
const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
const luminance = (c) => { const l = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]; };
const ratio = (a, b) => { const x = luminance(a), y = luminance(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
const ground = (node) => {
    const layers = [];
    for (let n = node; n; n = n.parentElement) layers.push(parse(getComputedStyle(n).backgroundColor));
    return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]);
};
const seen = (n) => n.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !n.closest(".hidden, .skip");
const out = [];
const check = (node, colour, what, least) => {
    const g = ground(node), r = ratio(over(parse(colour), g), g);
    if (r < least) out.push(`${what}: ${r.toFixed(2)} : 1, ${colour} on ${g.slice(0, 3).map(Math.round)}`);
    checked++;
};
let checked = 0;
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
    const node = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
    if (!text || ["SCRIPT", "STYLE", "OPTION"].includes(node.tagName) || !seen(node)) continue;
    const s = getComputedStyle(node), size = parseFloat(s.fontSize), large = size >= 24 || (size >= 18.66 && s.fontWeight >= 700);
    check(node, s.color, JSON.stringify(text.slice(0, 30)), large ? 3 : 4.5);
}
for (const node of document.querySelectorAll("input:not([type=checkbox]), textarea, select")) {
    if (!seen(node)) continue;
    const s = getComputedStyle(node), frame = node.id === "input" ? node.parentElement : node, f = getComputedStyle(frame);
    check(node, s.color, "text of #" + node.id, 4.5);
    if (node.placeholder) check(node, getComputedStyle(node, "::placeholder").color, "placeholder of #" + node.id, 4.5);
    check(frame.parentElement, f.borderTopColor, "border of #" + node.id, 3);
}
for (const node of document.querySelectorAll(".icon svg, .chart .line")) {
    if (seen(node)) check(node.parentElement, getComputedStyle(node).stroke, "drawing in " + node.parentElement.id, 3);
}
return [checked, out];
"""

STRUCTURE = r"""
const out = [], ids = new Set();
for (const n of document.querySelectorAll("[id]")) { if (ids.has(n.id)) out.push("id twice: " + n.id); ids.add(n.id); }
for (const a of ["aria-controls", "aria-labelledby", "aria-describedby", "for"])
    for (const n of document.querySelectorAll("[" + a + "]"))
        for (const id of n.getAttribute(a).split(/\s+/)) if (!ids.has(id)) out.push(`${a} names nothing: ${id}`);
for (const n of document.querySelectorAll("button, select, input, textarea, summary")) {
    if (!n.checkVisibility() || n.closest(".hidden")) continue;
    let r = n.getBoundingClientRect();
    if (n.type === "checkbox") r = n.closest("label").getBoundingClientRect();
    if (r.width < 24 || r.height < 24) out.push(`target of ${r.width.toFixed(0)} x ${r.height.toFixed(0)}: ${n.id || n.textContent}`);
}
for (const n of document.querySelectorAll("[tabindex]")) if (n.tabIndex > 0) out.push("tabindex above 0: " + n.id);
if (document.querySelectorAll("h1").length !== 1) out.push("not one h1");
for (const tag of ["main", "header", "aside"]) if (document.querySelectorAll(tag).length < 1) out.push("no " + tag);
if (!document.documentElement.lang) out.push("no language");
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) out.push(`wider than the window: ${wide}`);
for (const n of document.querySelectorAll("#bar *, #composer *, #panel > *")) {
    if (!n.checkVisibility() || n.closest(".hidden")) continue;
    const r = n.getBoundingClientRect();
    if (r.right > innerWidth + 1 || r.left < -1) out.push(`outside the window: ${n.id || n.className || n.tagName} ${r.left.toFixed(0)} to ${r.right.toFixed(0)}`);
}
return out;
"""


def faults(browser):
    """All that is wrong with what is shown now, and how many colours were compared."""
    checked, out = browser.js(CONTRAST)
    out += browser.js(STRUCTURE)
    for node in browser.cdp("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if not node.get("ignored") and role in CONTROLS and not node.get("name", {}).get("value", "").strip():
            out.append("%s without a name" % role)
    return checked, out


def tab_order(browser, steps):
    """Presses Tab from the first link on; for each step what has the focus, whether it can be seen, and whether the focus shows."""
    browser.js("document.querySelector('.skip').focus()")
    out = []
    for i in range(steps):
        if i:
            browser.key("Tab")
        out.append(browser.js("""
            const n = document.activeElement, r = n.getBoundingClientRect(), s = getComputedStyle(n), f = n.id === "input" ? getComputedStyle(n.parentElement) : s;
            return [n.id || n.className || n.textContent.slice(0, 20), r.width > 0 && r.bottom > 0 && r.top < innerHeight,
                    (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1) || f.boxShadow !== "none"];"""))
    return out
