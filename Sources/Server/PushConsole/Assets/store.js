// Small settings of this browser. A browser that blocks storage forgets them, and nothing else.

/** Returns a stored text, or null. */
export function read(name) {
  try {
    return localStorage.getItem(`carillon.${name}`);
  } catch {
    return null;
  }
}

export function write(name, text) {
  try {
    localStorage.setItem(`carillon.${name}`, text);
  } catch {
    // The setting lasts as long as the page.
  }
}
