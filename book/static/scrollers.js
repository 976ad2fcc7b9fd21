// What is wider than its box scrolls in it: such a box can be reached with the keyboard, has a name, and fades
// towards the side on which it goes on (page.css).
(() => {
  const names = new Map([
    [".pst-scrollable-table-container", "Table"],
    ["div.math", "Formula"],
    ["dl.py > dt", "Signature"],
    [".cell_output", "Output"],
  ]);
  // All boxes are measured before any is changed: else the page would be set anew for each of them.
  const waiting = new Map();
  const look = () => {
    const found = [...waiting].map(([box, name]) => {
      const wide = box.scrollWidth > box.clientWidth + 1;
      return { box, name, wide, more: wide && box.scrollLeft + box.clientWidth < box.scrollWidth - 1 };
    });
    waiting.clear();
    found.forEach(({ box, name, wide, more }) => {
      box.classList.toggle("okb-more", more);
      if (wide === box.hasAttribute("tabindex")) return;
      if (wide) {
        box.tabIndex = 0;
        if (!box.hasAttribute("role")) box.setAttribute("role", "group");
        if (!box.hasAttribute("aria-label")) box.setAttribute("aria-label", `${name}, scrolls sideways`);
      } else ["tabindex", "role", "aria-label"].forEach(attribute => box.removeAttribute(attribute));
    });
  };
  addEventListener("DOMContentLoaded", () => names.forEach((name, selector) => {
    document.querySelectorAll(`.bd-article :is(${selector})`).forEach(box => {
      const again = () => {
        if (!waiting.size) requestAnimationFrame(look);
        waiting.set(box, name);
      };
      const sizes = new ResizeObserver(again);
      [box, ...box.children].forEach(element => sizes.observe(element));
      box.addEventListener("scroll", again, { passive: true });
    });
  }));
})();

// The arrows of the sidebar, which the theme leaves without a name, say which pages they show.
addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".bd-sidebar-primary li.has-children").forEach(item => {
    const link = item.querySelector(":scope > a"), arrow = item.querySelector(":scope > details > summary");
    if (link && arrow) arrow.setAttribute("aria-label", `Pages of ${link.textContent.trim()}`);
  });
});
