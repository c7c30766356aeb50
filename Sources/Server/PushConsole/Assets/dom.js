// Elements, and the patching of the page. Text becomes text nodes only: nothing in the console parses HTML.

const svgName = "http://www.w3.org/2000/svg";
const svgTags = new Set(["svg", "g", "path", "line", "rect", "text", "circle", "polyline", "polygon"]);

// Emoji with the marks that make one picture of them; and all characters that have no picture, but tabs and line ends.
const picture = String.raw`(?:(?:\p{Emoji_Presentation}|\p{Extended_Pictographic})\ufe0f?\p{Emoji_Modifier}?|[0-9#*]\ufe0f\u20e3)`;
const unseen = new RegExp(
  String.raw`(${picture}(?:\u200d${picture})*)|(?![\t\n])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]`,
  "gu");

/**
 * Makes characters visible that a reader would not see, and that could make a name look like another one: control
 * characters, marks that turn the direction of the text around them, and those that no font draws.
 */
export function visible(text) {
  return String(text).replaceAll(unseen, (one, emoji) => {
    if (emoji) return emoji;
    const code = one.codePointAt(0);
    return code < 0x20 ? String.fromCodePoint(0x2400 + code)
      : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

const spoken = new Set(["aria-label", "aria-valuetext", "title", "data-name"]);

/**
 * Makes an element. Attributes that are functions become event handlers; false, null and undefined are left out, and
 * children that are false or null as well. Children may be nested arrays. The attribute `held` is the state of a
 * checkbox that follows the page and not its user alone.
 */
export function h(tag, attributes, ...children) {
  const element = svgTags.has(tag) ? document.createElementNS(svgName, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "held") {
      element.dataset.held = String(Boolean(value));
      element.checked = Boolean(value);
    }
    if (name === "held" || value === false || value === null || value === undefined) continue;
    if (typeof value === "function") {
      element[name] = value;
      (element.handlers ??= {})[name] = value;
    } else if (name === "value" && tag !== "option") {
      element.value = value;
      element.setAttribute("value", value);
    } else {
      element.setAttribute(name, value === true ? "" : spoken.has(name) ? visible(value) : String(value));
    }
  }
  element.append(...children.flat(Infinity).filter(isSome)
    .map((child) => (child instanceof Node ? child : visible(child))));
  // A select takes its value only after it has its options.
  if (tag === "select" && attributes?.value !== undefined) element.value = attributes.value;
  return element;
}

function isSome(child) {
  return child !== null && child !== undefined && child !== false;
}

/**
 * Makes the children of an element equal to the given nodes, and keeps every element that can stay, so that focus,
 * selection, scroll positions and what a user has typed survive an update.
 */
export function patch(parent, nodes) {
  const fresh = nodes.flat(Infinity).filter(isSome)
    .map((node) => (node instanceof Node ? node : document.createTextNode(visible(node))));
  const keyed = new Map();
  for (let old = parent.firstChild; old; old = old.nextSibling) {
    const key = keyOf(old);
    if (key !== null) keyed.set(key, old);
  }
  let at = parent.firstChild;
  for (const node of fresh) {
    const kept = keeper(at, node, keyed);
    if (!kept) {
      parent.insertBefore(node, at);
    } else {
      if (kept === at) at = at.nextSibling;
      else parent.insertBefore(kept, at);
      morph(kept, node);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Returns the old node that a new one continues: the one with its key, or the next one if it is alike. */
function keeper(at, fresh, keyed) {
  const key = keyOf(fresh);
  if (key === null) return at && keyOf(at) === null && at.nodeName === fresh.nodeName ? at : null;
  const old = keyed.get(key);
  // A key serves once: a second node with the same key is a new element.
  keyed.delete(key);
  return old?.nodeName === fresh.nodeName ? old : null;
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null;
}

/** What a user has set belongs to the user: an update does not take it back. */
const ofUser = { DETAILS: ["open"], INPUT: ["value"], TEXTAREA: ["value"], SELECT: ["value"], DIALOG: ["open"] };

function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  const kept = ofUser[old.nodeName] ?? [];
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
  }
  for (const name of Object.keys({ ...old.handlers, ...fresh.handlers })) old[name] = fresh.handlers?.[name] ?? null;
  old.handlers = fresh.handlers;
  if (fresh.dataset?.held !== undefined) old.checked = fresh.dataset.held === "true";
  if (old.nodeName === "TEXTAREA") return;
  patch(old, [...fresh.childNodes]);
}
