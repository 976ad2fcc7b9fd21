// A formula that is a little wider than a phone shrinks to fit it. One that is much wider keeps a size that can be
// read, and scrolls in its box. A box is looked at whenever its width changes: when it is set, turned or unfolded.
// All are measured before any is changed: else the page would be set anew for each of them.
(() => {
  const smallest = 0.7, widths = new WeakMap();
  const fit = boxes => {
    const formulas = boxes.map(box => box.querySelector(".katex-display"));
    formulas.forEach(formula => formula.style.removeProperty("font-size"));
    const sizes = formulas.map(formula => [formula.clientWidth, formula.scrollWidth]);
    sizes.forEach(([room, width], n) => {
      if (room && width > room) formulas[n].style.fontSize = `${Math.max(room / width, smallest)}em`;
    });
  };
  const looked = new ResizeObserver(entries => requestAnimationFrame(() => {
    const changed = entries.map(({ target }) => target).filter(box => widths.get(box) !== box.clientWidth);
    changed.forEach(box => widths.set(box, box.clientWidth));
    fit(changed);
  }));
  addEventListener("load", () => document.querySelectorAll("div.math").forEach(box => looked.observe(box)));
})();
// A drawing that a phone shows smaller than it was drawn takes its own size by a tap, and scrolls in its box.
addEventListener("click", ({ target }) => {
  if (target.matches(".bd-article figure img")) target.classList.toggle("okb-full");
});
// A phone sets only the sections that are near its screen (page.css). For a jump all of them are set, since it needs
// the place of its target, and when a page is opened again, to find the place where it was left. What marks the
// current section in the list of sections would set all of them, too; a phone does not show this list.
(() => {
  const all = document.documentElement.classList, whole = () => all.add("okb-whole");
  if (location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") whole();
  addEventListener("click", ({ target }) => target.closest('a[href*="#"]') && whole(), true);
  addEventListener("hashchange", () => {
    if (all.contains("okb-whole")) return;
    whole();
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  });
  addEventListener("DOMContentLoaded", () => {
    if (matchMedia("(max-width: 60rem)").matches) document.body.removeAttribute("data-bs-spy");
  });
})();
