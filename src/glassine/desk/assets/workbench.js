// The workbench: files that are dropped, the slider, the dial and the editor.
import {ask, say, screen, show, ticket} from "/assets/desk.js";

async function send(files) {
  for (const file of files) {
    say(`${file.name} is being copied into the folder.`);
    try {
      await ask("PUT", `files/${encodeURIComponent(file.name)}`, file);
      say(`${file.name} is in the folder.`);
    } catch (error) { say(error.message); }
  }
}

document.addEventListener("dragover", event => { if (screen.querySelector("#drop")) event.preventDefault(); });
document.addEventListener("drop", event => {
  if (!screen.querySelector("#drop")) return;
  event.preventDefault();
  send(event.dataTransfer.files);
});

function stop() {
  const slider = screen.querySelector("[data-stops]");
  if (!slider) return;
  const row = screen.querySelectorAll("#stops tbody tr")[Number(slider.value)];
  const values = JSON.parse(row.dataset.stop);
  for (const part of screen.querySelectorAll("[data-show]")) part.textContent = values[part.dataset.show];
  screen.querySelector("#stop-why").textContent = values.why;
  slider.setAttribute("aria-valuetext", `${values.verdict}, ${values.parts} leaves or rules`);
}

function dial() {
  const field = screen.querySelector("[data-epsilon]");
  if (!field) return;
  const epsilon = Number(field.value);
  const right = epsilon > 0 ? `${Math.round(100 / (1 + Math.exp(-epsilon)))}%` : "unknown";
  screen.querySelector("#guess").textContent = right;
  screen.querySelector("#spend").textContent = `Spend ${epsilon > 0 ? field.value : "…"} and train`;
}

function cuts(n) {
  const at = key => Number(screen.querySelector(`#${key}-${n}`)?.value || NaN);
  const step = at("resolution"), count = step > 0 ? Math.floor((at("hi") - at("lo")) / step + 1e-9) + 1 : NaN;
  screen.querySelector(`#cuts-${n}`).textContent = Number.isFinite(count) && count > 0
    ? `${count.toLocaleString("en")} cut points. Not compared with your records.` : "";
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
      if (button.dataset.sure !== "yes") {
        button.dataset.sure = "yes";
        button.textContent = "Show it, and mark it “seen in the data” for good";
        return;
      }
      button.disabled = true;
      await ask("POST", "work/seen", {file: button.dataset.file, column: button.dataset.seen, records});
      await show(false);
    } else if ("ledger" in button.dataset) {
      const answer = await (await ask("POST", "work/ledger", {ledger: screen.querySelector("#w-ledger").value})).json();
      screen.querySelector("#left").textContent = Object.entries(answer.left)
        .map(([name, [left, total]]) => `${left} of ${total} (${name})`).join(", ") || "nothing";
    } else if (button.dataset.editor) {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.title = "Editor of the model";
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
    say(`Written: ${answer.written}.`);
  } catch (error) { say(error.message); }
});

screen.addEventListener("drawn", () => { stop(); dial(); });
