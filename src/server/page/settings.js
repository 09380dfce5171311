/* SPDX-License-Identifier: Apache-2.0
 * The settings pane: what goes into a request beside the messages, and what is kept in this browser. The API key lives in
 * sessionStorage; the theme in localStorage; everything else is stored only if "keep" is on. */
const FIELDS = [
    { name: "temperature", label: "Temperature", min: 0, max: 2, step: 0.1 },
    { name: "top_p", label: "Top p", min: 0, max: 1, step: 0.05, above: true },
    { name: "top_k", label: "Top k", min: -1, max: 1e6, step: 1, whole: true },
    { name: "min_p", label: "Min p", min: 0, max: 1, step: 0.01 },
    { name: "max_tokens", label: "Most tokens", min: 1, max: 1e7, step: 1, whole: true },
    { name: "seed", label: "Seed", min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, whole: true },
];

/* What is wrong with a field's text; "" if nothing is. */
function fieldFault(f, input) {
    const text = input.value.trim();
    if (input.validity.badInput) return "not a number";
    if (!text) return "";
    const v = Number(text);
    if (!Number.isFinite(v)) return "not a number";
    if (f.whole && !Number.isInteger(v)) return "a whole number";
    if (v < f.min || v > f.max || (f.above && v <= f.min)) return `${f.above ? "above " : ""}${f.min} to ${f.max >= 1e6 ? "any" : f.max}`;
    return "";
}

function checkField(f) {
    const input = $("f-" + f.name), fault = fieldFault(f, input);
    input.setAttribute("aria-invalid", fault ? "true" : "false");
    $("e-" + f.name).textContent = fault;
    return !fault;
}

const settings = {
    start() {
        for (const f of FIELDS) {
            const input = el("input", { id: "f-" + f.name, type: "number", min: f.min, max: f.max, step: f.whole ? 1 : "any", inputmode: f.whole ? "numeric" : "decimal",
                placeholder: "default", autocomplete: "off", "aria-describedby": `e-${f.name} sampling-note`, oninput: () => checkField(f) });
            $("sampling").append(el("div", { class: "cell" }, el("label", { for: "f-" + f.name }, f.label), input, el("small", { class: "fault", id: "e-" + f.name })));
        }
        $("key").value = store.get("sessionStorage", "key") || "";
        $("key").addEventListener("change", () => {
            store.set("sessionStorage", "key", $("key").value.trim() || null);
            connect();
        });
        $("sampling-reset").addEventListener("click", () => {
            FIELDS.forEach((f) => { $("f-" + f.name).value = ""; });
            FIELDS.forEach(checkField);
            this.save();
            say("Sampling fields cleared");
        });
        $("settings").addEventListener("submit", (e) => e.preventDefault());
        $("settings").addEventListener("change", () => this.save());
        this.load();
    },

    /* Fields of the request that are set; null where one is wrong (it has the focus then). */
    params() {
        const out = {};
        for (const f of FIELDS) {
            if (!checkField(f)) {
                openPanel("settings");
                $("f-" + f.name).focus();
                return null;
            }
            const text = $("f-" + f.name).value.trim();
            if (text) out[f.name] = Number(text);
        }
        if ($("probs").checked) Object.assign(out, { logprobs: true, top_logprobs: 5, return_margin: true });
        return out;
    },

    save() {
        if (!$("keep").checked) {
            store.set("localStorage", "kept", null);
            return;
        }
        const fields = Object.fromEntries(FIELDS.map((f) => [f.name, $("f-" + f.name).value]));
        const messages = conversation.messages.map(({ role, content, reasoning, note }) => ({ role, content, reasoning, note }));
        const kept = { system: $("system").value, probs: $("probs").checked, fields, messages, model: $("model").value };
        if (!store.set("localStorage", "kept", JSON.stringify(kept))) say("The browser refused to keep the conversation");
    },

    load() {
        let kept = null;
        try {
            kept = JSON.parse(store.get("localStorage", "kept"));
        } catch { /* not ours: as if nothing was kept */ }
        if (!kept || typeof kept !== "object") return;
        const text = (v) => (typeof v === "string" ? v : "");
        $("keep").checked = true;
        $("system").value = text(kept.system);
        $("probs").checked = kept.probs !== false;
        this.model = text(kept.model);
        for (const f of FIELDS) $("f-" + f.name).value = text((kept.fields || {})[f.name]);
        for (const m of Array.isArray(kept.messages) ? kept.messages : []) {
            if (m && (m.role === "user" || m.role === "assistant")) {
                conversation.messages.push({ role: m.role, content: text(m.content), reasoning: text(m.reasoning), note: text(m.note), tokens: [] });
            }
        }
    },
};
