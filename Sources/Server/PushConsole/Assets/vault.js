// The key of a user who stays signed in while the tab is open.
//
// Session storage holds text only, so that a key in it could be read by any script of this origin. IndexedDB holds a
// CryptoKey that cannot be read. Session storage has the name of the entry, and the tab holds a lock of that name, which
// ends with the tab. Each start of the page removes the entries that are too old, and those whose tab is gone.

const storeName = "keys";
const markName = "carillon.session";
const maxAge = 12 * 3600 * 1000;
let timer = null;
let release = null;

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

function lockOf(mark) {
  return `${markName}.${mark}`;
}

/** Shows other tabs that this one uses the entry. A tab that was duplicated shares the entry, and the lock. */
function hold(mark) {
  return new Promise((held) => {
    navigator.locks.request(lockOf(mark), { mode: "shared" }, () => {
      held();
      return new Promise((resolve) => {
        release = resolve;
      });
    }).catch(held);
  });
}

/** Removes the entries that are too old, and those that no tab uses except this one. */
async function tidy(mark) {
  const { held } = await navigator.locks.query();
  const used = new Set([lockOf(mark), ...held.map(({ name }) => name)]);
  await withStore("readwrite", async (store) => {
    const [names, entries] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
    names.forEach((name, index) => {
      const age = Math.abs(Date.now() - entries[index].keptAt);
      if (!used.has(lockOf(name)) || !(age < maxAge)) store.delete(name);
    });
  });
}

export async function keep(keyID, key) {
  const mark = crypto.randomUUID();
  await forget();
  await hold(mark);
  await withStore("readwrite", (store) => done(store.put({ keyID, key, keptAt: Date.now() }, mark)));
  sessionStorage.setItem(markName, mark);
  timer = setTimeout(lapse, maxAge);
}

/** Returns the kept key of this tab, or null. */
export async function kept() {
  const mark = sessionStorage.getItem(markName);
  await tidy(mark);
  const entry = mark && await withStore("readonly", (store) => done(store.get(mark)));
  if (!entry) {
    sessionStorage.removeItem(markName);
    return null;
  }
  await hold(mark);
  timer = setTimeout(lapse, maxAge - (Date.now() - entry.keptAt));
  return entry;
}

/** Ends what was kept. The page that is open has the key in its memory, and goes on. */
function lapse() {
  forget().catch(() => {});
}

/** Removes the key of this tab. */
export async function forget() {
  const mark = sessionStorage.getItem(markName);
  sessionStorage.removeItem(markName);
  clearTimeout(timer);
  release?.();
  release = null;
  if (mark) await withStore("readwrite", (store) => done(store.delete(mark)));
}
