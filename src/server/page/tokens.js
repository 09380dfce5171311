/* SPDX-License-Identifier: Apache-2.0
 * The token view: an answer as its tokens, tinted by probability, near ties underlined; the candidates of a token on hover
 * or focus. Arrow keys go from token to token. */
const NEAR_TIE = 0.1;          /* difference of log-probabilities below which a pick was nearly a tie */

/* What is shown of a token: its text, or its bytes where they are no whole character. */
function tokenText(entry) {
    if (!entry.token.includes("\ufffd") || !entry.bytes) return entry.token;
    return entry.bytes.map((b) => "\\x" + b.toString(16).toUpperCase().padStart(2, "0")).join("");
}

const visible = (text) => text.replace(/ /g, "\u00b7").replace(/\n/g, "\u21b5").replace(/\t/g, "\u21e5") || "(empty)";

/* Candidates, best first, the chosen one among them. */
function candidates(entry) {
    const list = (entry.top_logprobs || []).map((t) => ({ text: tokenText(t), logprob: t.logprob, chosen: t.token === entry.token }));
    if (!list.some((c) => c.chosen)) list.push({ text: tokenText(entry), logprob: entry.logprob, chosen: true });
    return list.sort((a, b) => b.logprob - a.logprob);
}

/* The server's tie margin in ulps where it reports one, else the difference of the best two log-probabilities. */
function margin(entry) {
    const list = candidates(entry);
    const nats = list.length > 1 ? list[0].logprob - list[1].logprob : null;
    if (typeof entry.margin === "number") return { text: `${count(entry.margin)} ulps`, near: nats !== null && nats < NEAR_TIE };
    if (nats === null) return { text: "unknown", near: false };
    return { text: `${nats.toFixed(3)} nats`, near: nats < NEAR_TIE };
}

const probability = (logprob) => {
    const p = 100 * Math.exp(logprob);
    return p >= 99.95 ? "100 %" : p >= 10 ? p.toFixed(1) + " %" : p >= 0.01 ? p.toFixed(2) + " %" : "< 0.01 %";
};

function tokenTint(logprob) {
    const p = Math.exp(logprob);
    return p >= 0.9 ? "p4" : p >= 0.6 ? "p3" : p >= 0.3 ? "p2" : p >= 0.1 ? "p1" : "p0";
}

function tokenNode(entry, first) {
    const m = margin(entry), text = tokenText(entry);
    const node = el("span", { class: "token " + tokenTint(entry.logprob) + (m.near ? " near" : ""), tabindex: first ? "0" : "-1", role: "button",
        "aria-label": `${visible(text)}, ${probability(entry.logprob)}, margin ${m.text}`, "aria-describedby": "tip" }, text.replace(/\n/g, "\u21b5"));
    node.entry = entry;
    return /\n$/.test(text) ? [node, el("br")] : [node];
}

/* Shows tokens in box, appending to what is already there. */
function renderTokens(box, tokens) {
    if (!box.list) {
        box.list = el("div", { class: "tokens", role: "group", "aria-label": "Tokens of the answer; arrow keys move" });
        box.shown = 0;
        const legend = ["p4", "p3", "p2", "p1", "p0"].map((p, i) =>
            el("span", { class: "token " + p }, ["\u2265 90 %", "\u2265 60 %", "\u2265 30 %", "\u2265 10 %", "< 10 %"][i]));
        box.append(el("p", { class: "note token-key" }, "Probability ", ...legend, " ", el("span", { class: "token near" }, "near tie")), box.list);
        bindTokens(box.list);
    }
    const fresh = tokens.slice(box.shown).flatMap((t, i) => tokenNode(t, box.shown + i === 0));
    fill(box.list, null, fresh);
    box.shown = tokens.length;
}

function bindTokens(list) {
    const of = (e) => (e.target.closest ? e.target.closest(".token") : null);
    list.addEventListener("pointerover", (e) => { if (of(e)) showTip(of(e)); });
    list.addEventListener("pointerleave", hideTip);
    list.addEventListener("focusin", (e) => { if (of(e)) showTip(of(e)); });
    list.addEventListener("focusout", hideTip);
    list.addEventListener("keydown", (e) => {
        const all = [...list.querySelectorAll(".token")], at = all.indexOf(of(e));
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[e.key];
        if (e.key === "Escape" && !$("tip").hidden) {
            hideTip();
            e.stopPropagation();
        }
        if (to === undefined || !all[to]) return;
        e.preventDefault();
        all[at].tabIndex = -1;
        all[to].tabIndex = 0;
        all[to].focus();
    });
}

function showTip(node) {
    const entry = node.entry, m = margin(entry), tip = $("tip");
    if (!entry) return;
    const rows = candidates(entry).map((c) => {
        const bar = svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "share", "aria-hidden": "true" },
            svg("rect", { width: Math.max(0.5, 100 * Math.exp(c.logprob)).toFixed(2), height: "8" }));
        return el("tr", { class: c.chosen ? "chosen" : null }, el("th", { scope: "row" }, visible(c.text)), el("td", null, bar),
            el("td", null, probability(c.logprob)), el("td", null, c.logprob.toFixed(3)));
    });
    tip.replaceChildren(el("table", null, el("tbody", null, ...rows)),
        el("p", null, "Margin of the best two: ", el("b", null, m.text), m.near ? " (near tie)" : ""));
    tip.hidden = false;
    const at = node.getClientRects()[0] || node.getBoundingClientRect(), box = tip.getBoundingClientRect();
    const below = at.bottom + 6 + box.height < innerHeight;
    tip.style.left = Math.max(8, Math.min(innerWidth - box.width - 8, at.left)) + "px";
    tip.style.top = Math.max(8, below ? at.bottom + 6 : at.top - box.height - 6) + "px";
}

function hideTip() {
    $("tip").hidden = true;
}
