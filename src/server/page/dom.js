/* SPDX-License-Identifier: Apache-2.0
 * Building elements. Text of the model reaches the page only as text nodes and checked link targets; nothing here or
 * elsewhere parses markup (the policy's require-trusted-types-for holds the page to that). */
const $ = (id) => document.getElementById(id);

function fill(node, props, children) {
    for (const [name, value] of Object.entries(props || {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
        else node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const c of children.flat()) if (c !== null && c !== undefined) node.append(c);
    return node;
}

/* el("p", { class: "note", onclick: f }, "text", node, [more, of, them]) */
const el = (tag, props, ...children) => fill(document.createElement(tag), props, children);
const svg = (tag, props, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

/* Told to screen readers. */
function say(text) {
    $("say").textContent = text;
}

async function copyText(text, button) {
    let ok = true;
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        ok = copyBySelection(text);
    }
    const before = button.dataset.label || button.textContent;
    button.dataset.label = before;
    button.textContent = ok ? "Copied" : "Not copied";
    say(ok ? "Copied" : "The browser refused to copy");
    setTimeout(() => { button.textContent = before; }, 1500);
}

/* Pages served over plain HTTP from another machine have no clipboard API. */
function copyBySelection(text) {
    const area = el("textarea", { class: "hidden", "aria-hidden": "true", tabindex: "-1" });
    area.value = text;
    document.body.append(area);
    const focused = document.activeElement;
    area.select();
    let ok = false;
    try {
        ok = document.execCommand("copy");
    } catch { /* stays false */ }
    area.remove();
    if (focused) focused.focus();
    return ok;
}

const store = {
    get(area, name) {
        try {
            return window[area].getItem("vllmc." + name);
        } catch {
            return null;
        }
    },
    set(area, name, value) {
        try {
            if (value === null) window[area].removeItem("vllmc." + name);
            else window[area].setItem("vllmc." + name, value);
            return true;
        } catch {
            return false;
        }
    },
};
