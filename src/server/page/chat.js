/* SPDX-License-Identifier: Apache-2.0
 * The conversation: sending, streaming into the last message, stopping, asking again, editing. */
const conversation = {
    messages: [], views: new Map(), abort: null,

    busy: () => conversation.abort !== null,

    start() {
        this.actions = { busy: this.busy, regenerate: (m) => this.regenerate(m), edited: (m, text) => this.edited(m, text) };
        for (const m of this.messages) this.show(m);
        this.update();
    },

    show(m) {
        const view = new MessageView(m, this.actions);
        this.views.set(m, view);
        $("log").append(view.node);
        return view;
    },

    add(role, content) {
        const m = { role, content, reasoning: "", tokens: [], note: "", fault: "" };
        this.messages.push(m);
        this.show(m);
        return m;
    },

    /* Drops the messages from position i on. */
    cut(i) {
        for (const m of this.messages.splice(i)) {
            this.views.get(m).node.remove();
            this.views.delete(m);
        }
        hideTip();
    },

    clear() {
        this.stop();
        this.cut(0);
        this.update();
        settings.save();
        $("input").focus();
    },

    send(text) {
        if (this.busy() || !text.trim()) return false;
        const params = settings.params();
        if (!params) return false;
        this.add("user", text);
        this.answer(params);
        return true;
    },

    regenerate(m) {
        const params = this.busy() ? null : settings.params();
        if (!params) return;
        this.cut(this.messages.indexOf(m));
        this.answer(params);
        $("stop").focus();
    },

    edited(m, text) {
        const params = m.role === "user" ? settings.params() : null;
        m.content = text;
        if (m.role === "assistant") {
            Object.assign(m, { reasoning: "", tokens: [], note: "edited" });
            const view = this.views.get(m);
            if (!view.tokens.hidden) view.toggleTokens();
        }
        this.views.get(m).draw();
        if (params) {
            this.cut(this.messages.indexOf(m) + 1);
            this.answer(params);
        }
        settings.save();
    },

    stop() {
        if (this.abort) this.abort.abort();
    },

    /* What the model is asked: the system prompt and all messages, but for questions that got no answer: templates of many
     * models insist on turns that alternate. */
    prompt() {
        const system = $("system").value.trim();
        const unanswered = (m) => m && m.role === "assistant" && !m.content;
        const past = this.messages.filter((m, i) => m.content && !unanswered(this.messages[i + 1])).map((m) => ({ role: m.role, content: m.role === "assistant" ? splitThinking(m).content : m.content }));
        return system ? [{ role: "system", content: system }, ...past] : past;
    },

    async answer(params) {
        const messages = this.prompt();            /* before the empty answer is added */
        const body = { model: $("model").value || undefined, messages, stream: true, stream_options: { include_usage: true }, ...params };
        const m = this.add("assistant", "");
        const timing = { begun: performance.now(), first: 0, chunks: 0, usage: null, finish: "" };
        const abort = (this.abort = new AbortController());
        m.live = true;
        this.update();
        this.refresh(m, true);
        say("Answering");
        try {
            for await (const chunk of chat(body, abort.signal)) this.take(m, chunk, timing);
        } catch (e) {
            if (e.name === "AbortError" || abort.signal.aborted) timing.finish = "stopped";
            else m.fault = e.message;
            if ([0, 401, 503].includes(e.status)) connect();
        }
        m.live = false;
        m.note = this.figures(timing);
        this.abort = null;
        if (this.views.has(m)) this.views.get(m).draw();
        this.update();
        this.scroll(false);
        settings.save();
        say(m.fault ? "" : timing.finish === "stopped" ? "Stopped" : "Answer finished");
    },

    take(m, chunk, timing) {
        if (chunk.usage) timing.usage = chunk.usage;
        const choice = (chunk.choices || [])[0];
        if (!choice) return;
        const delta = choice.delta || {}, thought = delta.reasoning || delta.reasoning_content || "";
        if (delta.content) m.content += delta.content;
        if (thought) m.reasoning += thought;
        if (delta.content || thought) {
            timing.first = timing.first || performance.now();
            timing.last = performance.now();
            timing.chunks++;
        }
        const tokens = (choice.logprobs && choice.logprobs.content) || [];
        tokens.forEach((t, i) => m.tokens.push(Object.assign(t, { margin: (choice.margins || [])[i] })));
        if (choice.finish_reason) timing.finish = choice.finish_reason;
        this.refresh(m, false);
    },

    /* "48 tokens, 36.1 per second, first after 120 ms, cut at the limit" */
    figures({ begun, first, last, chunks, usage, finish }) {
        const parts = [], n = usage ? usage.completion_tokens : chunks;
        if (first) parts.push(`${n} ${usage ? "tokens" : "parts"}`);
        if (first && n > 1 && last > first) parts.push(`${count((1000 * (n - 1)) / (last - first))} per second`);
        if (first) parts.push(`first after ${seconds((first - begun) / 1000)}`);
        const why = { length: "cut at the limit", stopped: "stopped", content_filter: "filtered", tool_calls: "asks for a tool" }[finish];
        if (why) parts.push(why);
        return parts.join(", ");
    },

    /* At most one drawing a frame. */
    refresh(m, jump) {
        const follow = jump || this.atEnd();
        this.follow = this.follow || follow;
        if (this.frame) return;
        this.frame = requestAnimationFrame(() => {
            this.frame = 0;
            if (this.views.has(m) && m.live) this.views.get(m).draw();
            if (this.follow) this.scroll(true);
            this.follow = false;
        });
    },

    atEnd() {
        const log = $("log");
        return log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    },

    scroll(always) {
        if (always || this.atEnd()) $("log").scrollTop = $("log").scrollHeight;
    },

    update() {
        const busy = this.busy();
        $("empty").hidden = this.messages.length > 0;
        $("send").hidden = busy;
        $("stop").hidden = !busy;
        document.body.classList.toggle("busy", busy);
    },
};
