// Signatures of requests: RFC 9421 with hmac-sha256, and RFC 9530 for the digest of a body.

import { now as serverTime } from "./time.js";

const encoder = new TextEncoder();

export function base64(bytes) {
  let text = "";
  for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Returns the 32 bytes of a secret in base64url, or null if the text is something else. */
export function secretBytes(text) {
  const plain = text.trim().replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  if (!/^[A-Za-z0-9+/]{43}$/.test(plain)) return null;
  const bytes = Uint8Array.from(atob(`${plain}=`), (character) => character.charCodeAt(0));
  return bytes.length === 32 ? bytes : null;
}

/** Makes a key that can sign and cannot be read again, not even by this page. */
export function importKey(bytes) {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

function nonce() {
  return base64(crypto.getRandomValues(new Uint8Array(18))).replaceAll("+", "-").replaceAll("/", "_");
}

/**
 * Returns the header fields that sign a request.
 *
 * The target is the path with its query, exactly as it is sent. The query of a request without one is "?". Tests give
 * the time and the nonce.
 */
export async function signed({ method, target, body, keyID, key, now, once }) {
  const url = new URL(target, location.origin);
  const components = [["@method", method], ["@path", url.pathname], ["@query", url.search || "?"]];
  const headers = {};
  if (body !== undefined) {
    const digest = await crypto.subtle.digest("SHA-256", encoder.encode(body));
    headers["Content-Digest"] = `sha-256=:${base64(digest)}:`;
    components.push(["content-digest", headers["Content-Digest"]]);
  }
  const created = now ?? Math.floor(serverTime() / 1000);
  const names = components.map(([name]) => `"${name}"`).join(" ");
  const parameters = `(${names});created=${created};keyid="${keyID}";alg="hmac-sha256";nonce="${once ?? nonce()}"`;
  const lines = components.map(([name, value]) => `"${name}": ${value}`);
  const base = [...lines, `"@signature-params": ${parameters}`].join("\n");
  const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(base));
  headers["Signature-Input"] = `carillon=${parameters}`;
  headers.Signature = `carillon=:${base64(signature)}:`;
  return headers;
}
