// The desk in the browser: fragments from its own server, actions as JSON with the token of this tab.
const screen = document.getElementById("screen");
const texts = JSON.parse(document.getElementById("texts").textContent);
// What the desk says: texts.toml has the words.
const text = (name, ...values) => texts[name].replace(/\{(\d+)\}/g, (_, place) => values[place - 1]);
const said = document.getElementById("said");
const keys = document.getElementById("keys");
const single = document.getElementById("single");
const drafts = new Map();
const refused = new Map();
let head = "";
let shown = "";
let lost = false;

const token = () => sessionStorage.getItem("token");
const route = () => location.hash.replace(/^#\/?/, "") || "queue";
let lasts = 0;
// Shown until the next press after it could be read, so that nobody has to be fast.
const say = words => {
  said.textContent = "";
  said.textContent = words;
  said.className = words ? "said-now" : "unseen";
  lasts = Date.now() + 1500;
};
document.addEventListener("pointerdown", () => { if (Date.now() > lasts) said.className = "unseen"; });
document.addEventListener("keydown", () => { if (Date.now() > lasts) said.className = "unseen"; });

async function ask(method, path, body) {
  const headers = {authorization: `Bearer ${token()}`};
  if (body !== undefined && !(body instanceof Blob)) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(body);
  }
  const answer = await fetch(`/api/${path}`, {method, headers, body});
  if (answer.ok) return answer;
  let problem = {detail: text("answered", answer.status)};
  try { problem = await answer.json(); } catch { /* no JSON */ }
  throw Object.assign(new Error(problem.detail), {status: answer.status, field: problem.field || ""});
}

function stop(title, words) {
  lost = true;
  const part = document.createElement("main");
  part.id = "main";
  part.className = "single-column";
  part.innerHTML = '<section class="verdict inconclusive"><div><h2></h2><p class="why"></p></div></section>';
  part.querySelector("h2").textContent = title;
  part.querySelector("p").textContent = words;
  screen.replaceChildren(part);
  say(words);
  said.className = "unseen";
}

async function begin() {
  const code = location.hash.startsWith("#code=") ? location.hash.slice(6) : "";
  if (code) {
    history.replaceState(null, "", "/");
    const answer = await fetch("/session", {
      method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify({code}),
    });
    if (!answer.ok) {
      stop(text("used"), text("used_by"));
      return;
    }
    sessionStorage.setItem("token", (await answer.json()).token);
  }
  if (!token()) {
    stop(text("absent"), text("open"));
    return;
  }
  single.checked = localStorage.getItem("single") !== "no";
  await pulse(true);
  await show(true);
  setInterval(pulse, 1000);
}

// Drafts: what was typed outlives a reload of the screen, but not the tab.
const key = form => form.dataset.draft || form.dataset.post || form.dataset.fill;

function keep() {
  for (const form of screen.querySelectorAll("form[data-post], form[data-fill]")) {
    const values = {};
    for (const field of form.elements) {
      if (!field.name || field.type === "hidden") continue;
      if (field.type === "checkbox" || field.type === "radio") {
        if (field.checked !== field.defaultChecked) values[`${field.name}=${field.value}`] = field.checked;
      } else if (field.tagName === "SELECT") {
        const first = [...field.options].find(one => one.defaultSelected) || field.options[0];
        if (field.value && field.value !== first?.value) values[field.name] = field.value;
      } else if (field.value !== field.defaultValue && field.tagName !== "BUTTON") values[field.name] = field.value;
    }
    if (Object.keys(values).length) drafts.set(key(form), values); else drafts.delete(key(form));
  }
}

function restore() {
  for (const form of screen.querySelectorAll("form[data-post], form[data-fill]")) {
    const alert = form.querySelector("[role=alert]");
    if (alert && refused.has(key(form))) alert.textContent = refused.get(key(form));
    const values = drafts.get(key(form)) || {};
    for (const field of form.elements) {
      const name = field.type === "checkbox" || field.type === "radio" ? `${field.name}=${field.value}` : field.name;
      if (!(name in values) || field.type === "hidden") continue;
      if (field.type === "checkbox" || field.type === "radio") field.checked = values[name];
      else if (field.tagName !== "SELECT" || [...field.options].some(one => one.value === values[name])) field.value = values[name];
    }
  }
  for (const field of screen.querySelectorAll("[data-filter]")) {
    if (!filters.get(field.id)) continue;
    field.value = filters.get(field.id);
    narrow(field);
  }
  if (screen.querySelector("[data-whose]")) thin(document.getElementById("files"));
}

