/* The arithmetic of edits, step by step that of glassine.models.edits: the doubles are the same. */
var Operations = (function () {
  function floored(weights, floor) {
    return weights.map(function (weight) { return weight > floor ? weight : floor; });
  }
  function weightedMean(scores, weights, floor) {
    var total = 0, mass = 0;
    floored(weights, floor).forEach(function (weight, i) { total += weight * scores[i]; mass += weight; });
    return total / mass;
  }
  function smoothed(scores, weights, strength, floor) {
    return scores.map(function (score, i) {
      var start = Math.max(i - 1, 0), mean = weightedMean(scores.slice(start, i + 2), weights.slice(start, i + 2), floor);
      return score + strength * (mean - score);
    });
  }
  function isotonic(scores, weights, floor) {
    var blocks = [], out = [];
    floored(weights, floor).forEach(function (weight, i) {
      var mean = scores[i], mass = weight, size = 1;
      while (blocks.length && blocks[blocks.length - 1][0] > mean) {
        var last = blocks.pop();
        mean = (last[1] * last[0] + mass * mean) / (last[1] + mass);
        mass = last[1] + mass;
        size += last[2];
      }
      blocks.push([mean, mass, size]);
    });
    blocks.forEach(function (block) { for (var k = 0; k < block[2]; k++) out.push(block[0]); });
    return out;
  }
  function negated(values) { return values.map(function (value) { return -value; }); }
  function row(action, scores, weights, given, floor) {
    if (action === "flatten") {
      var mean = weightedMean(scores, weights, floor);
      return scores.map(function () { return mean; });
    }
    if (action === "monotone") {
      if (given.direction === "increasing") return isotonic(scores, weights, floor);
      return negated(isotonic(negated(scores), weights, floor));
    }
    for (var k = 0; k < given.passes; k++) scores = smoothed(scores, weights, given.strength, floor);
    return scores;
  }
  /* Special codes have no place in an order. */
  function changes(term, action, bin) {
    return !((action === "smooth" || action === "monotone") && term.coded && term.coded.indexOf(bin) >= 0);
  }
  /* Scores of a term after an action, flat; term has shape, outputs, weights, scores. */
  function applied(term, action, given, floor) {
    var outputs = [], cells = [], scores = term.scores.slice(), k;
    for (k = 0; k < term.outputs; k++) if (given.output === undefined || given.output === k) outputs.push(k);
    if (action === "zero") for (k = 0; k < scores.length / term.outputs; k++) cells.push(k);
    else if (given.row !== undefined) cells.push(given.row * term.shape[1] + given.column);
    else for (k = given.first; k <= given.last; k++) if (changes(term, action, k)) cells.push(k);
    outputs.forEach(function (output) {
      var at = cells.map(function (cell) { return cell * term.outputs + output; });
      var part = at.map(function (index) { return scores[index]; }), made;
      if (action === "zero") made = part.map(function () { return 0; });
      else if (action === "set") made = part.map(function () { return given.value; });
      else if (action === "shift") made = part.map(function (score) { return score + given.by; });
      else made = row(action, part, cells.map(function (cell) { return term.weights ? term.weights[cell] : 1; }), given, floor);
      at.forEach(function (index, i) { scores[index] = made[i]; });
    });
    return scores.map(function (score) { return score + 0; });
  }
  return { applied: applied };
})();
