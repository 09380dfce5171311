/* SPDX-License-Identifier: Apache-2.0
 * Markdown within a block: code, strong, emphasis, strikethrough, links, escapes (a subset of CommonMark 0.31 with
 * GitHub's strikethrough and bare links). A line's end is a break, as in GitHub's comments: models mean it so. Time is linear in the text, up to the nesting limit: a delimiter that
 * is once found to have no end is not looked for again. */
const INLINE_DEPTH = 6;
const DELIMITERS = [
    { mark: "**", tag: "strong" }, { mark: "__", tag: "strong", word: true }, { mark: "~~", tag: "del" },
    { mark: "*", tag: "em" }, { mark: "_", tag: "em", word: true },
];
const isBlank = (c) => c === "" || /\s/.test(c);
const isWord = (c) => c !== "" && /[\p{L}\p{N}]/u.test(c);

/* http, https and mailto only; null otherwise. */
function safeUrl(text) {
    if (!/^(https?:\/\/|mailto:)/i.test(text)) return null;
    try {
        const url = new URL(text);
        return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
    } catch {
        return null;
    }
}

function linkTo(href, children) {
    return el("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, children);
}

/* Position of the run of exactly n backticks at or after from; -1. */
function codeEnd(text, from, n) {
    for (let at = text.indexOf("`", from); at >= 0; at = text.indexOf("`", at)) {
        let end = at;
        while (text[end] === "`") end++;
        if (end - at === n) return at;
        at = end;
    }
    return -1;
}

function codeSpan(text, at, closed) {
    let n = 0;
    while (text[at + n] === "`") n++;
    const end = closed["`" + n] === false ? -1 : codeEnd(text, at + n, n);
    if (end < 0) {
        closed["`" + n] = false;
        return { node: text.slice(at, at + n), next: at + n };
    }
    let code = text.slice(at + n, end).replace(/\n/g, " ");
    if (code.length > 2 && code.startsWith(" ") && code.endsWith(" ") && code.trim()) code = code.slice(1, -1);
    return { node: el("code", null, code), next: end + n };
}

/* [text](target "title"): no brackets in the text, no blanks or brackets in the target. */
const LINK = /\[([^\[\]\n]{1,300})\]\(<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,500})?)>?(?:\s+"[^"\n]{0,300}")?\)/y;
const BARE = /https?:\/\/[^\s<>"'`]{1,2000}/y;

function link(text, at, depth) {
    LINK.lastIndex = at;
    const m = LINK.exec(text);
    const href = m && safeUrl(m[2]);
    return href ? { node: linkTo(href, inlineNodes(m[1], depth + 1)), next: at + m[0].length } : null;
}

function bareLink(text, at) {
    BARE.lastIndex = at;
    const m = BARE.exec(text);
    if (!m || isWord(text[at - 1] || "")) return null;
    const shown = m[0].replace(/[.,;:!?)\]}*_~]+$/, "");
    const href = safeUrl(shown);
    return href ? { node: linkTo(href, [shown]), next: at + shown.length } : null;
}

/* Where the closing mark stands: not after a blank, for _ not within a word; -1. */
function delimiterEnd(text, from, d) {
    for (let at = text.indexOf(d.mark, from); at >= 0; at = text.indexOf(d.mark, at + 1)) {
        if (isBlank(text[at - 1] || "") || text[at - 1] === "\\") continue;
        if (d.mark.length === 1 && (text[at + 1] === d.mark || text[at - 1] === d.mark)) continue;
        if (d.word && isWord(text[at + d.mark.length] || "")) continue;
        return d.mark.length === 2 && text[at + 2] === d.mark[0] ? at + 1 : at;        /* ***both*** */
    }
    return -1;
}

function emphasis(text, at, depth, closed) {
    for (const d of DELIMITERS) {
        if (!text.startsWith(d.mark, at) || closed[d.mark] === false) continue;
        if (isBlank(text[at + d.mark.length] || "") || (d.word && isWord(text[at - 1] || ""))) continue;
        const end = delimiterEnd(text, at + d.mark.length + 1, d);
        if (end < 0) {
            closed[d.mark] = false;
            continue;
        }
        const inner = inlineNodes(text.slice(at + d.mark.length, end), depth + 1);
        return { node: el(d.tag, null, inner), next: end + d.mark.length };
    }
    return null;
}

/* What begins at `at`; null: the character stands for itself. */
function inlineAt(text, at, depth, closed) {
    const c = text[at];
    if (c === "\\" && at + 1 < text.length) {
        if (text[at + 1] === "\n") return { node: el("br"), next: at + 2 };
        if (/[!-/:-@[-`{-~]/.test(text[at + 1])) return { node: text[at + 1], next: at + 2 };
        return null;
    }
    if (c === "`") return codeSpan(text, at, closed);
    if (c === "\n") return { node: el("br"), next: at + 1 };
    if (depth >= INLINE_DEPTH) return null;
    if (c === "[") return link(text, at, depth);
    if (c === "h" && text.startsWith("http", at)) return bareLink(text, at);
    if (c === "*" || c === "_" || c === "~") return emphasis(text, at, depth, closed);
    return null;
}

function inlineNodes(text, depth = 0) {
    const nodes = [], closed = {}, special = /[\\`\n[h*_~]/g;
    let plain = 0;
    for (let at = 0; at < text.length;) {
        special.lastIndex = at;
        const m = special.exec(text);
        if (!m) break;
        at = m.index;
        const found = inlineAt(text, at, depth, closed);
        if (!found) {
            at++;
            continue;
        }
        if (at > plain) nodes.push(text.slice(plain, at));
        nodes.push(found.node);
        plain = at = found.next;
    }
    if (plain < text.length) nodes.push(text.slice(plain));
    return nodes;
}