async function show(moved) {
  const wanted = route();
  let drawn;
  try {
    drawn = await (await ask("GET", wanted)).text();
  } catch (error) {
    if (error.status === 401) stop(text("ended"), text("again"));
    else if (wanted !== "queue" && error.status === 404) location.hash = "#/queue";
    else say(error.message);
    return;
  }
  if (wanted !== route()) return;
  keep();
  const place = scrollY;
  const active = document.activeElement;
  const at = active && screen.contains(active)
    ? active.id ? `#${CSS.escape(active.id)}` : active.name ? `[name="${CSS.escape(active.name)}"]` : active.getAttribute("href") ? `[href="${CSS.escape(active.getAttribute("href"))}"]` : "" : "";
  const caret = at && active.selectionStart !== undefined ? [active.selectionStart, active.selectionEnd] : null;
  const opened = [...screen.querySelectorAll("details")].map(one => one.open);
  const kept = [...screen.querySelectorAll("#content, #together, #trial")];
  const same = shown === wanted;
  // A frame that leaves the page loads anew, and its address worked once: it is moved, or the screen waits for it.
  if (same && !screen.moveBefore && kept.some(one => one.querySelector("iframe"))) return;
  const before = [...screen.childNodes];
  const fresh = document.createElement("template");
  fresh.innerHTML = drawn;
  const places = new Map(kept.map(one => [one, fresh.content.getElementById(one.id)]));
  screen.append(fresh.content);
  if (same) {
    for (const [one, place] of places) {
      if (!place) continue;
      place.replaceChildren();
      for (const node of [...one.childNodes]) screen.moveBefore ? place.moveBefore(node, null) : place.append(node);
    }
  }
  before.forEach(node => node.remove());
  if (same) {
    screen.querySelectorAll("details").forEach((one, i) => { if (opened[i] !== undefined) one.open = opened[i]; });
  } else if (innerWidth < 760) {
    const waiting = screen.querySelector(".waiting");
    if (waiting && wanted !== "queue") waiting.open = false;
  }
  // A list whose first file changes must not change the file that is shown.
  const first = wanted === "queue" && screen.querySelector(".queue a[aria-current]");
  if (first) history.replaceState(null, "", first.getAttribute("href"));
  restore();
  shown = route();
  document.title = text("title", screen.querySelector("h1").textContent);
  if (same) {
    const again = at && screen.querySelector(at);
    if (again) {
      again.focus({preventScroll: true});
      // Where one goes on typing; fields of numbers and days have no place to say.
      if (caret && caret[0] !== null && again.setSelectionRange) again.setSelectionRange(...caret);
    }
    scrollTo(0, place);
  } else if (moved && !document.activeElement.closest?.(".queue")) {
    document.getElementById("main")?.focus({preventScroll: true});
    scrollTo(0, 0);
  }
  screen.dispatchEvent(new Event("drawn"));
}

// Jobs that take longer: each can be ended. Drawn anew only if they differ, so that a focused button stays.
let listed = "";

function running(jobs) {
  const now = JSON.stringify(jobs);
  if (now === listed) return;
  listed = now;
  const part = document.getElementById("jobs");
  part.hidden = !jobs.length;
  part.replaceChildren(...jobs.map(job => {
    const row = document.createElement("div");
    const words = document.createElement("bdi");
    const button = document.createElement("button");
    words.textContent = job.said;
    button.type = "button";
    button.textContent = text("stop");
    button.setAttribute("aria-label", text("stop_job", job.said));
    button.dataset.end = job.id;
    row.append(words, button);
    return row;
  }));
}

// One lost answer, such as while the network of the computer changes, does not close the page.
const MOST_LOST = 3;
let unanswered = 0;

