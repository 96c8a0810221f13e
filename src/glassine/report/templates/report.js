(function () {
  var tools = document.querySelector(".tools"), was = [];
  function all(root) { return Array.prototype.slice.call(root.querySelectorAll("details")); }
  if (tools && document.querySelector(".outline details")) {
    tools.hidden = false;
    tools.addEventListener("click", function (event) {
      var value = event.target.getAttribute("data-open");
      if (value !== null) all(document.querySelector(".outline")).forEach(function (d) { d.open = value === "1"; });
    });
  }
  /* Zoom of a large tree: the boxes below one of them take the whole drawing. Each says in data-at its depth, top,
     height and whether it is a leaf; data-shape has the column, the right end, the last column, height and top. */
  function zoom(bar) {
    var drawn = bar.parentElement.querySelector(".boxes"), select = bar.querySelector("select");
    var shape = drawn.getAttribute("data-shape").split(" ").map(Number), column = shape[0], last = shape[2];
    var boxes = Array.prototype.map.call(drawn.children, function (g) {
      var at = g.getAttribute("data-at").split(" ").map(Number), text = g.querySelector("text");
      return { g: g, depth: at[0], y: at[1], tall: at[2], leaf: at[3] === 1, kind: g.getAttribute("class"), text: text, label: text.textContent };
    });
    function within(box, root) {
      return !root || (box.depth >= root.depth && box.y > root.y - 0.02 && box.y + box.tall < root.y + root.tall + 0.02);
    }
    function show(root) {
      var skipped = root ? root.depth - 1 : 0, top = root ? root.y : shape[4], by = shape[3] / (root ? root.tall : shape[3]);
      boxes.forEach(function (box) {
        var at = box.depth - skipped, inside = at <= last && within(box, root), ends = box.leaf || at === last;
        if (!inside) { box.g.setAttribute("display", "none"); return; }
        box.g.removeAttribute("display");
        var x = (at - 1) * column, y = shape[4] + (box.y - top) * by, tall = box.tall * by, middle = y + tall / 2, gap = tall > 4 ? 1 : 0.2;
        box.g.setAttribute("class", ends ? box.kind : "inner");
        Array.prototype.forEach.call(box.g.children, function (piece) {
          if (piece.matches("rect.mix")) {
            var bar = Math.min(Math.max(tall - 2, 0.6), 14);
            piece.setAttribute("y", middle - bar / 2); piece.setAttribute("height", bar);
          } else if (piece.matches("rect")) {
            piece.setAttribute("x", x + 1); piece.setAttribute("y", y + gap);
            piece.setAttribute("width", (ends ? shape[1] - x : column) - 2); piece.setAttribute("height", Math.max(tall - 2 * gap, 0.6));
          } else if (piece.matches("text")) {
            if (piece === box.text) { piece.setAttribute("x", x + 9); piece.textContent = ends ? box.label : box.label.replace(/ \u2026$/, ""); }
            piece.setAttribute("y", middle);
            piece.setAttribute("display", tall < 13 || (!ends && piece !== box.text) ? "none" : "inline");
          }
        });
      });
      select.value = root ? String(boxes.indexOf(root)) : "";
    }
    boxes.forEach(function (box, i) {
      var leaves = boxes.filter(function (other) { return other.leaf && within(other, box); }).length;
      if (box.leaf || leaves < 2) return;
      var option = document.createElement("option");
      option.value = String(i);
      option.textContent = new Array(box.depth).join("\u2013 ") + box.g.querySelector("title").textContent.replace(/;.*/, "") + " (" + leaves + ")";
      if (box.depth <= 4) select.appendChild(option);
      box.g.addEventListener("click", function () { show(select.value === String(i) ? null : box); });
    });
    select.addEventListener("change", function () { show(select.value === "" ? null : boxes[Number(select.value)]); });
    bar.querySelector("button").addEventListener("click", function () { show(null); });
    bar.hidden = false;
  }
  document.querySelectorAll(".zoom").forEach(zoom);
  /* A section that is folded away opens when a link leads to it. */
  function unfold() {
    var target = location.hash && document.getElementById(location.hash.slice(1)), fold = target && target.querySelector(":scope > details");
    if (fold) fold.open = true;
  }
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", function () {
    was = all(document).map(function (d) { return [d, d.open]; });
    was.forEach(function (pair) { pair[0].open = true; });
  });
  addEventListener("afterprint", function () {
    was.forEach(function (pair) { pair[0].open = pair[1]; });
  });
})();
