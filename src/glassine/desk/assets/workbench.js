// The workbench: files that are dropped, the slider, the dial and the editor.
import {ask, say, screen, show, text, ticket} from "/assets/desk.js";

async function send(files) {
  for (const file of files) {
    say(text("copying", file.name));
    try {
      await ask("PUT", `files/${encodeURIComponent(file.name)}`, file);
      say(text("copied", file.name));
    } catch (error) { say(error.message); }
  }
}

document.addEventListener("dragover", event => { if (screen.querySelector("#drop")) event.preventDefault(); });
document.addEventListener("drop", event => {
  if (!screen.querySelector("#drop")) return;
  event.preventDefault();
  send(event.dataTransfer.files);
});

let chosen = "";

function stop(drawn) {
  const slider = screen.querySelector("[data-stops]");
  if (!slider) return;
  const rows = [...screen.querySelectorAll("#stops tbody tr")].map(row => JSON.parse(row.dataset.stop));
  // More copies change the places of those before: the one that was chosen stays.
  const place = rows.findIndex(row => row.number === chosen);
  if (drawn === true && place >= 0) slider.value = String(place);
  const values = rows[Number(slider.value)];
  chosen = values.number;
  screen.querySelector("[data-number]").value = values.number;
  for (const part of screen.querySelectorAll("[data-show]")) part.textContent = values[part.dataset.show];
  screen.querySelector("#stop-why").textContent = values.why;
  trade(rows, values);
  slider.setAttribute("aria-valuetext", [text("parts", values.verdict, values.parts), values.figure].filter(Boolean).join(", "));
}

const round = value => Number(value.toPrecision(3)).toLocaleString("en");

// Only of what was measured on a press: no figure of a record comes from here.
function trade(rows, now) {
  const place = screen.querySelector("#trade");
  if (!place) return;
  const some = rows.filter(row => row.bits !== null && row.quality !== null);
  const range = name => {
    const all = some.map(row => row[name]);
    const lo = Math.min(...all), hi = Math.max(...all), room = (hi - lo || Math.abs(hi) || 1) * 0.08;
    return [lo, hi, value => (value - lo + room) / (hi - lo + 2 * room)];
  };
  const [left, right, across] = range("bits"), [low, high, up] = range("quality");
  const x = row => 80 + 340 * across(row.bits), y = row => 200 - 180 * up(row.quality);
  const svg = mark("svg", {class: "chart trade", viewBox: "0 -10 430 262", role: "img", "aria-label": text("chart", place.dataset.title, some.length)});
  svg.append(mark("path", {class: "axisline", fill: "none", d: "M80 14V200H424"}));
  const label = (words, values) => { const part = mark("text", values); part.textContent = words; svg.append(part); };
  for (const value of new Set([low, high])) label(some.find(row => row.quality === value).figure, {class: "tick end", x: 74, y: 204 - 180 * up(value)});
  for (const value of new Set([left, right])) label(round(value), {class: "tick mid", x: 80 + 340 * across(value), y: 218});
  label(place.dataset.across, {class: "tick end", x: 424, y: 242});
  label(place.dataset.up, {class: "tick", x: 4, y: 10});
  for (const row of some) svg.append(mark("circle", {class: "stop", cx: x(row), cy: y(row), r: 4}));
  if (some.includes(now)) svg.append(mark("circle", {class: "ring", cx: x(now), cy: y(now), r: 9}));
  place.replaceChildren(svg);
}

function dial() {
  const field = screen.querySelector("[data-epsilon]");
  if (!field) return;
  const epsilon = Number(field.value);
  const right = epsilon > 0 ? `${Math.round(100 / (1 + Math.exp(-epsilon)))}%` : text("unknown");
  screen.querySelector("#guess").textContent = right;
  const rows = [...screen.querySelectorAll("[data-simulated]")];
  const off = row => Math.abs(Math.log(Number(row.dataset.simulated) / epsilon));
  const nearest = epsilon > 0 ? rows.reduce((best, row) => !best || off(row) < off(best) ? row : best, null) : null;
  for (const row of rows) row.toggleAttribute("data-nearest", row === nearest);
  const tile = screen.querySelector("#simulated");
  if (tile) {
    tile.querySelector("b").textContent = nearest ? nearest.cells[1].textContent : text("unknown");
    tile.querySelector("[data-at]").textContent = nearest ? text("at_epsilon", nearest.dataset.simulated) : "";
  }
  screen.querySelector("#spend").textContent = text("spend", epsilon > 0 ? field.value : "…");
}

const sure = new Set();

function confirm() {
  for (const one of screen.querySelectorAll("[data-seen]")) {
    if (sure.has(`${one.dataset.file}:${one.dataset.seen}`)) one.textContent = text("sure");
  }
}