async function pulse(first) {
  // The state comes before the screen that shows it: what changes in between is drawn at the next pulse.
  if (lost || (document.hidden && first !== true)) return;
  try {
    const now = await (await ask("GET", "desk")).json();
    unanswered = 0;
    running(now.jobs);
    const next = `${now.head}-${now.waiting}`;
    if (now.fault) say(now.fault);
    if (head && next !== head) await show(false);
    head = next;
  } catch (error) {
    if (error.status === 401) stop(text("ended"), text("again"));
    else if (error.status === undefined && (unanswered += 1) >= MOST_LOST) stop(text("closed"), text("kept"));
  }
}

function values(form, button) {
  const out = {};
  const several = new Set([...form.querySelectorAll("fieldset input[type=checkbox]")].map(one => one.name));
  for (const [name, value] of new FormData(form, button)) {
    if (["items", "files"].includes(name)) (out[name] ||= []).push(value);
    else out[name] = value;
  }
  for (const name of several) if (["items", "files"].includes(name)) out[name] ||= [];
  return out;
}

// What such a form asks for changes nothing of the screen: it is put into a part of it.
async function fill(form, button) {
  const alert = form.querySelector("[role=alert]");
  button.disabled = true;
  alert.textContent = "";
  say(form.dataset.said);
  try {
    const drawn = await (await ask("POST", form.dataset.fill, values(form, button))).text();
    document.getElementById(form.dataset.into).innerHTML = drawn;
    say("");
  } catch (error) {
    say("");
    // Looked up again: the screen may have been drawn meanwhile.
    const now = screen.querySelector(`form[data-fill="${CSS.escape(form.dataset.fill)}"] [role=alert]`);
    if (now) now.textContent = error.message;
  } finally {
    button.disabled = false;
  }
}

screen.addEventListener("submit", async event => {
  const form = event.target;
  // Always: a form that was sent already has no address, and the browser would open one of its own.
  event.preventDefault();
  if (form.dataset.fill) await fill(form, event.submitter);
  if (!form.dataset.post) return;
  const button = event.submitter;
  const alert = form.querySelector("[role=alert]");
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  // Before the button is disabled: a disabled one sends no value.
  const asked = values(form, button);
  if (button) button.disabled = true;
  if (alert) alert.textContent = "";
  const sent = key(form);
  refused.delete(sent);
  try {
    // A button that asks for something else leaves the form as it is.
    const other = button && button.dataset.post;
    const answer = await (await ask("POST", other || form.dataset.post, asked)).json();
    if (!other) {
      drafts.delete(key(form));
      form.removeAttribute("data-post");
    }
    say((button && button.dataset.said) || form.dataset.said || text("done"));
    if (answer.folder) say(text("written", answer.folder));
    await show(false);
  } catch (error) {
    // The screen may have been drawn again meanwhile, and will be: the message stays until the next press.
    if (alert) refused.set(sent, error.message); else say(error.message);
    for (const one of screen.querySelectorAll("form[data-post] [role=alert]")) {
      if (key(one.closest("form")) === sent) one.textContent = error.message;
    }
    const field = error.field && form.querySelector(`[name="${CSS.escape(error.field)}"]`);
    if (field) {
      field.setAttribute("aria-invalid", "true");
      field.focus();
    }
    if (error.status === 409) await show(false);
  } finally {
    delete form.dataset.busy;
    if (button) button.disabled = false;
  }
});

async function ticket(asked) {
  return `/t/${(await (await ask("POST", "tickets", asked)).json()).ticket}`;
}

function download(address) {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  document.body.append(link);
  link.click();
  link.remove();
}

