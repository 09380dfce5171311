/* SPDX-License-Identifier: Apache-2.0
 * Markdown in blocks: headings, paragraphs, fenced code, lists, quotes, tables, rules (a subset of CommonMark 0.31 with
 * GitHub's tables). A text that grows is rendered again only from its last unfinished block on. */
const BLOCK_DEPTH = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?=\s|$)/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:\s+|$)/;
const QUOTE = /^ {0,3}> ?/;
const TABLE_RULE = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

const indentOf = (line) => line.length - line.trimStart().length;

/* A line of the same marks, at least as many, and nothing else. */
function closesFence(line, marks) {
    const text = line.trim();
    return indentOf(line) < 4 && text.length >= marks.length && text === marks[0].repeat(text.length);
}

/* Number of lines of the block that begins at line i, which is not blank. */
function blockLength(lines, i) {
    const fence = FENCE.exec(lines[i]);
    if (fence) {
        let n = 1;
        while (i + n < lines.length && !closesFence(lines[i + n], fence[1])) n++;
        return Math.min(n + 1, lines.length - i);
    }
    if (HEADING.test(lines[i]) || RULE.test(lines[i])) return 1;
    if (ITEM.test(lines[i])) return listLength(lines, i);
    if (QUOTE.test(lines[i])) return runLength(lines, i, (l) => QUOTE.test(l));
    if (isTable(lines, i)) return runLength(lines, i, (l) => l.trim() && l.includes("|"));
    return runLength(lines, i, (l, k) => l.trim() && (k === i || !startsBlock(l)));
}

function runLength(lines, i, test) {
    let n = 1;
    while (i + n < lines.length && test(lines[i + n], i + n)) n++;
    return n;
}

/* A line that ends a paragraph. A number other than 1 does not (CommonMark 5.3). */
function startsBlock(line) {
    const item = ITEM.exec(line);
    if (item) return item[0].trim() !== line.trim() && (!/\d/.test(item[2]) || parseInt(item[2], 10) === 1);
    return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line);
}

/* A list ends at a line that is not indented, after a blank one, and no item of the same kind. */
function listLength(lines, i) {
    const kind = listKind(lines[i]);
    let n = 1, blank = false;
    for (; i + n < lines.length; n++) {
        const line = lines[i + n];
        if (!line.trim()) {
            blank = true;
            continue;
        }
        const same = listKind(line) === kind && !RULE.test(line);
        if (!same && indentOf(line) < 2 && (blank || startsBlock(line))) break;
        blank = false;
    }
    while (!lines[i + n - 1].trim()) n--;
    return n;
}

function listKind(line) {
    const m = ITEM.exec(line);
    return m ? m[2].slice(-1) : "";
}

const isTable = (lines, i) => lines[i].includes("|") && i + 1 < lines.length && lines[i + 1].includes("-") && TABLE_RULE.test(lines[i + 1]) &&
    tableCells(lines[i]).length === tableCells(lines[i + 1]).length;

/* Cells of a row: | divides, \| and a | within `code` does not. */
function tableCells(row) {
    const cells = [];
    let cell = "", code = false;
    const text = row.trim().replace(/^\|/, "").replace(/([^\\])\|$/, "$1");
    for (let i = 0; i < text.length; i++) {
        if (text[i] === "\\" && text[i + 1] === "|") {
            cell += "|";
            i++;
        } else if (text[i] === "|" && !code) {
            cells.push(cell.trim());
            cell = "";
        } else {
            if (text[i] === "`") code = !code;
            cell += text[i];
        }
    }
    cells.push(cell.trim());
    return cells;
}

function headingBlock(line, m) {
    let text = line.slice(m[0].length).trim();
    const end = text.length - text.replaceAll("#", " ").trimEnd().length;      /* closing marks, after a blank */
    if (end && (end === text.length || text[text.length - end] === " ")) text = text.slice(0, text.length - end);
    return el("h" + Math.min(6, m[1].length + 2), null, inlineNodes(text.trim()));
}

/* What a fenced block holds, up to a closing fence or the end of what is there. */
function fencedCode(lines) {
    const m = FENCE.exec(lines[0]);
    const indent = indentOf(lines[0]);
    const closed = lines.length > 1 && closesFence(lines[lines.length - 1], m[1]);
    const body = lines.slice(1, closed ? -1 : undefined).map((l) => l.slice(Math.min(indent, indentOf(l))));
    return body.join("\n");
}

