// The clock of Carillon. All times on the page are its times, so that a wrong clock of the browser does no harm.

const tolerance = 250;
const notable = 10_000;
let skew = 0;

/** The time of Carillon, in milliseconds since 1970. */
export function now() {
  return Date.now() + skew;
}

/**
 * Takes over the time in an answer of the server. The time that the answer took is not a difference of the clocks, and
 * small differences are ignored, so that the time does not jump.
 *
 * @param sentAt, receivedAt are times of the clock of the browser.
 */
export function learn(serverAt, sentAt, receivedAt = Date.now()) {
  if (!Number.isFinite(serverAt)) return;
  const found = serverAt - (sentAt + receivedAt) / 2;
  if (Math.abs(found - skew) > Math.max(tolerance, receivedAt - sentAt)) skew = Math.round(found);
}

/** The difference of the clocks in milliseconds if a user should know about it, otherwise 0. */
export function difference() {
  return Math.abs(skew) >= notable ? skew : 0;
}
