// Scoring with one key: 0 to 5, or s for "cannot say".
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (!/^[0-5s]$/.test(event.key)) return;
  document.querySelector(`.anchors button[value="${event.key}"]`)?.click();
});
