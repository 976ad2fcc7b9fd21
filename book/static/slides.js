// The slides: what is too long for its slide shrinks until it fits.
(() => {
  const smallest = 0.45;
  const fit = slide => {
    const height = Reveal.getConfig().height;
    let scale = 1;
    slide.style.fontSize = "";
    while (slide.scrollHeight > height && scale > smallest) {
      scale -= 0.05;
      slide.style.fontSize = `${scale}em`;
    }
  };
  addEventListener("load", async () => {
    await Reveal.initialize({
      width: 1120, height: 700, margin: 0.06, hash: true, slideNumber: "c/t", transition: "none", center: true,
      plugins: [RevealNotes],
    });
    await document.fonts.ready;
    const now = () => fit(Reveal.getCurrentSlide());
    Reveal.on("slidechanged", now);
    now();
    document.body.dataset.ready = "yes";
  });
})();