const WIDTH = 240;
const MOST_CUTS = 80;

function mark(kind, values) {
  const part = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(values)) part.setAttribute(name, value);
  return part;
}

function cuts(n) {
  const at = key => { const typed = screen.querySelector(`#${key}-${n}`)?.value.trim(); return typed ? Number(typed) : NaN; };
  const lo = at("lo"), hi = at("hi"), step = at("resolution");
  const count = step > 0 ? Math.floor((hi - lo) / step + 1e-9) + 1 : NaN;
  const some = Number.isFinite(count) && count > 0;
  screen.querySelector(`#cuts-${n}`).textContent = some ? text("cuts", count.toLocaleString("en")) : "";
  const place = screen.querySelector(`#axis-${n}`);
  place.replaceChildren();
  if (!(hi > lo)) return;
  const known = screen.querySelector(`[data-bars="${n}"]`);
  const seen = known ? JSON.parse(known.textContent) : null;
  const x = value => 4 + (WIDTH - 8) * (value - lo) / (hi - lo);
  const axis = some ? text("axis_cuts", lo, hi, count) : text("axis", lo, hi);
  const said = seen ? text("axis_bars", axis) : axis;
  const svg = mark("svg", {viewBox: `0 0 ${WIDTH} 40`, role: "img", "aria-label": said});
  if (seen) {
    const most = Math.max(...seen.bars, 1), wide = (seen.hi - seen.lo) / seen.bars.length;
    seen.bars.forEach((height, i) => {
      const from = Math.max(seen.lo + i * wide, lo), to = Math.min(seen.lo + (i + 1) * wide, hi);
      if (to > from) svg.append(mark("rect", {class: "barfill", x: x(from), width: Math.max(x(to) - x(from), 0.5), y: 26 - 24 * height / most, height: 24 * height / most}));
    });
  }
  svg.append(mark("path", {class: "axisline", d: `M4 26H${WIDTH - 4}`}));
  if (some && count <= MOST_CUTS) {
    for (let i = 0; i < count; i += 1) svg.append(mark("path", {class: "cut", d: `M${x(lo + i * step).toFixed(1)} 21V31`}));
  } else if (some) svg.append(mark("rect", {class: "barfill", x: 4, width: WIDTH - 8, y: 23, height: 6}));
  for (const [anchor, value] of [["start", lo], ["end", hi]]) {
    const label = mark("text", {class: "axistext", x: anchor === "start" ? 2 : WIDTH - 2, y: 39, "text-anchor": anchor});
    label.textContent = value;
    svg.append(label);
  }
  place.append(svg);
}

document.addEventListener("input", event => {
  const field = event.target;
  if ("stops" in field.dataset) stop();
  if ("dial" in field.dataset) screen.querySelector("[data-epsilon]").value = String(Number((10 ** Number(field.value)).toPrecision(2)));
  if ("dial" in field.dataset || "epsilon" in field.dataset) dial();
  if (field.dataset.cuts) cuts(field.dataset.cuts);
});
document.addEventListener("change", event => { if (event.target.id === "file") send(event.target.files); });

document.addEventListener("click", async event => {
  const button = event.target.closest("button");
  if (!button) return;
  try {
    if (button.dataset.seen) {
      const records = screen.querySelector("#w-records").value;
      if (!sure.has(`${button.dataset.file}:${button.dataset.seen}`)) {
        sure.add(`${button.dataset.file}:${button.dataset.seen}`);
        confirm();
        return;
      }
      button.disabled = true;
      await ask("POST", "work/seen", {file: button.dataset.file, column: button.dataset.seen, records});
      await show(false);
    } else if ("ledger" in button.dataset) {
      await ask("POST", "work/ledger", {ledger: screen.querySelector("#w-ledger").value});
      say(text("ledger"));
      await show(false);
    } else if (button.dataset.editor) {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.title = text("editor");
      frame.className = "report";
      frame.dataset.file = button.dataset.editor;
      frame.src = await ticket({what: "editor", file: button.dataset.editor});
      screen.querySelector("#content").replaceChildren(frame);
    }
  } catch (error) { say(error.message); }
});

window.addEventListener("message", async event => {
  const frame = screen.querySelector("iframe[data-file]");
  if (!frame || event.source !== frame.contentWindow || typeof event.data?.edited !== "string") return;
  try {
    const answer = await (await ask("POST", "work/edit", {file: frame.dataset.file, model: event.data.edited})).json();
    say(text("written", answer.written));
  } catch (error) { say(error.message); }
});

screen.addEventListener("drawn", () => {
  stop(true);
  confirm();
  dial();
  for (const one of new Set([...screen.querySelectorAll("[data-cuts]")].map(field => field.dataset.cuts))) cuts(one);
});
