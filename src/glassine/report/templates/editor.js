(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var SVG = "http://www.w3.org/2000/svg", PAIR = 2;
  var state = { term: 0, output: 0, first: 0, last: 0, edits: data.edits, undone: [], saved: data.edits.length, record: {}, nudge: null };
  var plot = document.getElementById("plot"), drag = null, frame = null;

  function at(id) { return document.getElementById(id); }
  function make(name, attributes, text) {
    var e = document.createElementNS(SVG, name);
    for (var key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    return e;
  }
  function element(name, className, text) {
    var e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  }
  function isolated(text) {
    /* A name breaks between its words: after a mark, and before a capital. */
    var out = element("bdi"), from = 0, i;
    text = String(text);
    for (i = 1; i < text.length; i++) {
      var before = text[i - 1], after = text[i];
      if (!((/[_\-./:]/.test(before) && /\w/.test(after)) || (/[a-z0-9]/.test(before) && /[A-Z]/.test(after)))) continue;
      out.appendChild(document.createTextNode(text.slice(from, i))); out.appendChild(element("wbr"));
      from = i;
    }
    out.appendChild(document.createTextNode(text.slice(from)));
    return out;
  }
  /* Of a wide model, those terms and attributes are shown whose name holds what is typed. */
  function find() {
    var wanted = at("find").value.trim().toLowerCase(), left = 0, all = 0;
    at("terms").querySelectorAll("li").forEach(function (item) {
      item.hidden = !item.querySelector("bdi").textContent.toLowerCase().includes(wanted);
      left += Number(!item.hidden); all += 1;
    });
    at("record").querySelectorAll(".field").forEach(function (line) {
      line.hidden = !line.querySelector("bdi").textContent.toLowerCase().includes(wanted);
    });
    at("found").textContent = wanted ? left + " of " + plural(all, "term") + " shown." : "";
  }
  function term() { return data.terms[state.term]; }
  function isPair(t) { return t.shape.length === PAIR; }
  function isNumeric(t) { return !isPair(t) && t.bins[0].cuts !== undefined; }
  function shown(value) {
    if (value === 0) return "0";
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
    var size = Math.abs(value);
    return size >= 1e6 || size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  }
  function digits(value) {
    return String(Number.isInteger(value) ? value : Number(value.toPrecision(Math.abs(value) < 1000 ? 4 : 9)));
  }
  function column(values) {
    /* Figures that stand below one another: all with the digits of the largest. */
    var most = Math.max.apply(null, values.map(Math.abs).concat(0));
    var digits = Math.min(Math.max(3 - Math.floor(Math.log10(most)), 0), 6);
    return function (value) {
      if (most < 1e-4 || most >= 1e6) return shown(value);
      var text = value.toFixed(digits);
      return Number(text) === 0 ? (0).toFixed(digits) : text;
    };
  }
  function signed(value) { return (value > 0 ? "+" : "") + shown(value); }
  function shorter(text, room) { return text.length <= room ? text : text.slice(0, Math.max(room - 1, 1)) + "\u2026"; }
  function whole(text) {
    /* Half a character pair is no text that a file could hold. */
    return Array.from(text).map(function (c) { return c.length === 1 && c >= "\ud800" && c <= "\udfff" ? "\ufffd" : c; }).join("");
  }
  function plural(n, word) { return n.toLocaleString("en-US") + " " + word + (n === 1 ? "" : "s"); }
  function series(t, values, output) {
    return values.filter(function (_, i) { return i % t.outputs === output; });
  }
  function binName(t, axis, i) { return t.bins[axis].labels[i]; }
  function selectionName() {
    var t = term();
    if (isPair(t)) return binName(t, 0, state.first) + " & " + binName(t, 1, state.last);
    var from = binName(t, 0, state.first);
    return state.first === state.last ? from : from + " \u2026 " + binName(t, 0, state.last);
  }
  function flatIndex(t, first, last, output) {
    return (isPair(t) ? first * t.shape[1] + last : first) * t.outputs + output;
  }

  /* ---- edits ---- */
  function parameters(more) {
    var t = term(), out = isPair(t) ? { row: state.first, column: state.last } : { first: state.first, last: state.last };
    for (var key in more) out[key] = more[key];
    if (t.outputs > 1) out.output = state.output;
    return out;
  }
  function apply(action, given, note) {
    var t = term(), after = Operations.applied(t, action, given, data.floor), cells = [], was = [], is = [];
    if (!after.every(isFinite)) return say("That leads to a score that is not finite. Nothing was changed.");
    after.forEach(function (score, i) {
      if (score !== t.scores[i]) { cells.push(i); was.push(t.scores[i]); is.push(score); }
    });
    var reason = whole(at("reason").value.trim());
    state.edits.push({
      number: state.edits.length + 1, action: action, term: t.name, parameters: given,
      cells: cells, before: was, after: is, reason: reason
    });
    t.scores = after;
    state.undone = [];
    at("reason").value = "";
    say(note + (cells.length ? ": " + plural(cells.length, "score") + " changed." : ": nothing to change."));
    return true;
  }
  function act(action, given, note) { state.nudge = null; if (apply(action, given, note)) refresh(); }
  function put(edit, values) {
    var t = data.terms.filter(function (other) { return other.name === edit.term; })[0];
    t.scores = t.scores.slice();
    edit.cells.forEach(function (cell, i) { t.scores[cell] = values[i]; });
    state.term = data.terms.indexOf(t);
    var given = edit.parameters;
    state.first = given.row !== undefined ? given.row : given.first || 0;
    state.last = given.column !== undefined ? given.column : given.last !== undefined ? given.last : isPair(t) ? 0 : t.shape[0] - 2;
    if (given.output !== undefined) state.output = given.output;
  }
  function undo() {
    var edit = state.edits.pop();
    if (!edit) return;
    put(edit, edit.before);
    state.undone.push(edit);
    state.nudge = null;
    say("Undone: " + told(edit) + ".");
    refresh();
  }
  function redo() {
    var edit = state.undone.pop();
    if (!edit) return;
    put(edit, edit.after);
    state.edits.push(edit);
    state.nudge = null;
    say("Done again: " + told(edit) + ".");
    refresh();
  }
  function nudge(by) {
    var t = term(), key = [state.term, state.output, state.first, state.last].join();
    if (state.nudge && state.nudge.key === key && state.edits.length === state.nudge.edits) {
      var last = state.edits.pop();
      at("reason").value = last.reason;
      put(last, last.before);
      by += state.nudge.by;
    }
    by = Number(by.toPrecision(10));
    if (apply("shift", parameters({ by: by }), "Moved " + selectionName() + " by " + signed(by))) {
      state.nudge = { key: key, by: by, edits: state.edits.length };
      say(selectionName() + ": " + shown(t.scores[flatIndex(t, state.first, state.last, state.output)]));
    }
    refresh();
  }
  function told(edit) {
    var t = data.terms.filter(function (other) { return other.name === edit.term; })[0], p = edit.parameters, where = "";
    if (p.row !== undefined) where = binName(t, 0, p.row) + " & " + binName(t, 1, p.column);
    else if (p.first !== undefined) where = binName(t, 0, p.first) + (p.first === p.last ? "" : " \u2026 " + binName(t, 0, p.last));
    var what = { set: "set to " + shown(p.value || 0), shift: "moved by " + signed(p.by || 0), smooth: "smoothed", flatten: "flattened",
      monotone: "made " + p.direction, zero: "zeroed" }[edit.action];
    var of = p.output !== undefined && data.classes ? " for " + data.classes[p.output] : "";
    return edit.term + (where ? ", " + where : "") + ", " + what + of;
  }
  function say(text) { at("status").textContent = text; }

  /* ---- the example record ---- */
  var MOST_ADDS = 12;
  function binOf(bins, value) {
    if (bins.groupOf) return value === null ? bins.missing : value < 0 ? bins.labels.length - 1 : bins.groupOf[value];
    if (value === null) return bins.labels.length - 1;
    var low = 0, high = bins.cuts.length;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (bins.closed === "right" ? value <= bins.cuts[middle] : value < bins.cuts[middle]) high = middle; else low = middle + 1;
    }
    return low;
  }
  function answer(key) {
    var total = data.intercept.slice(), added = [];
    data.terms.forEach(function (t) {
      var cell = 0;
      t.bins.forEach(function (bins, axis) { cell = cell * t.shape[axis] + binOf(bins, state.record[bins.attribute]); });
      var values = key === "scores" && drag && drag.full && t === term() ? drag.full : t[key];
      var parts = values.slice(cell * t.outputs, (cell + 1) * t.outputs);
      added.push(parts);
      parts.forEach(function (part, k) { total[k] += part; });
    });
    return { scores: total, added: added, shares: shares(total) };
  }
  function shares(total) {
    if (data.link === "identity" || data.link === "log") return null;
    var scores = data.link === "logit" ? [0, total[0]] : total, top = Math.max.apply(null, scores);
    var powers = scores.map(function (score) { return Math.exp(score - top); });
    var sum = powers.reduce(function (a, b) { return a + b; }, 0);
    return powers.map(function (power) { return power / sum; });
  }
  function buildRecord() {
    var box = at("record");
    Object.keys(data.attributes).forEach(function (name, i) {
      var attribute = data.attributes[name], line = element("div", "field"), label = element("label", "", ""), input;
      label.appendChild(isolated(name));
      label.htmlFor = "record-" + i;
      state.record[name] = attribute.start === "" ? null : attribute.start;
      if (attribute.values) {
        input = element("select");
        attribute.values.forEach(function (value, k) { input.appendChild(option(k, value)); });
        input.appendChild(option("", attribute.apart ? "missing" : "missing or other"));
        if (attribute.apart) input.appendChild(option(-1, "other"));
        input.value = attribute.start;
      } else {
        input = element("input");
        input.type = "number"; input.step = attribute.whole ? "1" : "any"; input.placeholder = "missing"; input.value = attribute.start;
      }
      input.id = "record-" + i;
      input.setAttribute("data-attribute", name);
      input.addEventListener("input", function () {
        state.record[name] = input.value === "" ? null : Number(input.value);
        drawAnswer(); drawPlot();
      });
      line.appendChild(label); line.appendChild(input); box.appendChild(line);
    });
  }
  function option(value, text) {
    var e = element("option", "", shorter(text, 60));
    e.value = value;
    return e;
  }
  function percent(share) { return (100 * share).toFixed(share > 0.0995 && share < 0.9005 ? 1 : 2) + "%"; }
  function drawAnswer() {
    var now = answer("scores"), was = answer("released"), box = at("answer");
    var k = data.link === "softmax" ? state.output : 0;
    box.textContent = "";
    var big = element("p", "big"), note = element("p", "described");
    if (now.shares) {
      var c = data.link === "logit" ? 1 : k;
      big.textContent = percent(now.shares[c]);
      big.appendChild(element("span", "", " " + shorter(data.classes[c], 40)));
      note.textContent = "As released: " + percent(was.shares[c]) + ". Score " + shown(now.scores[k]) + ", released " + shown(was.scores[k]) + ".";
    } else {
      var bounded = function (score) {
        var v = data.link === "log" ? Math.exp(Math.min(score, 700)) : score;
        return data.targetBounds ? Math.min(Math.max(v, data.targetBounds[0]), data.targetBounds[1]) : v;
      };
      big.textContent = shown(bounded(now.scores[0]));
      note.textContent = "As released: " + shown(bounded(was.scores[0])) + ".";
    }
    box.appendChild(big); box.appendChild(note);
    box.setAttribute("data-score", now.scores.join());
    box.setAttribute("data-shares", now.shares ? now.shares.join() : "");
    var parts = now.added.map(function (added, i) { return [data.terms[i].name, added[k], added[k] !== was.added[i][k], i]; });
    parts.sort(function (a, b) { return Math.abs(b[1]) - Math.abs(a[1]); });
    var most = parts.length ? Math.abs(parts[0][1]) || 1 : 1, list = at("adds"), shownFold = list.querySelector("details");
    var open = Boolean(shownFold && shownFold.open), rest = element("ul", "adds");
    list.textContent = "";
    var rows = element("ul", "adds"), figure = column(parts.map(function (part) { return part[1]; }));
    rows.setAttribute("aria-label", "What each term adds");
    parts.forEach(function (part, place) {
      var line = element("li", part[2] ? "changed" : ""), svg = make("svg", { viewBox: "-50 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
      var share = part[1] / most * 50;
      svg.appendChild(make("rect", { "class": share > 0 ? "up" : "down", x: Math.min(share, 0), y: 1, width: Math.abs(share), height: 8 }));
      svg.appendChild(make("line", { "class": "zero", x1: 0, x2: 0, y1: 0, y2: 10 }));
      var name = element("span", "name");
      name.appendChild(isolated(part[0]));
      line.appendChild(name); line.appendChild(svg);
      line.appendChild(element("span", "n", (part[1] > 0 ? "+" : "") + figure(part[1])));
      (place < MOST_ADDS ? rows : rest).appendChild(line);
    });
    list.appendChild(rows);
    if (parts.length > MOST_ADDS) {
      var fold = element("details", "table");
      fold.open = open;
      fold.appendChild(element("summary", "", plural(parts.length - MOST_ADDS, "smaller term"))); fold.appendChild(rest);
      list.appendChild(fold);
    }
  }

  /* ---- terms ---- */
  function weightsOf(t) {
    var cells = t.scores.length / t.outputs, weights = [];
    for (var i = 0; i < cells; i++) weights.push(t.weights ? Math.max(t.weights[i], 0) : 1);
    if (!weights.some(Boolean)) weights = weights.map(function () { return 1; });
    if (!t.weights || !t.weights.some(function (w) { return w > 0; })) weights.forEach(function (_, i) {
      var gone = isPair(t) ? Math.floor(i / t.shape[1]) === t.shape[0] - 1 || i % t.shape[1] === t.shape[1] - 1 : i === cells - 1;
      if (gone) weights[i] = 0;
    });
    var top = Math.max.apply(null, weights);
    return weights.map(function (w) { return w / top; });
  }
  function meanOf(values, weights) {
    var total = 0, mass = 0;
    values.forEach(function (value, i) { total += weights[i] * value; mass += weights[i]; });
    return total / mass;
  }
  function importance(t) {
    var weights = weightsOf(t), sum = 0;
    for (var k = 0; k < t.outputs; k++) {
      var values = series(t, t.scores, k), centre = meanOf(values, weights);
      sum += meanOf(values.map(function (v) { return Math.abs(v - centre); }), weights);
    }
    return sum / t.outputs;
  }
  function isEdited(t) { return t.scores.some(function (score, i) { return score !== t.released[i]; }); }
  function drawTerms() {
    var list = at("terms"), focused = list.contains(document.activeElement);
    var rows = data.terms.map(function (t, i) { return [i, importance(t)]; });
    if (!drawTerms.order) drawTerms.order = rows.slice().sort(function (a, b) { return b[1] - a[1]; }).map(function (row) { return row[0]; });
    var most = Math.max.apply(null, rows.map(function (row) { return row[1]; }).concat(1e-300));
    var figure = column(rows.map(function (row) { return row[1]; }));
    list.textContent = "";
    drawTerms.order.forEach(function (i) {
      var t = data.terms[i], item = element("li"), button = element("button", "term"), track = element("i", "track");
      button.type = "button";
      button.setAttribute("aria-pressed", String(i === state.term));
      button.appendChild(isolated(t.name));
      if (isEdited(t)) button.appendChild(element("span", "mark", " edited"));
      button.appendChild(element("span", "n", figure(rows[i][1])));
      var bar = element("i", "fill");
      bar.style.width = (100 * rows[i][1] / most).toFixed(1) + "%";
      track.appendChild(bar); button.appendChild(track);
      button.addEventListener("click", function () { choose(i); at("terms").querySelector("[aria-pressed=true]").focus(); });
      item.appendChild(button); list.appendChild(item);
    });
    if (!at("finder").hidden) find();
    if (focused) list.querySelector("[aria-pressed=true]").focus();
  }
  function choose(i) {
    state.term = i; state.first = 0; state.last = 0; state.nudge = null;
    if (state.output >= term().outputs) state.output = 0;
    say("");
    refresh();
  }

  /* ---- the drawing ---- */
  function drawn(t, axis) {
    /* How many bins have room: the last one, mostly of missing values, where it says something or is in use. */
    var n = t.shape[axis], bins = t.bins[axis], chosen = isPair(t) && !axis ? state.first : state.last;
    return n - Number(!(t.slots[axis] || chosen === n - 1 || binOf(bins, state.record[bins.attribute]) === n - 1));
  }
  function extent(t) {
    var low = 0, high = 0, n = isPair(t) ? undefined : drawn(t, 0);
    [t.scores, t.released, t.low, t.high].forEach(function (values) {
      if (values) series(t, values, state.output).slice(0, n).forEach(function (v) { low = Math.min(low, v); high = Math.max(high, v); });
    });
    var span = high - low || 1;
    return [low - span * 0.04, high + span * 0.06];
  }
  function ticks(low, high, most) {
    var span = high - low, step = Math.pow(10, Math.floor(Math.log10(span / most))), out = [];
    [1, 2, 5, 10, 20].some(function (factor) {
      var first = Math.ceil(low / (step * factor)), last = Math.floor(high / (step * factor));
      if (last - first >= most) return false;
      for (var k = first; k <= last; k++) out.push(k * step * factor);
      return true;
    });
    return out;
  }
  function layout(t) {
    var width = Math.max(plot.clientWidth, 260), height = Math.round(Math.min(Math.max(width * 0.52, 240), 400));
    var box = { width: width, height: height, left: 52, right: 10, top: 12, bottom: 46, gap: 14 };
    box.base = height - box.bottom;
    box.floor = box.base - (t.weights && !isPair(t) ? (box.base - box.top) * 0.13 : 0);
    if (isPair(t)) {
      box.left = Math.min(120, width * 0.28);
      box.rows = drawn(t, 0); box.columns = drawn(t, 1);
      box.tall = (box.base - box.top) / box.rows;
      box.wide = (width - box.left - box.right) / box.columns;
      return box;
    }
    var n = box.n = drawn(t, 0);
    box.slot = n === t.shape[0];
    if (!box.slot) box.gap = 0;
    var each = (width - box.left - box.right - box.gap) / n;
    box.edge = function (i) { return i < n ? box.left + i * each + (i === n - 1 ? box.gap : 0) : width - box.right; };
    box.end = function (i) { return i === n - 1 ? width - box.right : box.left + (i + 1) * each; };
    box.bin = function (x) {
      var i = Math.floor((x - box.left) / each);
      if (x >= box.edge(n - 1) - box.gap / 2) i = n - 1;
      return Math.min(Math.max(i, 0), n - 1);
    };
    box.range = drag && drag.range ? drag.range : extent(t);
    box.y = function (v) { return box.floor - (v - box.range[0]) / (box.range[1] - box.range[0]) * (box.floor - box.top); };
    box.score = function (y) { return box.range[0] + (box.floor - y) / (box.floor - box.top) * (box.range[1] - box.range[0]); };
    return box;
  }
  function steps(box, values, joined) {
    return values.slice(0, box.n).map(function (value, i) {
      var y = box.y(value).toFixed(1), start = box.edge(i).toFixed(1), end = box.end(i).toFixed(1);
      return (joined && i > 0 && i < values.length - 1 ? "V" + y : "M" + start + " " + y) + "H" + end;
    }).join("");
  }
  function marks(box, t) {
    var bins = t.bins[0], out = [], n = t.shape[0], i;
    if (bins.cuts) for (i = 0; i < bins.cuts.length; i++) out.push([box.end(i), String(Number(bins.cuts[i].toPrecision(6)))]);
    else for (i = 0; i < n - 1; i++) out.push([(box.edge(i) + box.end(i)) / 2, bins.labels[i]]);
    return out;
  }
  function drawPlot() {
    frame = null;
    var t = term(), box = layout(t), svg = make("svg", { width: box.width, height: box.height, viewBox: "0 0 " + box.width + " " + box.height, "aria-hidden": "true" });
    if (isPair(t)) drawPair(svg, t, box); else drawRow(svg, t, box);
    plot.textContent = "";
    plot.appendChild(svg);
    var score = t.scores[flatIndex(t, state.first, state.last, state.output)], limits = extent(t);
    plot.setAttribute("aria-label", "Score of the selected bin of " + t.name);
    plot.setAttribute("aria-valuenow", score);
    plot.setAttribute("aria-valuemin", Math.min(limits[0], score));
    plot.setAttribute("aria-valuemax", Math.max(limits[1], score));
    plot.setAttribute("aria-valuetext", selectionName() + ": " + shown(score));
  }
  function drawRow(svg, t, box) {
    var scores = series(t, t.scores, state.output), joined = isNumeric(t), n = box.n;
    var preview = drag && drag.scores ? drag.scores : scores;
    svg.appendChild(make("rect", { "class": "chosen", x: box.edge(state.first), y: box.top, width: box.end(state.last) - box.edge(state.first), height: box.base - box.top }));
    ticks(box.range[0], box.range[1], 7).forEach(function (tick) {
      var y = box.y(tick).toFixed(1);
      svg.appendChild(make("line", { "class": tick === 0 ? "grid zero" : "grid", x1: box.left, x2: box.width - box.right, y1: y, y2: y }));
      svg.appendChild(make("text", { "class": "tick end", x: box.left - 8, y: y, dy: 4 }, shown(tick)));
    });
    if (t.weights) {
      var top = Math.max.apply(null, t.weights.concat(1e-300)), tall = box.base - box.floor - 5;
      svg.appendChild(make("path", { "class": "weights", d: t.weights.slice(0, n).map(function (w, i) {
        return "M" + box.edge(i).toFixed(1) + " " + box.base + "H" + box.end(i).toFixed(1) + "V" + (box.base - Math.max(w, 0) / top * tall).toFixed(1) + "H" + box.edge(i).toFixed(1) + "Z";
      }).join("") }));
    }
    if (t.low) {
      var low = series(t, t.low, state.output), high = series(t, t.high, state.output);
      svg.appendChild(make("path", { "class": "band", d: low.slice(0, n).map(function (v, i) {
        return "M" + box.edge(i).toFixed(1) + " " + box.y(v).toFixed(1) + "H" + box.end(i).toFixed(1) + "V" + box.y(high[i]).toFixed(1) + "H" + box.edge(i).toFixed(1) + "Z";
      }).join("") }));
    }
    var released = series(t, t.released, state.output);
    if (preview.some(function (v, i) { return v !== released[i]; })) svg.appendChild(make("path", { "class": "released", d: steps(box, released, joined) }));
    svg.appendChild(make("path", { "class": "line", d: steps(box, preview, joined) }));
    for (var i = state.first; i <= state.last; i++) {
      svg.appendChild(make("line", { "class": "grip", x1: box.edge(i) + 1, x2: box.end(i) - 1, y1: box.y(preview[i]), y2: box.y(preview[i]) }));
    }
    svg.appendChild(make("circle", { "class": "knob", cx: (box.edge(state.first) + box.end(state.last)) / 2, cy: box.y(preview[(state.first + state.last) >> 1]), r: 6 }));
    var here = state.record[t.bins[0].attribute];
    if (here !== undefined) {
      var bin = binOf(t.bins[0], here), x = (box.edge(bin) + box.end(bin)) / 2;
      svg.appendChild(make("path", { "class": "you", d: "M" + x + " " + (box.base + 1) + "l5 8h-10z" }));
    }
    var free = -Infinity, end = box.width - box.right, letter = 6.3;
    var limit = box.slot ? Math.min(box.edge(n - 1) - 4, end - 56) : end;
    marks(box, t).forEach(function (mark) {
      var text = shorter(mark[1], 14), half = text.length * letter / 2;
      if (mark[0] - half < free || mark[0] + half > limit) return;
      svg.appendChild(make("text", { "class": "tick mid", x: mark[0], y: box.base + 22 }, text));
      free = mark[0] + half + 9;
    });
    if (box.slot) svg.appendChild(make("text", { "class": "tick end", x: end, y: box.base + 22 }, t.bins[0].groupOf && t.bins[0].missing < n - 1 ? "other" : "missing"));
    svg.appendChild(make("text", { "class": "axis mid", x: (box.left + box.width) / 2, y: box.height - 6 }, shorter(t.bins[0].attribute, 50)));
    if (drag && drag.scores) {
      svg.appendChild(make("text", { "class": "axis mid strong", x: (box.edge(state.first) + box.end(state.last)) / 2, y: Math.max(box.y(preview[(state.first + state.last) >> 1]) - 14, 12) }, state.first === state.last ? shown(preview[state.first]) : signed(drag.by)));
    }
  }
  function drawPair(svg, t, box) {
    var scores = series(t, t.scores, state.output), most = Math.max.apply(null, scores.map(Math.abs)) || 1, i, j;
    for (i = 0; i < box.rows; i++) {
      for (j = 0; j < box.columns; j++) {
        var score = scores[i * t.shape[1] + j];
        svg.appendChild(make("rect", { "class": "cell " + (score > 0 ? "up" : "down"), x: box.left + j * box.wide, y: box.top + i * box.tall, width: Math.max(box.wide - 1, 0.5), height: Math.max(box.tall - 1, 0.5), "fill-opacity": (Math.abs(score) / most).toFixed(3) }));
      }
    }
    svg.appendChild(make("rect", { "class": "picked", x: box.left + state.last * box.wide, y: box.top + state.first * box.tall, width: box.wide - 1, height: box.tall - 1 }));
    if (box.tall >= 13) for (i = 0; i < box.rows; i++) svg.appendChild(make("text", { "class": "tick end", x: box.left - 6, y: box.top + (i + 0.5) * box.tall, dy: 4 }, shorter(binName(t, 0, i), Math.floor(box.left / 6.6))));
    var free = -Infinity;
    for (j = 0; j < box.columns; j++) {
      var text = shorter(binName(t, 1, j), 16), x = box.left + (j + 0.5) * box.wide, half = text.length * 3.15;
      if (x - half < free || x + half > box.width) continue;
      svg.appendChild(make("text", { "class": "tick mid", x: x, y: box.base + 18 }, text));
      free = x + half + 8;
    }
    svg.appendChild(make("text", { "class": "axis mid", x: (box.left + box.width) / 2, y: box.height - 6 }, shorter(t.bins[0].attribute, 24) + " (rows) and " + shorter(t.bins[1].attribute, 24) + " (columns)"));
  }
  function later() { if (frame === null) frame = requestAnimationFrame(drawPlot); }

  /* ---- mouse and touch ---- */
  function place(event) {
    var bounds = plot.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
  }
  function pick(box, point) {
    var t = term();
    if (!isPair(t)) return box.bin(point.x);
    return [Math.min(Math.max(Math.floor((point.y - box.top) / box.tall), 0), box.rows - 1), Math.min(Math.max(Math.floor((point.x - box.left) / box.wide), 0), box.columns - 1)];
  }
  plot.addEventListener("pointerdown", function (event) {
    if (event.button) return;
    var t = term(), box = layout(t), point = place(event), bin = pick(box, point);
    state.nudge = null;
    if (isPair(t)) { state.first = bin[0]; state.last = bin[1]; refresh(); return; }
    if (event.shiftKey) {
      state.first = Math.min(state.first, bin); state.last = Math.max(state.last, bin);
      refresh();
      return;
    }
    drag = { start: point, bin: bin, was: [state.first, state.last], mode: "", range: box.range, scores: null };
    if (bin < state.first || bin > state.last) { state.first = bin; state.last = bin; }
    plot.setPointerCapture(event.pointerId);
    later();
  });
  plot.addEventListener("pointermove", function (event) {
    if (!drag) return;
    var t = term(), box = layout(t), point = place(event), dx = point.x - drag.start.x, dy = point.y - drag.start.y;
    if (!drag.mode && Math.max(Math.abs(dx), Math.abs(dy)) > 4) drag.mode = Math.abs(dx) > Math.abs(dy) ? "select" : "move";
    if (drag.mode === "select") {
      var bin = box.bin(point.x);
      state.first = Math.min(drag.bin, bin); state.last = Math.max(drag.bin, bin);
    } else if (drag.mode === "move") {
      var grain = Math.pow(10, Math.floor(Math.log10((box.range[1] - box.range[0]) / 1000)));
      drag.by = Math.round((box.score(point.y) - box.score(drag.start.y)) / grain) * grain;
      drag.by = Number(drag.by.toPrecision(6));
      drag.value = Number((Math.round((series(t, t.scores, state.output)[state.first] + drag.by) / grain) * grain).toPrecision(6));
      drag.scores = series(t, t.scores, state.output).map(function (score, i) {
        if (i < state.first || i > state.last) return score;
        return state.first === state.last ? drag.value : score + drag.by;
      });
      drag.full = t.scores.slice();
      drag.scores.forEach(function (score, i) { drag.full[i * t.outputs + state.output] = score; });
      drawAnswer();
    }
    later();
  });
  function drop(event) {
    if (!drag) return;
    var done = drag;
    drag = null;
    if (event.type !== "pointerup") { state.first = done.was[0]; state.last = done.was[1]; }
    else if (done.mode === "move" && state.first === state.last) return act("set", parameters({ value: done.value }), "Set " + selectionName() + " to " + shown(done.value));
    else if (done.mode === "move") return act("shift", parameters({ by: done.by }), "Moved " + selectionName() + " by " + signed(done.by));
    else if (!done.mode) { state.first = done.bin; state.last = done.bin; }
    refresh();
  }
  plot.addEventListener("pointerup", drop);
  plot.addEventListener("pointercancel", drop);

  /* ---- keys ---- */
  plot.addEventListener("keydown", function (event) {
    var t = term(), n = t.shape[0] - 1, step = (extent(t)[1] - extent(t)[0]) / 50, key = event.key, moved = true;
    step = Number(step.toPrecision(1));
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isPair(t)) {
      if (key === "ArrowUp") state.first = Math.max(state.first - 1, 0);
      else if (key === "ArrowDown") state.first = Math.min(state.first + 1, n);
      else if (key === "ArrowLeft") state.last = Math.max(state.last - 1, 0);
      else if (key === "ArrowRight") state.last = Math.min(state.last + 1, t.shape[1] - 1);
      else moved = false;
    } else if (key === "Escape" && drag) drop(event);
    else if (key === "ArrowUp" || key === "ArrowDown") { event.preventDefault(); return nudge(key === "ArrowUp" ? step : -step); }
    else if (key === "PageUp" || key === "PageDown") { event.preventDefault(); return nudge(key === "PageUp" ? 5 * step : -5 * step); }
    else if (key === "ArrowRight" && event.shiftKey) state.last = Math.min(state.last + 1, n);
    else if (key === "ArrowLeft" && event.shiftKey) state.first = Math.max(state.first - 1, 0);
    else if (key === "ArrowRight") state.first = state.last = Math.min(state.last + 1, n);
    else if (key === "ArrowLeft") state.first = state.last = Math.max(state.first - 1, 0);
    else if (key === "Home") state.first = event.shiftKey ? 0 : (state.last = 0);
    else if (key === "End") state.last = event.shiftKey ? n : (state.first = n);
    else moved = false;
    if (moved) { event.preventDefault(); refresh(); }
  });
  addEventListener("keydown", function (event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.matches("input, select")) return;
    var key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) { event.preventDefault(); undo(); }
    else if (key === "y" || (key === "z" && event.shiftKey)) { event.preventDefault(); redo(); }
  });

  /* ---- fields, buttons, log ---- */
  function options(select, labels, chosen) {
    if (select.childElementCount !== labels.length || select.getAttribute("data-term") !== String(state.term)) {
      select.textContent = "";
      select.setAttribute("data-term", state.term);
      labels.forEach(function (label, i) { select.appendChild(option(i, label)); });
    }
    select.value = chosen;
  }
  function pressed(id, run) { at(id).addEventListener("click", run); }
  function inner() {
    /* Smoothing and order are for bins with neighbours: a single bin stands for all of them. */
    var t = term(), n = t.shape[0] - 2, single = state.first === state.last;
    if (single || state.first > n) { state.first = 0; state.last = n; }
    state.last = Math.min(state.last, n);
    return parameters({});
  }
  function ordered(direction) {
    return function () { var given = inner(); given = parameters({ direction: direction }); act("monotone", given, "Made " + selectionName() + " " + direction); };
  }
  pressed("undo", undo);
  pressed("redo", redo);
  pressed("revert", function () {
    while (state.edits.length) { var edit = state.edits.pop(); put(edit, edit.before); state.undone.push(edit); }
    state.nudge = null;
    say("Every edit is taken back. Redo makes them again.");
    refresh();
  });
  pressed("smooth", function () { inner(); act("smooth", parameters({ strength: 0.5, passes: 1 }), "Smoothed " + selectionName()); });
  pressed("flatten", function () {
    if (state.first === state.last && isNumeric(term())) inner();
    act("flatten", parameters({}), "Flattened " + selectionName());
  });
  pressed("increasing", ordered("increasing"));
  pressed("decreasing", ordered("decreasing"));
  pressed("zero", function () { act("zero", term().outputs > 1 ? { output: state.output } : {}, "Zeroed " + term().name); });
  function set() {
    var t = term(), exact = t.scores[flatIndex(t, state.first, state.last, state.output)];
    // What is shown has few digits: left as it is, it stands for the score itself.
    var value = at("value").value === digits(exact) ? exact : Number(at("value").value);
    if (at("value").value === "" || !isFinite(value)) return say("Give a number as the score.");
    act("set", parameters({ value: value + 0 }), "Set " + selectionName() + " to " + shown(value));
  }
  pressed("set", set);
  at("value").addEventListener("keydown", function (event) { if (event.key === "Enter") { event.preventDefault(); set(); } });
  ["first", "last"].forEach(function (id) {
    at(id).addEventListener("change", function () {
      state[id] = Number(at(id).value);
      if (!isPair(term()) && state.first > state.last) state[id === "first" ? "last" : "first"] = state[id];
      state.nudge = null;
      refresh();
    });
  });
  at("output").addEventListener("change", function () { state.output = Number(at("output").value); state.nudge = null; refresh(); });
  function drawLog() {
    var list = at("log");
    at("no-log").hidden = state.edits.length > 0;
    list.textContent = "";
    state.edits.forEach(function (edit) {
      var item = element("li"), what = element("div", "what"), reason = element("input");
      what.appendChild(isolated(told(edit)));
      what.appendChild(element("small", "", " " + plural(edit.cells.length, "score")));
      reason.type = "text"; reason.maxLength = 400; reason.value = edit.reason; reason.placeholder = "reason";
      reason.setAttribute("aria-label", "Reason for edit " + edit.number);
      reason.addEventListener("input", function () { edit.reason = whole(reason.value); });
      item.appendChild(what); item.appendChild(reason); list.appendChild(item);
    });
  }
  function drawTable() {
    var t = term(), table = element("table"), head = element("tr"), body = element("tbody");
    if (!at("table").parentElement.open) return;
    [isPair(t) ? "Cell" : "Bin", "Score", "As released", t.low ? "Noise interval" : null, t.weights ? "Records" : null].forEach(function (name, i) {
      if (name) { var th = element("th", i ? "n" : "", name); th.scope = "col"; head.appendChild(th); }
    });
    for (var i = 0; i < Math.min(t.scores.length / t.outputs, 2000); i++) {
      var k = i * t.outputs + state.output, row = element("tr"), th = element("th");
      th.scope = "row";
      th.appendChild(isolated(isPair(t) ? binName(t, 0, Math.floor(i / t.shape[1])) + " & " + binName(t, 1, i % t.shape[1]) : binName(t, 0, i)));
      row.appendChild(th);
      row.appendChild(element("td", "n", shown(t.scores[k])));
      row.appendChild(element("td", "n", shown(t.released[k])));
      if (t.low) row.appendChild(element("td", "n", shown(t.low[k]) + " to " + shown(t.high[k])));
      if (t.weights) row.appendChild(element("td", "n", shown(t.weights[i])));
      body.appendChild(row);
    }
    var thead = element("thead");
    thead.appendChild(head); table.appendChild(thead); table.appendChild(body);
    at("table").textContent = "";
    at("table").appendChild(table);
  }
  at("table").parentElement.addEventListener("toggle", drawTable);
  function effect(t) {
    if (!isEdited(t)) return "";
    var weights = weightsOf(t), change = [], most = 0;
    weights.forEach(function (_, i) {
      var d = Math.abs(t.scores[i * t.outputs + state.output] - t.released[i * t.outputs + state.output]);
      change.push(d); most = Math.max(most, d);
    });
    return " Edits move its score by " + shown(meanOf(change, weights)) + " on average over the records, " + shown(most) + " at most.";
  }
  function refresh() {
    var t = term(), pair = isPair(t), n = state.edits.length;
    at("term-name").textContent = "";
    at("term-name").appendChild(isolated(t.name));
    at("term-facts").textContent = "Importance " + shown(importance(t)) + ", " + plural(t.scores.length / t.outputs, pair ? "cell" : "bin") + "." + effect(t);
    at("output-label").hidden = t.outputs < 2;
    if (t.outputs > 1) { options(at("output"), data.classes, state.output); }
    at("first-name").textContent = pair ? "Row" : "From";
    at("last-name").textContent = pair ? "column" : "to";
    options(at("first"), t.bins[0].labels, state.first);
    options(at("last"), t.bins[pair ? 1 : 0].labels, state.last);
    at("value").value = digits(t.scores[flatIndex(t, state.first, state.last, state.output)]);
    ["smooth", "increasing", "decreasing"].forEach(function (id) { at(id).disabled = !isNumeric(t); });
    at("flatten").disabled = pair;
    at("undo").disabled = at("revert").disabled = !n;
    at("redo").disabled = !state.undone.length;
    document.querySelector(".if-row").hidden = pair;
    document.querySelector(".if-band").hidden = pair || !t.low;
    document.querySelector(".if-weights").hidden = pair || !t.weights;
    document.querySelector(".if-edited").hidden = pair || !isEdited(t);
    at("plot-help").textContent = pair
      ? "The stronger the colour the more a cell adds: warm ones raise the score, cool ones lower it. Click a cell or move with the arrow keys, then set its score below."
      : "Drag a bin up or down. Drag sideways, or hold Shift, to choose several. Keys: left and right choose, up and down move the score. Bins are drawn equally wide; the triangle is the example record.";
    drawTerms(); drawPlot(); drawAnswer(); drawLog(); drawTable();
  }

  /* ---- export ---- */
  function nested(values, shape) {
    if (!shape.length) return values[0];
    var size = values.length / shape[0], out = [];
    for (var i = 0; i < shape[0]; i++) out.push(nested(values.slice(i * size, (i + 1) * size), shape.slice(1)));
    return out;
  }
  function modelText() {
    var text = data.pieces[0];
    data.terms.forEach(function (t, i) {
      text += JSON.stringify(nested(t.scores, t.outputs > 1 ? t.shape.concat(t.outputs) : t.shape)) + data.pieces[i + 1];
    });
    return text + JSON.stringify(state.edits) + data.pieces[data.terms.length + 1];
  }
  // Inside the desk, the button writes a file into its folder.
  if (window.parent !== window) document.getElementById("export").textContent = "Write a new file";
  pressed("export", function () {
    if (window.parent !== window) {
      // Inside the desk, which writes the file: a frame without an origin may not.
      window.parent.postMessage({ edited: modelText() }, "*");
      state.saved = state.edits.length;
      return;
    }
    var link = element("a"), url = URL.createObjectURL(new Blob([modelText()], { type: "application/json" }));
    link.href = url;
    link.download = "model-edited.json";
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(function () { URL.revokeObjectURL(url); }, 10000);
    state.saved = state.edits.length;
    say("Exported the model with " + plural(state.edits.length, "edit") + ".");
  });
  addEventListener("beforeunload", function (event) {
    if (state.edits.length !== state.saved) event.preventDefault();
  });
  if (!data.terms.length) { at("status").textContent = "The model has no term to edit."; return; }
  buildRecord();
  at("finder").hidden = Math.max(Object.keys(data.attributes).length, data.terms.length) <= 16;
  at("find").addEventListener("input", find);
  drawTerms();
  state.term = drawTerms.order[0];
  refresh();
  if (window.ResizeObserver) new ResizeObserver(later).observe(plot);
})();
