/* SPDX-License-Identifier: Apache-2.0
 * The frame: connection and models, panel, theme, keys. */
const WIDE = matchMedia("(min-width: 1000px)");
const THEMES = ["system", "light", "dark"];

/* ---- connection ---- */
function showState(kind, text) {
    $("state").dataset.state = kind;
    if ($("state-text").textContent !== text) $("state-text").textContent = text;
}

async function connect() {
    clearTimeout(connect.timer);
    let wait = 0;
    try {
        const list = (await getJson("v1/models")).data || [];
        const chosen = $("model").value || settings.model || "";
        $("model").replaceChildren(...list.map((m) => el("option", { value: m.id, title: m.max_model_len ? `context of ${m.max_model_len} tokens` : null }, m.id)));
        if (list.some((m) => m.id === chosen)) $("model").value = chosen;
        modelChosen();
        showState("good", "Ready");
        engine.poll();
    } catch (e) {
        if (e.status === 401) showState("bad", "Key needed");
        else if (e.status === 503) showState("wait", "Loading");
        else showState("bad", e.status ? "Error " + e.status : "Offline");
        wait = e.status === 401 ? 0 : 3000;
    }
    if (wait) connect.timer = setTimeout(connect, wait);
}

function modelChosen() {
    const name = $("model").value;
    document.title = name ? name + " \u00b7 vllm.c" : "vllm.c";
    if (engine.model !== name) engine.clear();
    engine.model = name;
}

/* ---- panel: beside the conversation where there is room, over it elsewhere ---- */
function showTab(name) {
    for (const t of ["settings", "engine"]) {
        $(t).hidden = t !== name;
        $("tab-" + t).setAttribute("aria-selected", String(t === name));
        $("tab-" + t).tabIndex = t === name ? 0 : -1;
    }
    engine.poll();
}

function placePanel() {
    const over = !$("panel").hidden && !WIDE.matches;
    $("shade").hidden = !over;
    $("bar").inert = $("chat").inert = over;
    $("app").classList.toggle("with-panel", !$("panel").hidden);
    $("panel-button").setAttribute("aria-expanded", String(!$("panel").hidden));
}

function openPanel(tab) {
    $("panel").hidden = false;
    placePanel();
    if (tab) showTab(tab);
    else engine.poll();
}

function closePanel() {
    $("panel").hidden = true;
    placePanel();
    $("panel-button").focus();
}

function startPanel() {
    $("panel-button").addEventListener("click", () => {
        if (!$("panel").hidden) return closePanel();
        openPanel();
        if (!WIDE.matches) $("panel-close").focus();
    });
    $("panel-close").addEventListener("click", closePanel);
    $("shade").addEventListener("click", closePanel);
    WIDE.addEventListener("change", placePanel);
    for (const [tab, other] of [["settings", "engine"], ["engine", "settings"]]) {
        $("tab-" + tab).addEventListener("click", () => showTab(tab));
        $("tab-" + tab).addEventListener("keydown", (e) => {
            if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(e.key)) return;
            e.preventDefault();
            const to = e.key === "Home" ? "settings" : e.key === "End" ? "engine" : other;
            showTab(to);
            $("tab-" + to).focus();
        });
    }
    showTab("engine");
    if (WIDE.matches) openPanel();
}

/* ---- theme ---- */
function applyTheme(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    store.set("localStorage", "theme", theme === "system" ? null : theme);
    $("theme").setAttribute("aria-label", "Theme: " + (theme === "system" ? "as the system" : theme));
}

function startTheme() {
    applyTheme(document.documentElement.dataset.theme || "system");
    $("theme").addEventListener("click", () => {
        const now = document.documentElement.dataset.theme || "system";
        applyTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
        say($("theme").getAttribute("aria-label"));
    });
}

/* ---- composer and keys ---- */
function fitInput() {
    const input = $("input");
    input.style.height = "auto";
    input.style.height = Math.min(input.scrollHeight, 0.4 * innerHeight) + "px";
}

function sendInput() {
    if (!conversation.send($("input").value)) return;
    $("input").value = "";
    fitInput();
}

function startComposer() {
    $("composer").addEventListener("submit", (e) => {
        e.preventDefault();
        sendInput();
        $("input").focus();
    });
    $("input").addEventListener("input", fitInput);
    $("input").addEventListener("keydown", (e) => {
        if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
        e.preventDefault();
        sendInput();
    });
    $("stop").addEventListener("click", () => {
        conversation.stop();
        $("input").focus();
    });
    for (const b of $("ideas").children) b.addEventListener("click", () => {
        if (conversation.send(b.textContent)) $("input").focus();
    });
    $("new").addEventListener("click", () => {
        conversation.clear();
        say("New conversation");
    });
    document.addEventListener("keydown", (e) => {
        if (e.key !== "Escape") return;
        if (!$("shade").hidden) closePanel();
        else conversation.stop();
    });
    $("log").addEventListener("scroll", hideTip);
}

settings.start();
engine.start();
startTheme();
startPanel();
startComposer();
conversation.start();
$("model").addEventListener("change", () => {
    modelChosen();
    settings.save();
});
connect();
if (WIDE.matches) $("input").focus();
