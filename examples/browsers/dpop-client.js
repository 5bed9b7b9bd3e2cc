/** Calls an API with tokens that are bound to a key of this browser. */
import { generateKeyPair, generateProof } from "dpop";

const finish = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function findKeyPair() {
  const opening = indexedDB.open("dpop", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
  const database = await finish(opening);
  const keys = (mode) => database.transaction("keys", mode).objectStore("keys");
  const read = () => finish(keys("readonly").get("pair"));
  try {
    const known = await read();
    if (known) return known;
    const created = await generateKeyPair("ES256"); // its private key cannot be exported
    await finish(keys("readwrite").add(created, "pair")).catch(() => undefined); // fails if another tab was faster
    return await read();
  } finally {
    database.close();
  }
}

let keyPair;
/** Returns the key pair of this browser, which is created once. */
export const loadKeyPair = () => (keyPair ??= findKeyPair());

const nonces = new Map(); // the last nonce of each server

async function send(url, init, token) {
  const request = new Request(url, init); // "post" becomes "POST", but "patch" stays
  const { origin, pathname } = new URL(request.url);
  const proof = await generateProof(
    await loadKeyPair(),
    origin + pathname, // without the query
    request.method,
    nonces.get(origin),
    token,
  );
  request.headers.set("DPoP", proof);
  if (token !== undefined) request.headers.set("Authorization", `DPoP ${token}`);
  const response = await fetch(request);
  const nonce = response.headers.get("DPoP-Nonce");
  if (nonce !== null) nonces.set(origin, nonce);
  return response;
}

/** Calls the API with a token and a new proof. Repeats the request once if the server asks for a nonce. */
export async function fetchWithProof(url, init, token) {
  const response = await send(url, init, token);
  const challenge = response.headers.get("WWW-Authenticate") ?? "";
  return challenge.includes('error="use_dpop_nonce"') ? send(url, init, token) : response;
}

/** Requests a token that is bound to the key, for example with an authorization code. */
export async function requestToken(tokenEndpoint, parameters) {
  const init = { method: "POST", body: new URLSearchParams(parameters) };
  const response = await send(tokenEndpoint, init);
  const answer = await response.json();
  if (answer.error !== "use_dpop_nonce") return answer;
  return (await send(tokenEndpoint, init)).json();
}
