// An MCP client of revision 2026-07-28 over Streamable HTTP. Sources: basic/transports/streamable-http,
// basic/patterns/mrtr, server/utilities/caching.
import { members } from './json.js';

export const version = '2026-07-28';

const metaPrefix = 'io.modelcontextprotocol/';
const clientInfo = { name: 'patchbay-local-page', title: "Patchbay's local page", version: '1' };
// A person at the page can fill in a form, open a link, answer in a model's place, and name folders.
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

export const codeHeaderMismatch = -32020;

// The value of a header field: itself where it is plain ASCII, else in Base64 between markers.
// Source: basic/transports/streamable-http#value-encoding.
export function encodeHeader(value) {
  const plain = /^[\t\x20-\x7e]*$/.test(value) && value.trim() === value && !/^=\?base64\?.*\?=$/.test(value);
  if (plain) return value;
  const bytes = new TextEncoder().encode(value);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}?=`;
}

const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const notSchemas = ['const', 'default', 'enum', 'examples'];

// The parameters that a tool wants mirrored into headers, as {path, header}. The error says why the definition is one
// that a client must not use. Source: basic/transports/streamable-http#schema-extension.
export function mirrored(schema) {
  const found = [];
  const walk = (node, path, reachable) => {
    if (Array.isArray(node)) return node.forEach((child) => walk(child, path, false));
    if (node === null || typeof node !== 'object') return undefined;
    if (Object.hasOwn(node, 'x-mcp-header')) {
      checkMirror(node, path, reachable, found);
      found.push({ path, header: node['x-mcp-header'] });
    }
    for (const [keyword, value] of Object.entries(node)) {
      if (schemaMaps.includes(keyword)) {
        for (const [name, child] of Object.entries(value ?? {})) {
          walk(child, [...path, name], reachable && keyword === 'properties');
        }
      } else if (!notSchemas.includes(keyword)) {
        walk(value, path, false);
      }
    }
    return undefined;
  };
  walk(schema, [], true);
  return found;
}

function checkMirror(node, path, reachable, found) {
  const name = node['x-mcp-header'];
  const at = `x-mcp-header ${JSON.stringify(name)}`;
  const refuse = (why) => {
    throw new Error(`${at} ${why}`);
  };
  if (typeof name !== 'string' || !/^[0-9A-Za-z!#$%&'*+.^_`|~-]+$/.test(name)) refuse('is no field name');
  if (!reachable || path.length === 0) refuse('is not at a property that properties alone lead to');
  if (!['string', 'integer', 'boolean'].includes(node.type)) refuse(`is at a ${node.type}`);
  if (found.some(({ header }) => header.toLowerCase() === name.toLowerCase())) refuse('is there twice');
}

function mirrorHeaders(schema, argumentsText) {
  const headers = {};
  for (const { path, header } of mirrored(schema)) {
    const inside = (at, name) => (typeof at === 'object' && at && Object.hasOwn(at, name) ? at[name] : undefined);
    const value = path.reduce(inside, JSON.parse(argumentsText));
    if (value !== undefined && value !== null && typeof value !== 'object') {
      headers[`Mcp-Param-${header}`] = encodeHeader(String(value));
    }
  }
  return headers;
}

// The data of the events of a stream. Source: WHATWG HTML, section 9.2.6.
export async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    // A carriage return at the end may be half a line end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === '' && data.length) {
        yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
  }
}

const never = new AbortController().signal;

export class Client {
  #next = 1;
  #cache;

  // The token is a function, since it changes.
  constructor(endpoint, token) {
    this.endpoint = endpoint;
    this.token = token;
  }

