// Checks the page for what WCAG 2.2 AA asks of it and a program can see. Returns its faults as sentences.
(() => {
  const faults = [];
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const shown = (element) => element.checkVisibility({ visibilityProperty: true })
    && !element.closest(".unseen, [aria-hidden=true]");
  const name = (element) => `${element.nodeName.toLowerCase()}${element.className?.baseVal ?? element.className
    ? `.${String(element.className?.baseVal ?? element.className).split(" ").join(".")}`
      : ""} "${element.textContent.trim().slice(0, 30)}"`;
  const fault = (element, text) => faults.push(`${name(element)}: ${text}`);

  // The frame of the page.
  if (document.documentElement.lang !== "en") faults.push("the page has no language");
  if (!document.title) faults.push("the page has no title");
  for (const landmark of ["header", "main", "nav"]) if (!document.querySelector(landmark)) faults.push(
    `the page has no ${landmark}`);
  if (all("h1").length !== 1) faults.push(`the page has ${all("h1").length} headings of the first level`);
  let level = 1;
  for (const heading of all("h1, h2, h3, h4")) {
    const own = Number(heading.nodeName[1]);
    if (own > level + 1) fault(heading, `level ${own} follows level ${level}`);
    level = own;
  }
  const ids = all("[id]").map(({ id }) => id);
  for (const id of ids.filter((one, at) => ids.indexOf(one) !== at)) faults.push(`the id ${id} occurs twice`);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const element of all(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(" ")) if (!document.getElementById(id)) fault(
        element, `${attribute} names ${id}`);
    }
  }
  if (all("[role=status][aria-live=polite]").length !== 1) faults.push("there is not one status region");
  for (const element of all("[style]")) fault(element, "has a style attribute");
  for (const element of all("*")) {
    for (const { name: attribute } of element.attributes) if (/^on/.test(attribute)) fault(
      element, `has the attribute ${attribute}`);
  }

  // Tables and forms.
  for (const table of all("table")) {
    if (!table.caption?.textContent.trim()) fault(table, "has no caption");
    for (const cell of all("th", table)) if (!cell.hasAttribute("scope")) fault(cell, "has no scope");
  }
  for (const control of all("input, select, textarea")) {
    if (!control.labels?.length && !control.ariaLabel) fault(control, "has no label");
  }

  // The keyboard.
  for (const element of all("[tabindex]")) if (element.tabIndex > 0) fault(element, "is out of the order of the page");
  for (const element of all("*")) {
    if (element.onclick && !["A", "BUTTON", "SUMMARY", "INPUT"].includes(element.nodeName)) fault(
      element, "can be clicked and not focused");
  }
  for (const element of all("button, input, select, textarea, summary, nav a, a.button").filter(shown)) {
    const box = element.getBoundingClientRect();
    if (box.width < 23.5 || box.height < 23.5) fault(
      element, `is ${Math.round(box.width)} by ${Math.round(box.height)} pixels; 24 are needed`);
  }
  for (const svg of all("svg")) if (svg.getAttribute("aria-hidden") !== "true" && !svg.getAttribute("role")) fault(
    svg, "has no role");

  // Contrast.
  const channels = (color) => {
    const context = new OffscreenCanvas(1, 1).getContext("2d");
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3]));
  const light = (color) => {
    const [red, green, blue] = color.slice(0, 3).map((part) =>
      (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor, backgroundImage } = getComputedStyle(at);
      if (backgroundImage !== "none") return null;
      const color = channels(backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reduceRight((below, top) => over(top, below),
      channels(getComputedStyle(document.documentElement).backgroundColor));
  };
  const seen = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })
      || element.closest(".unseen, :disabled, noscript, .skip")) continue;
    const style = getComputedStyle(element);
    const background = behind(element);
    if (!background) continue;
    const isDrawn = element.namespaceURI.endsWith("svg");
    const color = over(channels(isDrawn ? style.fill : style.color), background);
    const [more, less] = [light(color), light(background)].sort((one, other) => other - one);
    const ratio = (more + 0.05) / (less + 0.05);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const key = `${style.color} ${style.fill} ${background}`;
    if (ratio < (isLarge ? 3 : 4.5) && !seen.has(key)) {
      seen.set(key, true);
      fault(element, `has a contrast of ${ratio.toFixed(2)}`);
    }
  }

  // Reflow.
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = all("main *, header *").filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
      .map(name);
    const width = document.documentElement.scrollWidth;
    faults.push(`the page is ${width} pixels wide, the window ${innerWidth}: ${wide.slice(0, 4).join(", ")}`);
  }
  return faults;
})();
