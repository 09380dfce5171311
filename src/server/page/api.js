/* SPDX-License-Identifier: Apache-2.0
 * The server's API. Paths are relative, so that a prefix added by a proxy stays. */
class ApiError extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

function headers(more) {
    const key = $("key").value.trim();
    return { ...more, ...(key ? { Authorization: "Bearer " + key } : {}) };
}

/* The message of an answer that is no success: vLLM's, FastAPI's, or the status alone. */
async function failure(response) {
    let text = "";
    try {
        const body = JSON.parse(await response.text());
        text = (body.error && (body.error.message || body.error)) || body.detail || "";
    } catch { /* no JSON: the status says it */ }
    if (typeof text !== "string") text = JSON.stringify(text);
    if (response.status === 401) text = "The server asks for an API key (panel, Settings).";
    return new ApiError(response.status, text || `The server answered ${response.status} ${response.statusText}.`);
}

async function request(path, options) {
    let response;
    try {
        response = await fetch(path, { cache: "no-store", credentials: "omit", ...options });
    } catch (e) {
        if (e.name === "AbortError") throw e;
        throw new ApiError(0, "The server cannot be reached.");
    }
    if (!response.ok) throw await failure(response);
    return response;
}

const getText = async (path) => (await request(path, { headers: headers() })).text();
const getJson = async (path) => (await request(path, { headers: headers() })).json();

/* Data of server-sent events, one string each (WHATWG HTML 9.2.6; only data fields matter here). */
async function* events(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "", data = [];
    for (;;) {
        const { value, done } = await reader.read();
        rest += done ? "\n" : value;
        const lines = rest.split(/\r\n|\n|\r(?!$)/);
        rest = lines.pop();
        for (const line of lines) {
            if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
            else if (line === "" && data.length) {
                yield data.join("\n");
                data = [];
            }
        }
        if (done) break;
    }
    if (data.length) yield data.join("\n");
}

/* Parsed chunks of a streamed chat completion. Throws what the server reports within the stream. */
async function* chat(body, signal) {
    const response = await request("v1/chat/completions", {
        method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body), signal,
    });
    for await (const data of events(response.body)) {
        if (data === "[DONE]") return;
        const chunk = JSON.parse(data);
        if (chunk.error) throw new ApiError(chunk.error.code || 0, chunk.error.message || String(chunk.error));
        yield chunk;
    }
    throw new ApiError(0, "The connection ended before the answer did.");
}