const actions = {
  async load(button) {
    const {into, load, said: words} = button.dataset;
    if (words) say(words);
    const drawn = await (await ask("GET", load)).text();
    // Looked up afterwards: the screen may have been drawn again meanwhile.
    const target = document.getElementById(into);
    if (target) target.innerHTML = drawn;
    if (words) say("");
  },
  async report(button) {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = text("report");
    frame.className = "report";
    frame.src = await ticket({what: "report", file: button.dataset.report});
    document.getElementById("content").replaceChildren(frame);
  },
  async drawing(button) {
    say(text("drawing"));
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "");
    frame.title = text("drawn");
    frame.className = "report drawing";
    frame.addEventListener("load", () => say(""), {once: true});
    frame.src = await ticket({what: "drawing", file: button.dataset.drawing, copy: button.dataset.copy});
    document.getElementById(button.dataset.into || "content").replaceChildren(frame);
  },
  async end(button) {
    await ask("DELETE", `jobs/${button.dataset.end}`);
    say(text("stopped"));
  },
  async image(button) {
    const image = document.createElement("img");
    image.alt = text("image");
    image.className = "submitted";
    image.src = await ticket({what: "image", file: button.dataset.image});
    document.getElementById("content").replaceChildren(image);
  },
  async record(button) { download(await ticket({what: "record", audience: button.dataset.record})); },
  async evidence(button) {
    say(text("evidence"));
    const value = id => document.getElementById(id).value;
    download(await ticket({what: "evidence", file: value(button.dataset.evidence), form: value("evidence-form")}));
    say(text("downloaded"));
  },
  async reply(button) { download(await ticket({what: "reply", file: button.dataset.reply})); },
  async training(button) { download(await ticket({what: "training", key: button.dataset.training})); },
  put(button) {
    const field = document.getElementById(button.dataset.into);
    if (!field) return;
    field.value = field.value ? `${field.value}\n${button.dataset.put}` : button.dataset.put;
    field.focus();
  },
  jump(button) {
    const target = document.getElementById(button.dataset.jump);
    target.scrollIntoView({block: "start"});
    (target.querySelector("input:not([type=hidden])") || target).focus({preventScroll: true});
  },
  keys() { keys.showModal(); },
};

document.addEventListener("click", async event => {
  const button = event.target.closest("button");
  if (!button) return;
  for (const [name, act] of Object.entries(actions)) {
    if (!(name in button.dataset)) continue;
    button.disabled = true;
    try { await act(button); } catch (error) { say(error.message); } finally { button.disabled = false; }
    return;
  }
});

// Which rows of a table or entries of a list are shown; it outlives a reload of the screen.
const filters = new Map();
let whose = "all";

function narrow(field) {
  filters.set(field.id, field.value);
  thin(document.getElementById(field.dataset.filter));
}

function thin(part) {
  const wanted = (screen.querySelector(`[data-filter="${part.id}"]`)?.value || "").toLowerCase();
  const buttons = [...part.querySelectorAll("[data-whose]")];
  for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.whose === whose));
  // The file that is open stays in the list.
  const away = row => buttons.length && whose === "mine" && !("mine" in row.dataset) && !row.querySelector("[aria-current]");
  for (const row of part.querySelectorAll("tbody tr, .queue li")) row.hidden = away(row) || !row.textContent.toLowerCase().includes(wanted);
}

document.addEventListener("click", event => {
  const button = event.target.closest("[data-whose]");
  if (!button) return;
  whose = button.dataset.whose;
  thin(button.closest("nav"));
});
document.addEventListener("input", event => { if (event.target.dataset.filter) narrow(event.target); });

single.addEventListener("change", () => localStorage.setItem("single", single.checked ? "yes" : "no"));

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input:not([type=radio]), textarea, select, dialog")) return;
  if (event.key === "?") { keys.showModal(); event.preventDefault(); return; }
  if (!single.checked) return;
  const step = {j: 1, k: -1}[event.key];
  if (step) {
    const links = [...screen.querySelectorAll(".queue li:not([hidden]) a")];
    const at = links.findIndex(link => link.getAttribute("aria-current"));
    const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
    if (next) { location.hash = next.getAttribute("href"); event.preventDefault(); }
  }
  const decision = {a: "approve", c: "changes", x: "reject"}[event.key];
  const choice = decision && screen.querySelector(`input[name=decision][value=${decision}]:enabled`);
  if (choice) { choice.checked = true; choice.focus(); event.preventDefault(); }
  if (event.key === "o") { const chooser = screen.querySelector("input[type=file]"); if (chooser) { chooser.click(); event.preventDefault(); } }
});

// The list that a narrow page folds away stands beside the file on a wide one.
window.addEventListener("resize", () => {
  const waiting = innerWidth >= 760 && screen.querySelector(".waiting");
  if (waiting) waiting.open = true;
});
window.addEventListener("hashchange", () => { if (!lost) show(true); });
document.addEventListener("visibilitychange", pulse);

export {ask, say, screen, show, text, ticket};
begin();
