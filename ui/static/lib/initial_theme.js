// Sets the theme before the first paint, so that a dark page does not flash white.
try {
  const chosen = localStorage.getItem("holter.theme");
  const dark =
    chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
} catch {
  document.documentElement.dataset.theme = "light"; // storage is blocked: main.js sets the theme
}
