/* Light or dark before the first paint; a classic script, because a module would run too late. */
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");

  function paint() {
    const chosen = localStorage.getItem("ostler.theme") ?? "system";
    const theme = chosen === "system" ? (dark.matches ? "dark" : "light") : chosen;
    document.documentElement.dataset.theme = theme;
  }

  paint();
  dark.addEventListener("change", paint);
  addEventListener("storage", paint);
  addEventListener("theme", paint);
})();
