// Sets the color scheme before the page is shown, so that it does not flash.
(() => {
  try {
    const theme = localStorage.getItem("carillon-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // A browser without storage follows the system.
  }
})();