function codeBlock(lines) {
    const code = el("code", null, fencedCode(lines));
    const m = FENCE.exec(lines[0]);
    const lang = m[2].trim().split(/\s/)[0].slice(0, 40);
    const copy = el("button", { type: "button", class: "quiet", "aria-label": "Copy code", onclick: (e) => copyText(code.textContent, e.currentTarget) }, "Copy");
    return el("div", { class: "code" }, el("div", { class: "code-head" }, el("span", null, lang || "text"), copy),
        el("pre", { tabindex: "0", role: "region", "aria-label": lang ? "Code, " + lang : "Code" }, code));
}

/* Items of a list as arrays of lines without the marker and its indentation. */
function listItems(lines) {
    const kind = listKind(lines[0]), items = [];
    let width = 0;
    for (const line of lines) {
        const m = ITEM.exec(line);
        if (m && listKind(line) === kind && (!items.length || indentOf(line) < Math.max(width, 2))) {
            width = m[0].trim() === line.trim() ? m[1].length + m[2].length + 1 : Math.min(m[0].length, m[1].length + m[2].length + 4);
            items.push([line.slice(width)]);
        } else {
            items[items.length - 1].push(line.slice(Math.min(width, indentOf(line))));
        }
    }
    return items;
}

function listBlock(lines, depth) {
    const first = ITEM.exec(lines[0]);
    const ordered = /\d/.test(first[2]);
    const start = ordered ? parseInt(first[2], 10) : 1;
    const list = el(ordered ? "ol" : "ul", { start: start !== 1 ? start : null });
    const items = listItems(lines);
    const loose = items.some((item) => item.slice(0, -1).some((l) => !l.trim()));
    for (const item of items) {
        const li = el("li");
        blocksInto(li, item, depth + 1, !loose);
        list.append(li);
    }
    return list;
}

function tableBlock(lines) {
    const align = tableCells(lines[1]).map((c) => (c.endsWith(":") ? (c.startsWith(":") ? "center" : "right") : ""));
    const row = (line, tag) => el("tr", null, tableCells(line).slice(0, align.length).map((c, i) =>
        el(tag, { class: align[i] || null, scope: tag === "th" ? "col" : null }, inlineNodes(c))));
    return el("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" },
        el("table", null, el("thead", null, row(lines[0], "th")), el("tbody", null, lines.slice(2).map((l) => row(l, "td")))));
}

/* The node of one block, given as its lines. tight: paragraphs of a list without blank lines have no element of their own. */
function blockNode(lines, depth, tight) {
    const heading = HEADING.exec(lines[0]);
    if (FENCE.test(lines[0])) return codeBlock(lines);
    if (heading) return headingBlock(lines[0], heading);
    if (RULE.test(lines[0])) return el("hr");
    if (depth < BLOCK_DEPTH && ITEM.test(lines[0])) return listBlock(lines, depth);
    if (depth < BLOCK_DEPTH && QUOTE.test(lines[0])) {
        const quote = el("blockquote");
        blocksInto(quote, lines.map((l) => l.replace(QUOTE, "")), depth + 1, false);
        return quote;
    }
    if (isTable(lines, 0)) return tableBlock(lines);
    return el(tight ? "span" : "p", null, inlineNodes(lines.map((l) => l.trimStart()).join("\n").trimEnd()));
}

function blocksInto(node, lines, depth, tight) {
    for (let i = 0; i < lines.length;) {
        if (!lines[i].trim()) {
            i++;
            continue;
        }
        const n = blockLength(lines, i);
        node.append(blockNode(lines.slice(i, i + n), depth, tight));
        i += n;
    }
}

/* Makes node show text. Blocks whose source did not change since the last call keep their nodes. */
function renderMarkdown(node, text) {
    const lines = text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
    const before = node.blocks || [], blocks = [];
    for (let i = 0; i < lines.length;) {
        if (!lines[i].trim()) {
            i++;
            continue;
        }
        const n = blockLength(lines, i), part = lines.slice(i, i + n), source = part.join("\n");
        const old = before[blocks.length];
        if (old && old.source === source) {
            blocks.push(old);
        } else if (old && FENCE.test(part[0]) && old.source.split("\n", 1)[0] === part[0]) {
            old.node.querySelector("code").textContent = fencedCode(part);     /* keeps focus and scroll position */
            old.source = source;
            blocks.push(old);
        } else {
            const made = blockNode(part, 0, false);
            if (old) old.node.replaceWith(made);
            else node.append(made);
            blocks.push({ source, node: made });
        }
        i += n;
    }
    for (const old of before.slice(blocks.length)) old.node.remove();
    node.blocks = blocks;
}
