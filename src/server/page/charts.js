/* SPDX-License-Identifier: Apache-2.0
 * Small line charts as inline SVG, and the panel of the engine's figures: polled while it is seen. */
const CHART_POINTS = 90, POLL_MS = 2000, QUANTILE_READINGS = 15, WIDTH = 300, HEIGHT = 64;

const count = (v) => (v >= 1e6 ? (v / 1e6).toFixed(1) + " M" : v >= 1e4 ? (v / 1e3).toFixed(1) + " k" : v >= 100 || Number.isInteger(v) ? v.toFixed(0) : v.toFixed(1));
const seconds = (v) => (v < 0.0995 ? (1e3 * v).toFixed(1) + " ms" : v < 1 ? (1e3 * v).toFixed(0) + " ms" : v.toFixed(2) + " s");
const percent = (v) => (v > 0 && v < 0.05 ? "< 0.1" : v < 10 ? v.toFixed(1) : v.toFixed(0)) + " %";

const CHARTS = [
    { id: "rate", title: "Tokens per second", format: count, least: 10, series: [["generated", "generated"], ["prompt", "prompt"]] },
    { id: "requests", title: "Requests", format: count, least: 4, series: [["running", "running"], ["waiting", "waiting"]] },
    { id: "kv", title: "KV cache in use", format: percent, least: 100, series: [["kv", "of all blocks"]] },
    { id: "first", title: "Time to first token", format: seconds, least: 0.01, series: [["first50", "p50"], ["first95", "p95"]] },
    { id: "between", title: "Time between tokens", format: seconds, least: 0.01, series: [["between50", "p50"], ["between95", "p95"]] },
];

/* The next of 1, 2, 5 times a power of ten. */
function ceiling(v) {
    const p = 10 ** Math.floor(Math.log10(v));
    return [1, 2, 5, 10].map((k) => k * p).find((x) => x >= v * 0.9999) || v;
}

class Chart {
    constructor(spec) {
        this.spec = spec;
        this.points = [];
        this.at = null;
        this.values = spec.series.map(() => el("b", null, "\u2013"));
        this.lines = spec.series.map((s, i) => svg("path", { class: "line s" + i, "vector-effect": "non-scaling-stroke" }));
        this.area = svg("path", { class: "area" });
        this.cursor = svg("path", { class: "cursor", "vector-effect": "non-scaling-stroke" });
        this.top = el("span", { class: "top", "aria-hidden": "true" });
        this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" },
            svg("path", { class: "base", d: `M0 ${HEIGHT - 0.5}H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 0.5H${WIDTH}`, "vector-effect": "non-scaling-stroke" }), this.area, ...this.lines, this.cursor);
        const legend = spec.series.map((s, i) => el("span", { class: "key" }, svg("svg", { viewBox: "0 0 18 6", class: "swatch", "aria-hidden": "true" },
            svg("path", { class: "line s" + i, d: "M0 3H18" })), s[1] + " ", this.values[i]));
        this.node = el("section", { class: "chart", id: "chart-" + spec.id, "aria-label": spec.title }, el("h3", null, spec.title), el("p", { class: "legend" }, ...legend),
            el("div", { class: "plot" }, this.picture, this.top));
        this.picture.addEventListener("pointermove", (e) => this.point(e));
        this.picture.addEventListener("pointerleave", () => { this.at = null; this.draw(); });
    }

    point(e) {
        const box = this.picture.getBoundingClientRect();
        const i = Math.round(((e.clientX - box.left) / box.width) * (CHART_POINTS - 1)) - (CHART_POINTS - this.points.length);
        this.at = this.points.length ? Math.max(0, Math.min(this.points.length - 1, i)) : null;
        this.draw();
    }

    x(i) {
        return ((CHART_POINTS - this.points.length + i) * WIDTH) / (CHART_POINTS - 1);
    }

    /* Path of a series; a point without a value interrupts it. */
    path(name, max) {
        let d = "", pen = false;
        this.points.forEach((p, i) => {
            const v = p[name];
            if (v === null) {
                pen = false;
                return;
            }
            d += `${pen ? "L" : "M"}${this.x(i).toFixed(1)} ${(HEIGHT - 1 - (HEIGHT - 2) * Math.min(1, v / max)).toFixed(1)}`;
            if (!pen && (i + 1 === this.points.length || this.points[i + 1][name] === null)) d += "h0.1";
            pen = true;
        });
        return d;
    }

    draw(points = this.points) {
        this.points = points;
        const { series, format, least, title } = this.spec;
        const all = points.flatMap((p) => series.map((s) => p[s[0]])).filter((v) => v !== null);
        const max = ceiling(Math.max(least, ...all));
        series.forEach((s, i) => this.lines[i].setAttribute("d", this.path(s[0], max)));
        const solid = points.length > 1 && points.every((p) => p[series[0][0]] !== null);
        const line = this.lines[0].getAttribute("d");
        this.area.setAttribute("d", solid ? `${line}V${HEIGHT}H${this.x(0).toFixed(1)}Z` : "");
        this.cursor.setAttribute("d", this.at === null ? "" : `M${this.x(this.at).toFixed(1)} 0V${HEIGHT}`);
        const shown = points.length ? points[this.at === null ? points.length - 1 : this.at] : null;
        const texts = series.map((s) => (shown && shown[s[0]] !== null ? format(shown[s[0]]) : "\u2013"));
        texts.forEach((t, i) => { this.values[i].textContent = t; });
        this.top.textContent = format(max);
        this.picture.setAttribute("aria-label", `${title}: ` + series.map((s, i) => `${s[1]} ${texts[i] === "\u2013" ? "no value" : texts[i]}`).join(", ") +
            `. The last ${Math.round((CHART_POINTS * POLL_MS) / 60000)} minutes, scale to ${format(max)}.`);
    }
}

