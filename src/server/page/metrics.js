/* SPDX-License-Identifier: Apache-2.0
 * Prometheus' text format, and what the charts show of it: rates and quantiles between two readings of /metrics. */

/* Map from name to [{ labels, value }]; lines that are not samples are passed over. */
function parseMetrics(text) {
    const out = new Map();
    for (const line of text.split("\n")) {
        const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/.exec(line);
        if (!m) continue;
        const labels = {};
        for (const l of (m[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[l[1]] = l[2].replace(/\\n/g, "\n").replace(/\\(["\\])/g, "$1");
        if (!out.has(m[1])) out.set(m[1], []);
        out.get(m[1]).push({ labels, value: Number(m[3].replace("+Inf", "Infinity")) });
    }
    return out;
}

/* Samples of a name that belong to the model; all of them where none names it. */
function samplesOf(metrics, name, model) {
    const all = metrics.get(name) || [];
    const own = all.filter((s) => s.labels.model_name === model);
    return own.length ? own : all;
}

/* The sum over engines; null where the name is absent. */
function total(metrics, name, model) {
    const list = samplesOf(metrics, name, model);
    return list.length ? list.reduce((sum, s) => sum + s.value, 0) : null;
}

/* Cumulative counts by upper bound, ascending: [[le, count], ...] */
function buckets(metrics, name, model) {
    const by = new Map();
    for (const s of samplesOf(metrics, name + "_bucket", model)) {
        const le = Number(String(s.labels.le).replace("+Inf", "Infinity"));
        by.set(le, (by.get(le) || 0) + s.value);
    }
    return [...by].sort((a, b) => a[0] - b[0]);
}

/* Quantile q of what was added between two readings, as Prometheus' histogram_quantile: linear within a bucket, the last
 * finite bound beyond it. null: nothing was added. */
function quantile(q, before, after) {
    const old = new Map(before);
    const added = after.map(([le, n]) => [le, n - (old.get(le) || 0)]);
    const count = added.length ? added[added.length - 1][1] : 0;
    if (!(count > 0)) return null;
    const rank = q * count;
    let low = 0, below = 0;
    for (const [le, n] of added) {
        if (n >= rank) return le === Infinity ? low : low + (le - low) * (n > below ? (rank - below) / (n - below) : 1);
        low = le;
        below = n;
    }
    return low;
}

/* One reading, as the charts need it. */
function reading(metrics, model, now) {
    return {
        time: now,
        generated: total(metrics, "vllm:generation_tokens_total", model),
        prompt: total(metrics, "vllm:prompt_tokens_total", model),
        running: total(metrics, "vllm:num_requests_running", model),
        waiting: total(metrics, "vllm:num_requests_waiting", model),
        kv: total(metrics, "vllm:kv_cache_usage_perc", model),
        first: buckets(metrics, "vllm:time_to_first_token_seconds", model),
        between: buckets(metrics, "vllm:inter_token_latency_seconds", model),
    };
}

/* A point of the charts from the newest reading, the one before, and the oldest of the window of the quantiles. */
function chartPoint(last, previous, oldest) {
    const rate = (name) => {
        const seconds = previous ? last.time - previous.time : 0;
        if (!(seconds > 0) || last[name] === null || previous[name] === null) return null;
        return Math.max(0, last[name] - previous[name]) / seconds;           /* a restart counts from 0 again */
    };
    const latency = (name, q) => (oldest ? quantile(q, oldest[name], last[name]) : null);
    return {
        time: last.time, running: last.running, waiting: last.waiting, kv: last.kv === null ? null : 100 * last.kv,
        generated: rate("generated"), prompt: rate("prompt"),
        first50: latency("first", 0.5), first95: latency("first", 0.95), between50: latency("between", 0.5), between95: latency("between", 0.95),
    };
}
