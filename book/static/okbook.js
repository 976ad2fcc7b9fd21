// A formula that is a little wider than a phone shrinks to fit it. One that is much wider keeps a size that can be
// read, and scrolls in its box. A box is looked at whenever its width changes: when it is set, turned or unfolded.
(() => {
  const smallest = 0.7;
  const fit = box => {
    const formula = box.querySelector(".katex-display");
    formula.style.fontSize = "";
    const room = formula.clientWidth, width = formula.scrollWidth;
    if (room && width > room) formula.style.fontSize = `${Math.max(room / width, smallest)}em`;
  };
  const widths = new WeakMap();
  const boxes = new ResizeObserver(entries => requestAnimationFrame(() => entries.forEach(({ target }) => {
    if (widths.get(target) === target.clientWidth) return;
    widths.set(target, target.clientWidth);
    fit(target);
  })));
  addEventListener("load", () => document.querySelectorAll("div.math").forEach(box => boxes.observe(box)));
})();
// A drawing that a phone shows smaller than it was drawn takes its own size by a tap, and scrolls in its box.
addEventListener("click", ({ target }) => {
  if (target.matches(".bd-article figure img")) target.classList.toggle("okb-full");
});
