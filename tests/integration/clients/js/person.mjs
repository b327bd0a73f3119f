// What the TypeScript client leaves to an application that signs a person in: a loopback address for the authorization
// response, and the memory of what the SDK hands over. Everything else is the SDK's own.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const callbackPath = '/callback';

/** An OAuthClientProvider of the SDK. A line {"visit": URL} on standard output asks the person to open it. */
export class Person {
  #responses = [];
  #waiting = [];
  #server;
  #memory = {};
  #state;

  static async start(port = 0) {
    const person = new Person();
    person.#server = createServer((request, response) => person.#answer(request, response));
    await new Promise((resolve) => person.#server.listen(port, '127.0.0.1', resolve));
    person.redirectUrl = `http://127.0.0.1:${person.#server.address().port}${callbackPath}`;
    return person;
  }

  #answer(request, response) {
    const url = new URL(request.url, this.redirectUrl);
    if (url.pathname !== callbackPath) {
      response.writeHead(404).end();
      return;
    }
    response.end('You can close this page.\n');
    const next = this.#waiting.shift();
    if (next) next(url.searchParams);
    else this.#responses.push(url.searchParams);
  }

  /** The authorization response, whose state is checked here since the SDK leaves that to the application. */
  async response() {
    const params = this.#responses.shift() ?? (await new Promise((resolve) => this.#waiting.push(resolve)));
    if (params.get('state') !== this.#state) throw new Error('the authorization response has another state');
    return params;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get clientMetadata() {
    return {
      client_name: 'patchbay-tests',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state() {
    this.#state = randomUUID();
    return this.#state;
  }

  redirectToAuthorization(url) {
    console.log(JSON.stringify({ visit: url.href }));
  }

  clientInformation() {
    return this.#memory.client;
  }

  saveClientInformation(client) {
    this.#memory.client = client;
  }

  tokens() {
    return this.#memory.tokens;
  }

  saveTokens(tokens) {
    this.#memory.tokens = tokens;
  }

  codeVerifier() {
    return this.#memory.verifier;
  }

  saveCodeVerifier(verifier) {
    this.#memory.verifier = verifier;
  }

  discoveryState() {
    return this.#memory.discovery;
  }

  saveDiscoveryState(discovery) {
    this.#memory.discovery = discovery;
  }

  invalidateCredentials(scope) {
    const names = { all: ['client', 'tokens', 'verifier', 'discovery'] }[scope] ?? [scope];
    for (const name of names) delete this.#memory[name];
  }
}
