// What a link to an equation, a theorem, an exercise, a figure, a reference or a term leads to is shown in a card while
// the mouse or the keyboard's focus is on it. A tap shows it at the foot; a second one follows the link, and a button leads
// back. book/okbook_book/previews.py writes what is shown.
(() => {
  const LINKS = ".bd-article a.reference.internal[href*='#']";
  const root = new URL(document.documentElement.dataset.content_root, location.href).href;
  const shown = {}, scripts = {};
  let pages;  // from _previews/pages.js
  let wanted, card, timer, touch;

  window.okbookPreviews = (page, found) => {
    if (page === "pages") pages = found;
    else shown[page] = found;
  };
  const load = path => scripts[path] ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    Object.assign(script, { src: root + path, onload: resolve, onerror: reject });
    document.head.append(script);
  });

  const find = async url => {
    if (!url.href.startsWith(root)) return;
    const page = decodeURI(url.pathname.slice(new URL(root).pathname.length)).replace(/\.html$/, "");
    await load("_previews/pages.js");
    if (!pages.includes(page)) return;
    await load(`_previews/${page}.js`);
    return shown[page][decodeURIComponent(url.hash.slice(1))];
  };

  const place = (box, link) => {
    const at = link.getBoundingClientRect(), room = document.documentElement.clientWidth;
    const below = innerHeight - at.bottom - 14, above = at.top - 14, up = box.offsetHeight > below && above > below;
    box.style.maxHeight = `min(60vh, ${up ? above : below}px)`;
    box.style.left = `${scrollX + Math.max(8, Math.min(at.left, room - box.offsetWidth - 8))}px`;
    box.style.top = `${scrollY + (up ? at.top - box.offsetHeight - 6 : at.bottom + 6)}px`;
  };

  const close = () => {
    clearTimeout(timer);
    wanted?.removeAttribute("aria-describedby");
    card?.remove();
    wanted = card = null;
  };

  const show = async link => {
    close();
    wanted = link;
    const url = new URL(link.href), html = await find(url);
    if (wanted !== link) return;
    if (!html) return touch && follow(url);
    link.removeAttribute("title");  // the card says it
    card = document.createElement("div");
    Object.assign(card, { id: "okb-preview", className: "okb-preview", role: "tooltip", innerHTML: html });
    const box = card;
    for (const name of ["href", "src"])
      box.querySelectorAll(`[${name}]`).forEach(e => e.setAttribute(name, new URL(e.getAttribute(name), url)));
    box.querySelectorAll("a").forEach(a => a.tabIndex = -1);
    if (touch) {
      const go = Object.assign(document.createElement("button"), { textContent: "Go there", onclick: () => follow(url) });
      box.append(go);
      box.classList.add("okb-sheet");
    }
    document.body.append(box);
    await Promise.all([...box.querySelectorAll("img")].map(img => img.decode().catch(() => {})));
    if (card !== box) return;
    if (!touch) place(box, link);
    box.classList.add("okb-shown");
    link.setAttribute("aria-describedby", box.id);
  };

  const follow = url => {
    close();
    sessionStorage.setItem("okb-back", "yes");
    location.href = url;
  };
  const offerBack = () => {
    if (!sessionStorage.getItem("okb-back")) return;
    sessionStorage.removeItem("okb-back");
    document.querySelector(".okb-back")?.remove();
    const button = Object.assign(document.createElement("button"), { className: "okb-back", textContent: "Back to where I was" });
    button.onclick = () => (button.remove(), history.back());
    document.body.append(button);
  };
  addEventListener("hashchange", offerBack);
  offerBack();

  const later = (action, delay) => {
    clearTimeout(timer);
    timer = setTimeout(action, delay);
  };
  document.addEventListener("pointerdown", ({ target, pointerType }) => {
    touch = pointerType === "touch";
    if (touch && card && !card.contains(target) && target.closest(LINKS) !== wanted) close();
  });
  document.addEventListener("click", event => {
    const link = event.target.closest(LINKS);
    if (!touch || !link) return;
    event.preventDefault();
    if (link === wanted) follow(new URL(link.href));
    else show(link);
  });
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType !== "mouse") return;
    const link = target.closest(LINKS);
    if (card?.contains(target) || (link && link === wanted)) clearTimeout(timer);
    else if (link) later(() => show(link), 150);
    else if (wanted?.matches(":focus-visible")) clearTimeout(timer);
    else later(close, 250);
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = target.closest(LINKS);
    if (link?.matches(":focus-visible")) show(link);
  });
  document.addEventListener("focusout", ({ target }) => target === wanted && close());
  document.addEventListener("keydown", ({ key }) => key === "Escape" && close());
})();
