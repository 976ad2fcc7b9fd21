// A formula that is a little wider than a phone shrinks to fit it. One that is much wider keeps a size that can be
// read, and scrolls in its box. A box is looked at whenever its width changes: when it is set, turned or unfolded.
(() => {
  const smallest = 0.7;
  const fit = box => {
    const formula = box.querySelector("mjx-container > svg");
    if (!formula) return;
    formula.style.width = formula.style.height = "";
    const room = box.clientWidth, width = formula.getBoundingClientRect().width;
    if (room && width > room) {
      formula.style.width = `${Math.max(room, smallest * width)}px`;
      formula.style.height = "auto";
    }
  };
  const widths = new WeakMap();
  const boxes = new ResizeObserver(entries => requestAnimationFrame(() => entries.forEach(({ target }) => {
    if (widths.get(target) === target.clientWidth) return;
    widths.set(target, target.clientWidth);
    fit(target);
  })));
  addEventListener("load", () => window.MathJax?.startup?.promise?.then(() => {
    document.querySelectorAll("div.math").forEach(box => boxes.observe(box));
  }));
})();
