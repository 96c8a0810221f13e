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
  addEventListener("beforeprint", function () {
    was = all(document).map(function (d) { return [d, d.open]; });
    was.forEach(function (pair) { pair[0].open = true; });
  });
  addEventListener("afterprint", function () {
    was.forEach(function (pair) { pair[0].open = pair[1]; });
  });
})();