  // Sends a request whose parameters are JSON texts, and returns {message, text, exchange}: the response, parsed and as
  // it came, undefined where there is none, and all that went over the wire. It fails where the server is not reached.
  async send(method, params, { headers = {}, onProgress, signal = never } = {}) {
    const id = this.#next++;
    const exchange = this.#exchange(id, method, params, headers, onProgress);
    const { url, requestHeaders, requestBody } = exchange;
    const token = this.token();
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...requestHeaders, ...(token && { Authorization: `Bearer ${token}` }) },
      body: requestBody,
      signal,
      credentials: 'omit',
      cache: 'no-store',
    });
    if (token) requestHeaders.Authorization = 'Bearer (not shown)';
    exchange.status = response.status;
    exchange.responseHeaders = [...response.headers];
    const text = await this.#read(response, exchange, onProgress);
    exchange.ms = performance.now() - exchange.began;
    return { message: text && JSON.parse(text), text, exchange };
  }

  #exchange(id, method, params, headers, onProgress) {
    const meta = {
      [`${metaPrefix}protocolVersion`]: version,
      [`${metaPrefix}clientInfo`]: clientInfo,
      [`${metaPrefix}clientCapabilities`]: capabilities,
      ...(onProgress && { progressToken: id }),
    };
    const texts = Object.entries({ ...params, _meta: JSON.stringify(meta) })
      .filter(([, text]) => text !== undefined)
      .map(([name, text]) => `${JSON.stringify(name)}:${text}`);
    return {
      id,
      method,
      url: this.endpoint,
      began: performance.now(),
      requestHeaders: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': version,
        'Mcp-Method': method,
        ...headers,
      },
      requestBody: `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":{${texts.join(',')}}}`,
      messages: [],
    };
  }

  // The text of the response; the notifications before it are told of as they come.
  async #read(response, exchange, onProgress) {
    const type = response.headers.get('Content-Type') ?? '';
    if (!type.startsWith('text/event-stream')) {
      const text = await response.text();
      exchange.messages.push(text);
      return type.startsWith('application/json') && text ? text : undefined;
    }
    for await (const text of events(response.body)) {
      exchange.messages.push(text);
      const message = JSON.parse(text);
      if (message.id === exchange.id) return text;
      const progress = message.method === 'notifications/progress' && message.params?.progressToken === exchange.id;
      if (progress) onProgress?.(message.params);
    }
    return undefined;
  }

  discover() {
    return this.send('server/discover', {});
  }

  // All tools with the text of their definitions, as {tools, refused, answer, until}; the last answer tells why there
  // are none. A list is kept as long as the server says; to see what changed before that, ask for a fresh one.
  async tools({ fresh = false } = {}) {
    if (!fresh && this.#cache && Date.now() < this.#cache.until && this.#cache.token === this.token()) {
      return this.#cache;
    }
    const list = { tools: [], refused: [], until: Infinity, token: this.token() };
    let cursor;
    do {
      const answer = await this.send('tools/list', { cursor: cursor && JSON.stringify(cursor) });
      list.answer = answer;
      const result = answer.message?.result;
      if (!result) return list;
      const texts = members(members(members(answer.text).get('result')).get('tools'));
      result.tools.forEach((tool, i) => addTool(list, tool, texts.get(i)));
      list.until = Math.min(list.until, Date.now() + Math.max(0, result.ttlMs ?? 0));
      cursor = result.nextCursor;
    } while (cursor);
    this.#cache = list;
    return list;
  }

  // Calls a tool. Responses and state are those of an earlier round.
  call(tool, argumentsText, { inputResponses, requestState, idempotencyKey, onProgress, signal } = {}) {
    const params = {
      name: JSON.stringify(tool.name),
      arguments: argumentsText,
      inputResponses: inputResponses && JSON.stringify(inputResponses),
      requestState: requestState === undefined ? undefined : JSON.stringify(requestState),
    };
    const headers = {
      'Mcp-Name': encodeHeader(tool.name),
      ...mirrorHeaders(tool.inputSchema, argumentsText),
      ...(idempotencyKey && { 'Idempotency-Key': encodeHeader(idempotencyKey) }),
    };
    return this.send('tools/call', params, { headers, onProgress, signal });
  }
}

function addTool(list, tool, text) {
  try {
    mirrored(tool.inputSchema);
    list.tools.push({ ...tool, text });
  } catch (error) {
    console.warn(`The tool ${tool.name} is left out: ${error.message}`);
    list.refused.push({ name: tool.name, reason: error.message });
  }
}
