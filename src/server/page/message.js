/* SPDX-License-Identifier: Apache-2.0
 * One message as the page shows it: its text, reasoning, tokens, figures, and what can be done with it. */

/* Reasoning that came within the text, where the server has no parser for it: <think>...</think> at the beginning. */
function splitThinking(m) {
    const begin = /^\s*<think>/.exec(m.content);
    if (m.reasoning || !begin) return { reasoning: m.reasoning || "", content: m.content };
    const end = m.content.indexOf("</think>");
    if (end < 0) return { reasoning: m.content.slice(begin[0].length), content: "" };
    return { reasoning: m.content.slice(begin[0].length, end), content: m.content.slice(end + 8) };
}

class MessageView {
    constructor(message, actions) {
        this.message = message;
        this.actions = actions;
        const mine = message.role === "user";
        this.body = el("div", { class: "body" });
        this.thoughts = el("div", { class: "thoughts" });
        this.summary = el("summary", null, "Reasoning");
        this.details = el("details", { class: "reasoning", hidden: true }, this.summary, this.thoughts);
        this.tokens = el("div", { class: "token-view", hidden: true });
        this.note = el("p", { class: "figures" });
        this.fault = el("div", { class: "fault-box", role: "alert", hidden: true });
        this.tools = el("div", { class: "tools", role: "group", "aria-label": mine ? "Message" : "Answer" });
        this.node = el("article", { class: "msg " + message.role, "aria-label": mine ? "You" : "Answer" }, this.details, this.body, this.tokens, this.fault,
            el("footer", null, this.note, this.tools));
        this.ofText = [this.button("Copy", (b) => copyText(splitThinking(this.message).content, b)), this.button("Edit", () => this.edit())];
        if (!mine) {
            this.button("Regenerate", () => actions.regenerate(message));
            this.tokenButton = this.button("Tokens", () => this.toggleTokens());
            this.tokenButton.setAttribute("aria-pressed", "false");
        }
        this.draw();
    }

    button(text, run) {
        const b = el("button", { type: "button", class: "quiet", onclick: (e) => run(e.currentTarget) }, text);
        this.tools.append(b);
        return b;
    }

    draw() {
        const m = this.message, parts = splitThinking(m);
        this.details.hidden = !parts.reasoning.trim();
        if (parts.reasoning) {
            renderMarkdown(this.thoughts, parts.reasoning);
            const thinking = m.live && !parts.content.trim();
            if (thinking !== this.thinking) this.details.open = thinking;
            this.thinking = thinking;
            this.summary.textContent = thinking ? "Reasoning\u2026" : "Reasoning";
        }
        if (m.role === "user") this.body.textContent = m.content;
        else renderMarkdown(this.body, parts.content);
        this.node.classList.toggle("live", Boolean(m.live));
        this.node.setAttribute("aria-busy", m.live ? "true" : "false");
        this.note.textContent = m.note || "";
        this.fault.hidden = !m.fault;
        this.fault.textContent = m.fault || "";
        this.tools.hidden = Boolean(m.live);
        for (const b of this.ofText) b.hidden = !m.content;
        if (this.tokenButton) this.tokenButton.hidden = !m.tokens.length;
        if (!this.tokens.hidden) renderTokens(this.tokens, m.tokens);
    }

    toggleTokens() {
        const show = this.tokens.hidden;
        this.tokens.hidden = !show;
        this.body.hidden = show;
        this.tokenButton.setAttribute("aria-pressed", String(show));
        if (show) renderTokens(this.tokens, this.message.tokens);
        else hideTip();
    }

    edit() {
        if (this.editor || this.actions.busy()) return;
        const m = this.message, mine = m.role === "user";
        const area = el("textarea", { "aria-label": mine ? "Edit your message" : "Edit the answer", rows: Math.min(16, 2 + m.content.split("\n").length) });
        const close = () => {
            this.editor.remove();
            this.editor = null;
            this.body.hidden = !this.tokens.hidden;
            this.tools.hidden = false;
        };
        const save = () => {
            const text = area.value.trim();
            if (!text || this.actions.busy()) return;
            close();
            this.actions.edited(m, text);
            this.ofText[1].focus();
        };
        area.value = m.content;
        area.addEventListener("keydown", (e) => {
            if (e.key === "Escape") {
                e.stopPropagation();
                close();
                this.ofText[1].focus();
            } else if (e.key === "Enter" && !e.shiftKey && !e.isComposing && mine) {
                e.preventDefault();
                save();
            }
        });
        this.editor = el("div", { class: "editor" }, area, el("div", { class: "row" },
            el("button", { type: "button", class: "primary", onclick: save }, mine ? "Send" : "Save"), el("button", { type: "button", class: "quiet", onclick: close }, "Cancel")));
        this.body.hidden = true;
        this.tools.hidden = true;
        this.body.before(this.editor);
        area.focus();
    }
}
