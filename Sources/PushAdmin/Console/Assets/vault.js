// The key of a user who stays signed in while the tab is open.
//
// Session storage holds text only, so that a key in it could be read by any script of this origin. IndexedDB holds a
// CryptoKey that cannot be read. Session storage has the name of the entry: when the tab is closed the name is gone,
// and the next sign-in removes the entries that are left and old.

const storeName = "keys";
const markName = "carillon.session";
const maxAge = 12 * 3600 * 1000;

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function open() {
  const request = indexedDB.open("carillon", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(storeName);
  return done(request);
}

async function withStore(mode, body) {
  const database = await open();
  try {
    return await body(database.transaction(storeName, mode).objectStore(storeName));
  } finally {
    database.close();
  }
}

export async function keep(keyID, key) {
  const mark = crypto.randomUUID();
  await forget();
  await withStore("readwrite", (store) => done(store.put({ keyID, key, keptAt: Date.now() }, mark)));
  sessionStorage.setItem(markName, mark);
}

/** Returns the kept key of this tab, or null. Entries that are too old are removed. */
export async function kept() {
  const mark = sessionStorage.getItem(markName);
  if (!mark) return null;
  const entry = await withStore("readonly", (store) => done(store.get(mark)));
  if (entry && Date.now() - entry.keptAt < maxAge) return entry;
  await forget();
  return null;
}

/** Removes the key of this tab, and those of tabs that were closed long ago. */
export async function forget() {
  const mark = sessionStorage.getItem(markName);
  sessionStorage.removeItem(markName);
  await withStore("readwrite", async (store) => {
    const [names, entries] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
    names.forEach((name, index) => {
      if (name === mark || Date.now() - entries[index].keptAt >= maxAge) store.delete(name);
    });
  });
}
