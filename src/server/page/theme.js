/* SPDX-License-Identifier: Apache-2.0
 * Before the first paint: the theme that was chosen, if any. */
"use strict";
(() => {
    let theme = null;
    try {
        theme = localStorage.getItem("vllmc.theme");
    } catch { /* storage is refused: as the system */ }
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
