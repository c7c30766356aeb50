// The sign-in, and what is said when it ends.

import { h } from "./dom.js";
import { field, check, badge } from "./parts.js";
import { importKey, secretBytes } from "./signing.js";

/** The words for a key that the server did not accept while the page was open. */
export function refusalWords({ code }) {
  return code === "clock_skew"
    ? "The clock of this browser changes too much: Carillon refuses its signatures. Set it right, and sign in again."
    : "Carillon does not accept this key any more: it expired, was rotated or was revoked.";
}

/** Divides a key that was pasted whole: id, point and secret. */
function divide({ target }) {
  const [, id, secret] = /^\s*([\w-]{1,64})\.([\w-]{43})\s*$/.exec(target.value) ?? [];
  if (!secret) return;
  target.value = id;
  target.form.elements.secret.value = secret;
}

/**
 * Makes the form. `signIn` gets the id, a key that cannot be read and whether to keep it; `refuse` gets a sentence and
 * the field to correct.
 */
export function signInForm({ words, signIn, refuse }) {
  const isSecure = globalThis.isSecureContext && globalThis.crypto?.subtle;
  const submit = async (event) => {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const keyID = elements["key-id"].value.trim();
    const bytes = secretBytes(elements.secret.value);
    if (!/^[\w.-]{1,64}$/.test(keyID)) return refuse(
      "A key id has letters and digits only, such as k7f3qk2m.", "key-id");
    if (!bytes) return refuse("A secret has 43 characters: letters, digits, - and _.", "secret");
    const isKept = elements.stay.checked;
    const button = event.submitter;
    const key = await importKey(bytes);
    bytes.fill(0);
    elements.secret.value = "";
    if (button) button.disabled = true;
    return signIn(keyID, key, isKept);
  };
  return h("section", { class: "sign-in", "aria-labelledby": "sign-in-title", "data-key": `sign-in ${words ?? ""}` },
    h("h1", { id: "sign-in-title", tabindex: -1 }, "Sign in to Carillon"),
    words && h("p", { class: "notice warn", role: "alert" }, badge("warn", words)),
    isSecure ? h("form", { class: "form", onsubmit: submit, autocomplete: "off" },
      field("Key id", h("input", { id: "key-id", name: "key-id", required: true, autocomplete: "off", oninput: divide,
        autocapitalize: "none", spellcheck: "false" })),
      field("Secret", h("input", { id: "secret", name: "secret", type: "password", required: true,
        autocomplete: "off" }),
        "The page signs its requests with the secret and never sends it."),
      h("div", { class: "field" }, check("stay", "Stay signed in until this tab is closed",
        { "aria-describedby": "stay-help" }),
        h("p", { id: "stay-help", class: "help" },
          "This browser then keeps a key that signs and cannot be read. Signing out removes it. If the tab is closed, or "
            + "after twelve hours, it serves no longer, and is removed when the console is opened again.")),
      h("button", { class: "main", type: "submit" }, "Sign in"))
      : h("p", { class: "notice bad", role: "alert" },
        badge("bad", "This page needs HTTPS, or an address of this machine such as http://127.0.0.1: without it, the "
          + "browser does not sign requests.")),
    h("details", null, h("summary", null, "Where do I get a key?"),
      h("p", null, "On the machine of Carillon, with the name that you like:"),
      h("pre", { tabindex: 0, "aria-label": "Command" },
        "carillon keys api add NAME --role operate --role push"),
      h("p", { class: "help" }, "It prints the id and the secret, once. The role observe only looks.")));
}

/** Makes what is shown while the sign-in waits for Carillon. */
export function waitingForm(problem, cancel) {
  return h("section", { class: "sign-in", "aria-labelledby": "sign-in-title", "data-key": "waiting" },
    h("h1", { id: "sign-in-title", tabindex: -1 }, "Signing in"),
    h("p", { class: "notice warn", role: "alert" },
      badge("warn", `${problem.detail} The page tries again by itself.`)),
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: cancel }, "Cancel")));
}