const engine = {
    charts: [], points: [], readings: [], timer: 0, model: "",

    start() {
        this.charts = CHARTS.map((c) => new Chart(c));
        $("charts").append(...this.charts.map((c) => c.node));
        this.charts.forEach((c) => c.draw());
        document.addEventListener("visibilitychange", () => this.poll());
    },

    seen: () => $("state").dataset.state === "good" && !$("engine").hidden && !$("panel").hidden && !document.hidden,

    /* Reads and draws now, and again while the panel is seen. */
    async poll() {
        clearTimeout(this.timer);
        if (!this.seen()) return;
        const mine = (this.turn = (this.turn || 0) + 1);
        try {
            const text = await getText("metrics");
            if (mine !== this.turn) return;
            this.take(parseMetrics(text), performance.now() / 1000);
            $("engine-note").textContent = "";
        } catch (e) {
            if (mine !== this.turn) return;
            $("engine-note").textContent = "The figures could not be read: " + e.message;
            this.timer = setTimeout(connect, POLL_MS);     /* says what is the matter, and polls again when all is well */
            return;
        }
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.poll(), POLL_MS);
    },

    take(metrics, now) {
        const last = reading(metrics, this.model, now);
        const previous = this.readings[this.readings.length - 1];
        if (previous && now - previous.time > (5 * POLL_MS) / 1000) this.clear();
        this.points.push(chartPoint(last, this.readings[this.readings.length - 1], this.readings[0]));
        this.readings.push(last);
        if (this.readings.length > QUANTILE_READINGS) this.readings.shift();
        if (this.points.length > CHART_POINTS) this.points.shift();
        this.charts.forEach((c) => c.draw(this.points));
        this.facts(metrics);
    },

    clear() {
        this.points.length = 0;
        this.readings.length = 0;
    },

    facts(metrics) {
        const sum = (name) => total(metrics, name, this.model);
        const config = (samplesOf(metrics, "vllm:cache_config_info", this.model)[0] || { labels: {} }).labels;
        const queries = sum("vllm:prefix_cache_queries_total"), hits = sum("vllm:prefix_cache_hits_total");
        const rows = [
            ["Tokens generated", sum("vllm:generation_tokens_total"), count],
            ["Prompt tokens", sum("vllm:prompt_tokens_total"), count],
            ["Prefix cache hits", queries ? (100 * (hits || 0)) / queries : null, percent],
            ["Preemptions", sum("vllm:num_preemptions_total"), count],
            ["KV blocks", Number(config.num_gpu_blocks) > 0 ? Number(config.num_gpu_blocks) : null, (v) => `${v} \u00d7 ${config.block_size || "?"} tokens`],
            ["Memory of the process", sum("process_resident_memory_bytes"), (v) => (v / 2 ** 30).toFixed(2) + " GiB"],
        ];
        $("facts").replaceChildren(...rows.filter((r) => r[1] !== null).flatMap((r) => [el("dt", null, r[0]), el("dd", null, r[2](r[1]))]));
    },
};
