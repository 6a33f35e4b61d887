// Suggests names while the user types, and applies filters as soon as they are chosen.
const WAIT_MS = 120;
const base = document.body.dataset.base;
const box = document.getElementById("query");
const names = document.getElementById("names");
const filters = document.getElementById("filters");
let waiting = 0;
let asked;

async function suggest() {
  const start = box.value.split(/\s/).pop();
  asked?.abort();
  asked = new AbortController();
  if (!start || start.includes(":")) {
    names.replaceChildren();
    return;
  }
  try {
    const address = `${base}/api/v14/interactive/suggestions?query=${encodeURIComponent(start)}`;
    const answer = await fetch(address, { signal: asked.signal });
    if (!answer.ok) return;
    const before = box.value.slice(0, box.value.length - start.length);
    names.replaceChildren(...(await answer.json()).map((name) => new Option(before + name)));
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

box.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(suggest, WAIT_MS);
});
filters.addEventListener("change", (event) => {
  if (event.target.type === "checkbox") event.target.form.requestSubmit();
});
document.querySelector("select[name=sort]")?.addEventListener("change", (event) => event.target.form.requestSubmit());
// On a narrow screen the results come first.
if (matchMedia("(max-width: 44rem)").matches) filters.open = false;
