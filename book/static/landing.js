// Draws one query of the figure on the landing page: the body of a function of `svg`,
// `state` and `step` (okbook.drawing.moving_figure). A state has a row for each method:
// weights in thousandths, the weighted sum of the hands in the disc, the prediction.
const base = row => +row.querySelector(".base").getAttribute("d").match(/ (\d+)H/)[1];
const scale = 44, [left, right] = drag;
const said = [...svg.querySelectorAll(".method")].map((row, k) => {
  const [weights, east, north, hour] = state[k];
  row.querySelectorAll("rect").forEach((bar, i) => {
    const w = weights[i] / 1000;
    bar.setAttribute("class", w < 0 ? "less" : "more");
    bar.setAttribute("y", base(row) - scale * Math.max(w, 0));
    bar.setAttribute("height", scale * Math.abs(w));
  });
  row.querySelector(".sum").setAttribute("d", `M0 0L${east} ${-north}`);
  row.querySelector(".point").setAttribute("cx", east);
  row.querySelector(".point").setAttribute("cy", -north);
  row.querySelector("tspan").textContent = hour;
  const name = row.querySelector("text").firstChild.textContent.replace(/: $/, "");
  const used = weights.filter(w => w).length, largest = Math.max(...weights) / 1000;
  return `${name} ${hour} (${used} weights, the largest ${largest.toFixed(3)})`;
});
svg.querySelector(".query").setAttribute(
  "transform", `translate(${left + (right - left) * step.split(" = ")[1]},0)`
);
return `At ${step} the methods predict: ${said.join("; ")}.`;
