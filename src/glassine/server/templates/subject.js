"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const make = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  // A name breaks between its words: after a mark, and before a capital.
  const breakable = (element, name) => {
    let from = 0;
    element.replaceChildren();
    for (let i = 1; i < name.length; i++) {
      const before = name[i - 1], after = name[i];
      if (!((/[_\-./:]/.test(before) && /\w/.test(after)) || (/[a-z0-9]/.test(before) && /[A-Z]/.test(after)))) continue;
      element.append(name.slice(from, i), make("wbr"));
      from = i;
    }
    element.append(name.slice(from));
    return element;
  };

  // Whole numbers as they are: labels and codes are no measurements.
  const shown = (value) => value === null ? "not known"
    : typeof value !== "number" || Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(12)));
  // A number that is predicted; values of attributes can be codes or years, which have no separators.
  const decided = (value) => typeof value !== "number" || data.tolerance === null || Math.abs(value) < 1e-3
    || Math.abs(value) >= 1e15 ? shown(value) : value.toLocaleString("en-US", {maximumSignificantDigits: 12});
  const roughly = (value) => String(Number(value.toPrecision(4)));

  const complain = (field, error, text) => {
    field.setAttribute("aria-invalid", text ? "true" : "false");
    error.hidden = !text;
    error.textContent = text || "";
  };

  // Returns the typed record, or null after complaints.
  const typed = () => {
    const record = {};
    let first = null;
    data.names.forEach((name, i) => {
      const field = at("f" + i), choices = data.fields[i];
      let text = "", value = null;
      if (choices) {
        if (field.value === "") text = "Choose a value.";
        else value = field.value === "missing" ? null : choices[Number(field.value)];
      } else if (field.validity.badInput) {
        text = "Type a number.";
      } else if (field.value === "") {
        if (!field.nextElementSibling.textContent.includes("leave empty")) text = "Type a number.";
      } else {
        value = Number(field.value);
        if (!(value >= Number(field.min) && value <= Number(field.max))) text = `Type a number from ${field.min} to ${field.max}.`;
        else if (field.step === "1" && !Number.isInteger(value)) text = "Type a whole number.";
      }
      complain(field, at("e" + i), text);
      if (text && first === null) first = field;
      Object.defineProperty(record, name, { value, enumerable: true });
    });
    if (first) first.focus();
    return first ? null : record;
  };

  // Returns what contrasts may change, or null after complaints.
  const allowed = () => {
    const constraints = { fixed: [], only_up: [], only_down: [], costs: {} };
    let first = null;
    data.names.forEach((name, i) => {
      const may = at("m" + i).value, field = at("c" + i);
      if (may) constraints[may].push(name);
      const empty = field.value === "" && !field.validity.badInput, cost = Number(field.value);
      const text = empty || (!field.validity.badInput && cost > 0) ? "" : "Type a number above 0.";
      complain(field, at("d" + i), text);
      if (text && first === null) first = field;
      if (!text && !empty) Object.defineProperty(constraints.costs, name, { value: cost, enumerable: true });
    });
    (data.tolerance === null ? [] : ["at_least", "at_most"]).forEach((name) => {
      const field = at(name), text = field.validity.badInput ? "Type a number." : "";
      complain(field, at(name + "-e"), text);
      if (text && first === null) first = field;
      if (!text && field.value !== "") constraints[name] = Number(field.value);
    });
    if (first) {
      at("constraints").open = true;
      first.focus();
    }
    return first ? null : constraints;
  };

  // As the service writes conditions.
  const literalText = (literal) => {
    const name = literal.attribute, not = Boolean(literal.negated);
    const gap = literal.missing ? " or missing" : "";
    if (literal.values) {
      const values = literal.values.map(shown);
      if (!values.length) return `${name} is ${not ? "not " : ""}missing`;
      if (values.length === 1) return `${name} ${not ? "!=" : "="} ${values[0]}${gap}`;
      return `${name} ${not ? "not in" : "in"} {${values.join(", ")}}${gap}`;
    }
    const low = literal.above, high = literal.at_most;
    if (low === undefined && high === undefined) return `${name} is ${not !== Boolean(literal.missing) ? "anything" : not ? "missing" : "not missing"}`;
    if (low === undefined) return `${name} ${not ? ">" : "<="} ${shown(high)}${gap}`;
    if (high === undefined) return `${name} ${not ? "<=" : ">"} ${shown(low)}${gap}`;
    const inside = `${shown(low)} < ${name} <= ${shown(high)}`;
    return (not ? `not (${inside})` : inside) + gap;
  };

  const drawTree = (tree, path) => {
    const on = new Set(path), many = tree.nodes.length > 31;
    const label = (node) => {
      const prediction = node.label;
      if (data.tolerance !== null) return `mean ${decided(node.value)}`;
      return prediction === null || prediction === undefined ? "no decision" : shown(tree.classes[prediction]);
    };
    const visit = (index, literal) => {
      const node = tree.nodes[index], item = make("li");
      if (on.has(index)) item.className = "way";
      const leaf = !node.branches || !node.branches.length;
      const said = literal ? literalText(literal) : "every record";
      let holder = item;
      if (!leaf && many && !on.has(index)) {
        holder = make("details");
        item.append(holder);
        holder.append(make("summary", said));
      } else {
        item.append(make("span", said, "node" + (leaf ? " leaf" : "")));
      }
      if (leaf) item.append(make("span", "then " + label(node), "end" + (on.has(index) ? " taken" : "")));
      if (leaf && on.has(index)) item.append(make("span", "(yours)", "end taken"));
      if (!leaf) {
        const list = make("ul");
        node.branches.forEach((branch) => list.append(visit(branch.child, branch.if)));
        holder.append(list);
      }
      return item;
    };
    const root = make("ul");
    root.append(visit(0, null));
    at("tree").replaceChildren(root);
  };

  // How many records of a group the one decision of its tree does not fit, where the tree publishes that.
  const exceptions = (tree) => {
    const leaf = tree.nodes[0], counts = leaf.counts;
    if ((leaf.branches || []).length || !counts || leaf.label === null || leaf.label === undefined) return "";
    const total = counts.reduce((sum, count) => sum + count, 0), other = total - counts[leaf.label];
    if (!other) return "";
    const told = data.labels === "black-box" ? "were decided otherwise" : "have another label";
    const noisy = tree.guarantee ? "About " : "";
    return ` ${noisy}${other.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} ${data.unit} in this group ${told}.`;
  };

  const drawContrasts = (answer, constraints) => {
    const limited = constraints.fixed.length + constraints.only_up.length + constraints.only_down.length > 0;
    const holder = at("contrasts");
    holder.replaceChildren();
    at("contrast-h").textContent = data.decides ? "What would have to change" : "Changes of the small tree alone";
    const found = [...answer.contrasts, ...answer.candidates];
    if (!found.length) {
      const decisions = new Set(answer.tree.nodes.filter((node) => !(node.branches || []).length).map((node) => data.tolerance === null ? node.label : node.value));
      holder.append(make("p", answer.goal === "met" ? "The small tree's mean is so already."
        : answer.goal === "out of reach" ? "No change that you allow was found to lead the small tree to such a mean."
        : decisions.size < 2
        ? "This small tree has one decision, so no change leads to another."
        : limited ? "No change that you allow was found to lead the small tree to another decision."
        : "No change that the described values allow was found to lead the small tree to another decision."));
      return;
    }
    const costed = found[0].cost !== null;
    const entry = (contrast) => {
      const item = make("li");
      const changes = contrast.changes.map((change) => `${change.condition} (${shown(change.from)} now, for example ${shown(change.to)})`);
      item.append(make("strong", (data.tolerance === null ? "" : "Mean ") + decided(contrast.decision)), ` if ${changes.join(", and ")}.`);
      if (costed) item.append(` Cost ${roughly(contrast.cost)}.`);
      const goal = answer.goal !== null ? "The black box's answer is also what you asked for." : "The black box's answer is also close to it.";
      if (contrast.confirmed) item.append(data.tolerance === null ? " The black box decides so too." : ` ${goal}`);
      return item;
    };
    const listed = (contrasts) => {
      const list = make("ol");
      list.append(...contrasts.map(entry));
      return list;
    };
    if (!data.decides) {
      // Nobody asked the black box, so that none of them is a contrast.
      const otherwise = data.tolerance === null ? "another decision" : "another mean";
      holder.append(make("p", `The black box was not asked. These changes lead the small tree alone to ${otherwise}: they are no advice.`), listed(found));
      return;
    }
    // What the black box refutes is no advice: it holds of the small tree alone.
    const refuted = answer.candidates;
    const advised = answer.contrasts;
    const aside = () => {
      if (!refuted.length) return;
      const fold = make("details", undefined, "refuted");
      fold.append(make("summary", `${refuted.length === 1 ? "1 change" : `${refuted.length} changes`} of the small tree alone: no advice`));
      fold.append(make("p", `The black box itself does not ${data.tolerance === null ? "decide" : "answer"} so.`), listed(refuted));
      holder.append(fold);
    };
    if (!advised.length) {
      holder.append(make("p", "No change was found that the black box confirms."));
      aside();
      return;
    }
    holder.append(make("p", answer.agrees
      ? `The nearest changes, ${costed ? "smallest cost" : "fewest attributes"} first:`
      : data.tolerance !== null ? "The mean of the tree shown is not close to the black box's answer; these are the nearest changes of the mean:"
      : "The tree shown does not decide as the black box does; these are the nearest changes of its own decision:"));
    holder.append(listed(advised));
    aside();
  };

  const draw = (answer, record, constraints) => {
    at("decided").textContent = decided(answer.decision);
    const near = data.tolerance === null ? "" : `within ${decided(data.tolerance)} of it`;
    at("said").textContent = near
      ? answer.agrees
        ? `The tree shown, number ${answer.rank} by the distance of its representative, has the mean ${decided(answer.tree_decision)}, ${near}.`
        : `No tree that was asked has a mean ${near}. The closest one has ${decided(answer.tree_decision)}, and is shown: it does not explain this answer.`
      : answer.agrees
      ? answer.rank > 1
        ? `The tree of the representative that is number ${answer.rank} by distance agrees.`
        : "The tree of the closest representative agrees."
      : `No tree that was asked agrees. The closest one says ${decided(answer.tree_decision)}, and is shown: it does not explain this decision.`;
    const way = answer.conditions.length ? `Your record satisfies ${answer.conditions.join(" and ")}.` : "Your record is in a group whose tree has no condition.";
    at("way").textContent = near
      ? `${way} Over records of the group that do, the black box answers ${decided(answer.tree_decision)} on average.`
      : answer.conditions.length
      ? `Your record satisfies ${answer.conditions.join(" and ")}. The tree decides for such records: ${decided(answer.tree_decision)}.`
      : `The tree decides ${decided(answer.tree_decision)} for every record near yours.${exceptions(answer.tree)}`;
    drawTree(answer.tree, answer.path);
    drawContrasts(answer, constraints);
    at("representative-said").textContent = `Group ${answer.group}, at distance ${roughly(answer.distance)} from your record.`;
    const rows = data.names.map((name) => {
      const row = make("tr"), head = breakable(make("th"), name);
      head.scope = "row";
      const values = { Yours: record[name], Representative: answer.representative[name] };
      row.append(head, ...Object.entries(values).map(([label, value]) => {
        const cell = make("td", shown(value));
        cell.dataset.label = label; // Where the columns stand below each other
        return cell;
      }));
      return row;
    });
    at("representative").tBodies[0].replaceChildren(...rows);
    at("reveals").replaceChildren(...answer.reveals.map((text) => make("li", text)));
    at("answer").hidden = false;
    at("answer").focus({ preventScroll: true });
    at("answer").scrollIntoView({ block: "start" });
  };

  const say = (text, bad) => {
    at("status").textContent = text;
    at("status").className = bad ? "bad" : "";
  };

  document.querySelectorAll("[data-name]").forEach((element) => breakable(element, element.dataset.name));

  // Of a wide model, those attributes are shown whose name holds what is typed.
  const find = at("find");
  if (find) {
    find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      let left = 0;
      data.names.forEach((name, i) => {
        const hides = !name.toLowerCase().includes(wanted);
        at("f" + i).closest(".input").hidden = at("m" + i).closest(".input").hidden = hides;
        if (!hides) left += 1;
      });
      at("found").textContent = wanted ? `${left} of ${data.names.length} attributes are shown.` : "";
    });
  }
  const reveal = () => {
    if (find && find.value) {
      find.value = "";
      find.dispatchEvent(new Event("input"));
    }
  };

  at("example").addEventListener("click", () => {
    data.example.forEach((value, i) => { at("f" + i).value = value; complain(at("f" + i), at("e" + i), ""); });
    say("The example is a published representative. Change a value and ask again.");
    at("query").requestSubmit(at("ask"));
  });

  at("query").addEventListener("submit", async (event) => {
    event.preventDefault();
    // What is missing may be hidden.
    reveal();
    const record = typed();
    if (!record) {
      say("Some values are missing or outside their range.", true);
      return;
    }
    const constraints = allowed();
    if (!constraints) {
      say("A cost is not a number above 0.", true);
      return;
    }
    const body = { query: record, guided: at("guided").checked, constraints };
    if (!data.decides && data.tolerance !== null) {
      const field = at("decision"), absent = field.value === "" || field.validity.badInput;
      complain(field, at("decision-e"), absent ? "Type a number." : "");
      if (absent) {
        field.focus();
        say("The answer to explain is missing.", true);
        return;
      }
      body.decision = Number(field.value);
    } else if (!data.decides) body.decision = data.classes[Number(at("decision").value)];
    at("ask").disabled = true;
    say("Asking.");
    let reply, answer;
    try {
      reply = await fetch("explanation", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
      });
      answer = await reply.json();
    } catch {
      at("answer").hidden = true;
      say("The service cannot be reached. Try again.", true);
      return;
    } finally {
      at("ask").disabled = false;
    }
    if (reply.ok) {
      say("Answered below.");
      draw(answer, record, constraints);
    } else {
      at("answer").hidden = true;
      const after = reply.headers.get("Retry-After");
      say(answer.detail + (after ? ` In ${after} s.` : ""), true);
    }
  });
})();
