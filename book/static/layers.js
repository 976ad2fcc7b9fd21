// "Story" hides, on every page, the sections of other layers and the bars with tests, and in the sidebar the parts for
// implementers and referees. A link to what is hidden shows everything on its page.
(() => {
  const root = document.documentElement, key = "okbook-show";
  const show = what => {
    root.dataset.show = what;
    document.querySelector(".btn-story-button")?.setAttribute("aria-pressed", what === "story");
  };
  const stored = () => { try { return localStorage.getItem(key); } catch { return null; } };
  const wanted = () => stored() === "story" ? "story" : "everything";
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.closest("section.okb-aside, details.okb-tests")) show("everything");
  };
  window.okbookStory = () => {
    const next = root.dataset.show === "story" ? "everything" : "story";
    try { localStorage.setItem(key, next); } catch { /* for this page only */ }
    show(next);
  };
  root.dataset.show = wanted();
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".bd-sidebar-primary p.caption").forEach(caption => {
      if (/^(Implementation notes|Reproduction)$/.test(caption.textContent.trim())) {
        caption.classList.add("okb-beside");
        caption.nextElementSibling?.classList.add("okb-beside");
      }
    });
    show(root.dataset.show);  // now that there is a button
    reveal();
  });
  addEventListener("hashchange", reveal);
})();
