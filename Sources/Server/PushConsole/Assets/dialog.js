// Questions before something is changed or destroyed. They say what will happen, and to how many.

import { h } from "./dom.js";

let place = null;

/**
 * Asks, and returns whether the answer is yes. The button that does it has the name of the deed, and the focus begins
 * at the one that does nothing.
 */
export function ask({ title, text, deed, isGrave = true }) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "question", "aria-labelledby": "question-title",
      "aria-describedby": "question-text" },
      h("h2", { id: "question-title" }, title),
      h("div", { id: "question-text" }, [text].flat().filter(Boolean)
        .map((line) => line instanceof Node ? line : h("p", null, line))),
      h("div", { class: "buttons" },
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close("") }, "Do nothing"),
        h("button", { type: "button", class: isGrave ? "grave" : "main", onclick: () => dialog.close("yes") }, deed)));
    dialog.onclose = () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Shows a text that is not shown again, such as a secret, until the user closes it. */
export function show({ title, content }) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "question", "aria-labelledby": "shown-title" },
      h("h2", { id: "shown-title" }, title), content,
      h("div", { class: "buttons" }, h("button", { type: "button", class: "main", onclick: () => dialog.close() },
        "Close")));
    dialog.onclose = () => {
      dialog.remove();
      resolve();
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Shows a short message in the corner, and to screen readers. A failure stays until it is closed. */
export function note(text, isFailure = false) {
  place ??= document.getElementById("notes");
  const close = () => item.remove();
  const item = h("div", { class: isFailure ? "note failure" : "note" }, h("p", null, text),
    h("button", { type: "button", "aria-label": "Close this message", onclick: close }, "×"));
  place.replaceChildren(...[...place.children].slice(-2), item);
  if (!isFailure) setTimeout(close, 8000);
}

/** Carries something out and reports how it ended. Returns its result, or undefined if it failed. */
export async function attempt(work, done) {
  try {
    const result = await work();
    if (done) note(typeof done === "function" ? done(result) : done);
    return result ?? true;
  } catch (problem) {
    note(problem.detail ?? String(problem), true);
    return undefined;
  }
}
