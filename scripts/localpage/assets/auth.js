// Signing in, as any MCP client does: the server's metadata tells where, a client is registered there, and the code
// that comes back is redeemed with the verifier that never left the page. Sources: basic/authorization,
// basic/authorization/authorization-server-discovery, basic/authorization/client-registration.
//
// The token is kept in the tab's own storage, which survives leaving the page for the sign-in and a reload, and ends
// with the tab. It is sent to nobody but the endpoint beside this page.

const tokenKey = 'patchbay.token';
const flowKey = 'patchbay.sign-in';

const read = (key) => JSON.parse(sessionStorage.getItem(key) ?? 'null');
const keep = (key, value) => sessionStorage.setItem(key, JSON.stringify(value));

export const session = () => read(tokenKey);
export const signOut = () => sessionStorage.removeItem(tokenKey);
export const useToken = (token) => keep(tokenKey, { token, scope: '' });

// The parameters of a challenge's Bearer scheme; empty for none. Source: RFC 9110, section 11.6.1.
export function parseChallenge(header) {
  const bearer = /(?:^|,)\s*Bearer\s+(.*)$/is.exec(header ?? '');
  const found = {};
  const parameter = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g;
  for (const [, name, quoted, bare] of (bearer?.[1] ?? '').matchAll(parameter)) {
    found[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? bare;
  }
  return found;
}

// Leaves the page to sign in for what a challenge asks for, beside what was asked for before. The error says why it
// cannot be done. With another set, the person is asked who they are even where a session is open.
export async function signIn(endpoint, challenge, { another = false } = {}) {
  const resource = await resourceMetadata(endpoint, challenge);
  const server = await serverMetadata(resource.authorization_servers?.[0]);
  const redirect = `${location.origin}/`;
  const client = await register(server, redirect);
  const flow = {
    issuer: server.issuer,
    issSupported: server.authorization_response_iss_parameter_supported === true,
    tokenEndpoint: server.token_endpoint,
    client,
    redirect,
    resource: resource.resource,
    state: random(),
    verifier: random(),
    scope: scopes(session()?.scope, challenge.scope ?? resource.scopes_supported?.join(' ')),
    hash: location.hash,
  };
  keep(flowKey, flow);
  const address = new URL(server.authorization_endpoint);
  if (!/^https?:$/.test(address.protocol)) throw new Error(`${server.issuer} is at no address of the web.`);
  const parameters = {
    response_type: 'code',
    client_id: client,
    redirect_uri: redirect,
    resource: flow.resource,
    state: flow.state,
    code_challenge: await digest(flow.verifier),
    code_challenge_method: 'S256',
    scope: flow.scope,
    acr_values: challenge.acr_values,
    max_age: challenge.max_age,
    prompt: another ? 'login' : undefined,
  };
  for (const [name, value] of Object.entries(parameters)) if (value) address.searchParams.set(name, value);
  location.assign(address);
}

// Redeems the code that a sign-in came back with, and takes it out of the address. Returns false where there was no
// sign-in; the error says why there is no token.
export async function completeSignIn() {
  const answer = new URLSearchParams(location.search);
  const flow = read(flowKey);
  if (!answer.has('state') || !flow) return false;
  sessionStorage.removeItem(flowKey);
  history.replaceState(null, '', `/${flow.hash}`);
  checkAnswer(answer, flow);
  const response = await fetch(flow.tokenEndpoint, {
    method: 'POST',
    credentials: 'omit',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.get('code'),
      redirect_uri: flow.redirect,
      client_id: flow.client,
      code_verifier: flow.verifier,
      resource: flow.resource,
    }),
  });
  const token = await response.json().catch(() => ({}));
  if (!response.ok || !token.access_token) {
    const why = token.error_description ?? token.error ?? response.status;
    throw new Error(`The authorization server gave no token: ${why}`);
  }
  // An answer that does not name the scopes gave those that were asked for (RFC 6749, section 5.1).
  keep(tokenKey, { token: token.access_token, scope: token.scope ?? flow.scope });
  return true;
}

// What is in an answer counts for nothing before it is known whose it is. Source: basic/authorization,
// "Authorization Response Validation".
function checkAnswer(answer, flow) {
  if (answer.get('state') !== flow.state) throw new Error('The answer is to another sign-in than the last one.');
  const iss = answer.get('iss');
  if (iss === null ? flow.issSupported : iss !== flow.issuer) {
    throw new Error('The answer is not from the authorization server that was asked.');
  }
  if (answer.has('error')) {
    throw new Error(`Not signed in: ${answer.get('error_description') ?? answer.get('error')}`);
  }
  if (!answer.has('code')) throw new Error('The answer of the authorization server has no code.');
}

async function resourceMetadata(endpoint, challenge) {
  const { origin, pathname } = new URL(endpoint);
  const wellKnown = '/.well-known/oauth-protected-resource';
  const addresses = [challenge.resource_metadata, `${origin}${wellKnown}${pathname}`, `${origin}${wellKnown}`];
  const metadata = await firstDocument(addresses.filter(Boolean));
  if (metadata?.resource !== endpoint) {
    throw new Error(`The server's metadata is of ${metadata?.resource ?? 'nothing'}, not of ${endpoint}.`);
  }
  return metadata;
}

async function serverMetadata(issuer) {
  if (!issuer) throw new Error("The server's metadata names no authorization server.");
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const metadata = await firstDocument([
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]);
  if (!metadata) throw new Error(`${issuer} has no metadata that this page can read.`);
  if (metadata.issuer !== issuer) throw new Error(`The metadata at ${issuer} is of another issuer.`);
  if (!metadata.code_challenge_methods_supported?.includes('S256')) {
    throw new Error(`${issuer} does not say that it knows PKCE with S256.`);
  }
  return metadata;
}

async function firstDocument(addresses) {
  for (const address of new Set(addresses)) {
    const asked = fetch(address, { credentials: 'omit', headers: { Accept: 'application/json' } });
    const response = await asked.catch(() => undefined); // also where no page may read it
    const document = response?.ok && (await response.json().catch(() => undefined));
    if (document) return document;
  }
  return undefined;
}

// A client is registered for each sign-in: an authorization server of the local stack forgets them when it ends.
async function register(server, redirect) {
  if (!server.registration_endpoint) {
    throw new Error(`${server.issuer} does not register clients. Get a token another way, and paste it.`);
  }
  const response = await fetch(server.registration_endpoint, {
    method: 'POST',
    credentials: 'omit',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({
      client_name: 'Patchbay local page',
      redirect_uris: [redirect],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    }),
  });
  const client = await response.json().catch(() => ({}));
  if (!response.ok || !client.client_id) {
    throw new Error(`This page was not registered: ${client.error_description ?? client.error ?? response.status}`);
  }
  return client.client_id;
}

// All of two lists of scopes: asking for more must not lose what one has.
const scopes = (...lists) => [...new Set(lists.flatMap((list) => (list ?? '').split(' ').filter(Boolean)))].join(' ');

const base64url = (data) =>
  btoa(Array.from(new Uint8Array(data), (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

const digest = async (text) => base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
