// What plain links cannot do: keys, the theme, a form that sends itself, and a region that follows a run.
"use strict";

const root = document.documentElement;
root.classList.add("script");

// The theme before anything is drawn: "light", "dark", or nothing for what the system says.
const THEMES = ["", "light", "dark"];
function stored() {
  try { return localStorage.getItem("theme") || ""; } catch { return ""; }
}
function setTheme(theme) {
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  try { localStorage.setItem("theme", theme); } catch { /* a browser that keeps nothing still shows it */ }
  const button = document.getElementById("theme");
  if (button) button.textContent = `Theme: ${theme || "auto"}`;
}
setTheme(stored());

let here = -1;
const rows = () => [...document.querySelectorAll("[data-row]")];

function move(step) {
  const all = rows();
  if (!all.length) return;
  all[here]?.classList.remove("here");
  here = Math.min(all.length - 1, Math.max(0, here + step));
  all[here].classList.add("here");
  all[here].focus({ preventScroll: true });
  all[here].scrollIntoView({ block: "nearest" });
}

function help(open) {
  const dialog = document.getElementById("help");
  if (open && !dialog.open) dialog.showModal();
  if (!open && dialog.open) dialog.close();
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  n: () => document.querySelector("a[rel=next]")?.click(),
  p: () => document.querySelector("a[rel=prev]")?.click(),
  "/": () => document.getElementById("find")?.focus(),
  "?": () => help(true),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "Escape" && typing) typing.blur();
  if (typing || document.getElementById("help").open) return;
  const row = event.target.closest("[data-row]");
  if (event.key === "Enter" && row && event.target === row) row.querySelector("a")?.click();
  if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
}

// Whoever points at a number reads what it is: a cell has the explanation of its column, a figure that of its name.
function explain(event) {
  const cell = event.target.closest("td, dd");
  if (!cell || event.target.closest("[title]")) return;
  const name = cell.matches("td") ? cell.closest("table").tHead?.rows[0].cells[cell.cellIndex] : cell.previousElementSibling;
  cell.title = name?.title || name?.querySelector("[title]")?.title || "";
}

// A region that follows a run: when the stream says that something changed, the page is asked for again and the region
// taken from it. It is the server's own page, parsed as a document whose scripts never run.
async function refresh(region) {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById(region.id);
  if (!fresh) return;
  const open = [...region.querySelectorAll("details")].map((one) => one.open);
  [...fresh.querySelectorAll("details")].forEach((one, i) => { if (open[i]) one.open = true; });
  // Whoever is on a link or a row of it stays there: what is new has the same address.
  const focused = region.contains(document.activeElement) && address(document.activeElement);
  const marked = rows()[here] && address(rows()[here]);
  region.replaceChildren(...fresh.childNodes);
  here = marked ? rows().findIndex((one) => address(one) === marked) : -1;
  rows()[here]?.classList.add("here");
  if (focused) [...region.querySelectorAll("a, [data-row]")].find((one) => address(one) === focused)?.focus({ preventScroll: true });
}

function address(element) {
  const row = element.matches("[data-row]") ? "row " : "";
  return row + (element.closest("a") || element.querySelector("a"))?.getAttribute("href");
}

function follow(region) {
  const source = new EventSource(region.dataset.stream);
  let busy = false, again = false;
  async function changed() {
    if (busy) { again = true; return; }
    busy = true;
    // No other change may come that would try again: the run may be over.
    try { await refresh(region); } catch { setTimeout(changed, 5000); }
    busy = false;
    if (again) { again = false; changed(); }
  }
  source.addEventListener("change", changed);
  source.addEventListener("over", () => { source.close(); changed(); });
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(region), 10000); };
}

document.addEventListener("keydown", onKey);
document.addEventListener("mouseover", explain);
document.addEventListener("DOMContentLoaded", () => {
  setTheme(stored());
  document.getElementById("theme")?.addEventListener("click", () => {
    setTheme(THEMES[(THEMES.indexOf(stored()) + 1) % THEMES.length]);
  });
  document.getElementById("keys")?.addEventListener("click", () => help(true));
  document.querySelectorAll("[data-submit]").forEach((one) => one.addEventListener("change", () => one.form.submit()));
  document.querySelectorAll("[data-stream]").forEach(follow);
});
