// What is found stands by group: pages of the book, words and signs, the API. A snippet is text of the article, where each
// formula stands once.
document.addEventListener("DOMContentLoaded", () => {
  const read = Search.htmlToText;
  Search.htmlToText = (text, anchor) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    page.querySelector("[role=main]")?.replaceChildren(page.querySelector("article"));
    page.querySelectorAll(".katex-html, annotation, .okb-layer").forEach(e => e.remove());
    return read(page.documentElement.outerHTML, anchor);
  };

  const place = document.getElementById("search-results");
  const groups = [["The book", /^nbs\/(?!api|glossary|notation)/], ["Words and signs", /^nbs\/(glossary|notation)/], ["The API", /./]];
  for (const group of groups) {
    const box = document.createElement("div"), list = Object.assign(document.createElement("ul"), { className: "search" });
    box.append(Object.assign(document.createElement("h2"), { textContent: group[0] }), list);
    box.hidden = true;
    place.parentElement.append(box);
    group.push(list, box);
  }
  new MutationObserver(() => {
    for (const item of [...Search.output?.children ?? []]) {
      const [, , list, box] = groups.find(([, pages]) => pages.test(item.querySelector("a").getAttribute("href")));
      list.append(item);
      box.hidden = false;
    }
  }).observe(place, { childList: true, subtree: true });
});
