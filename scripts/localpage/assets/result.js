// What came of a call.
import { bytes, copier, el, json, link, milliseconds } from './dom.js';
import { isJSON, members, pretty, same } from './json.js';

const metaReplayed = 'dev.patchbay/replayed';
const metaDryRun = 'dev.patchbay/dryRun';

export const requestIDOf = (exchange) => headerOf(exchange, 'x-amzn-requestid');

const headerOf = (exchange, name) => exchange.responseHeaders?.find(([field]) => field.toLowerCase() === name)?.[1];

// How a call ended: in words, good or bad.
export function verdict({ message, exchange }) {
  if (!message) return { word: `HTTP ${exchange.status}`, good: false };
  if (message.error) return { word: `error ${message.error.code}`, good: false };
  const { result } = message;
  if (result.isError) return { word: 'tool error', good: false };
  if (result.resultType === 'input_required') return { word: 'not answered', good: false };
  return { word: result._meta?.[metaDryRun] ? 'dry run' : 'ok', good: true };
}

// The messages about single arguments in a refusal, as {path, message}: each stands on a line of its own, behind the
// place that it is about.
export function failures({ message }) {
  const text = message?.result?.isError ? message.result.content?.[0]?.text ?? '' : '';
  if (!/^The call of .* has invalid arguments/.test(text)) return [];
  const listed = text.replace(/\nand \d+ more$/, '').split('\n- ').slice(1);
  const lines = listed.length ? listed : [text.replace(/^.*?invalid arguments: /, '')];
  return lines.map((line) => {
    const [, path, said] = /^((?:[\p{L}\p{N}_$.-]|\[(?:\d+|"(?:[^"\\]|\\.)*")\])+?):? (.*)$/su.exec(line) ?? [];
    return { path, message: said ?? line };
  });
}

// The result of the last of a call's exchanges, with all of them underneath.
export function show(answers) {
  const answer = answers.at(-1);
  const raw = el('details', { class: 'raw' }, el('summary', { text: 'Requests and responses' }));
  raw.addEventListener('toggle', () => raw.append(...answers.map(wire)), { once: true });
  return el(
    'div',
    { class: 'answer' },
    heading(answer, answers.length),
    el('div', { class: 'content' }, body(answer)),
    raw,
  );
}

function heading(answer, rounds) {
  const { word, good } = verdict(answer);
  const { exchange, message } = answer;
  const size = exchange.messages.at(-1)?.length ?? 0;
  const facts = [
    milliseconds(exchange.ms),
    bytes(size),
    rounds > 1 && `${rounds} rounds`,
    message?.result?._meta?.[metaReplayed] && 'recorded before, replayed',
  ].filter(Boolean);
  return el(
    'p',
    { class: 'verdict' },
    el('strong', { class: good ? 'good' : 'bad', text: word }),
    el('span', { text: facts.join(' · ') }),
  );
}

function body({ message, text, exchange }) {
  if (!message) return [el('pre', { class: 'text', text: exchange.messages.join('\n') || 'The answer is empty.' })];
  const whole = members(text);
  if (message.error) return [el('pre', { class: 'text', text: message.error.message }), dataOf(whole)];
  const result = members(whole.get('result'));
  const structured = result.get('structuredContent');
  const blocks = (message.result.content ?? []).filter(
    (block) => !(structured && block.type === 'text' && same(block.text, structured)),
  );
  return [structured && json(structured), blocks.map(showBlock)];
}

function dataOf(whole) {
  const data = members(whole.get('error')).get('data');
  return data && json(data);
}

const pictures = /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/;

const showBlock = (block) => (Object.hasOwn(kinds, block.type) ? kinds[block.type] : other)(block);

const kinds = {
  text: ({ text }) => (/^\s*[[{]/.test(text) && isJSON(text) ? json(text) : el('pre', { class: 'text', text })),
  image: ({ data, mimeType }) =>
    pictures.test(mimeType)
      ? el('img', { src: `data:${mimeType};base64,${data}`, alt: `A picture from the tool (${mimeType})` })
      : note(`A picture of type ${mimeType}`, data),
  audio: ({ data, mimeType }) =>
    /^audio\/[\w.+-]+$/.test(mimeType)
      ? el('audio', { controls: true, src: `data:${mimeType};base64,${data}` })
      : note(`A sound of type ${mimeType}`, data),
  resource_link: ({ uri, title, name, description }) =>
    el('p', {}, el('strong', { text: title ?? name ?? 'A resource' }), ' ', link(uri), ' ', description ?? ''),
  resource: ({ resource }) => [
    el('p', {}, link(resource.uri ?? ''), ` ${resource.mimeType ?? ''}`),
    resource.text === undefined
      ? note('Bytes', resource.blob ?? '')
      : el('pre', { class: 'text', text: resource.text }),
  ],
};

const other = (block) => json(JSON.stringify(block));

const note = (what, data) => el('p', { text: `${what}, ${bytes(Math.floor((data.length * 3) / 4))}` });

// An exchange as it went over the wire.
function wire({ exchange }) {
  const { method, url, requestHeaders, requestBody, status, responseHeaders, messages } = exchange;
  return el(
    'section',
    { class: 'wire' },
    el('h4', {}, `POST ${new URL(url).pathname}`, el('span', { class: 'hint', text: ` ${method}` })),
    el('pre', { class: 'headers', text: lines(Object.entries(requestHeaders)) }),
    json(requestBody),
    copier('Copy as curl', () => curl(exchange)),
    el('h4', { text: `HTTP ${status}` }),
    el('pre', { class: 'headers', text: lines(responseHeaders) }),
    messages.map((message) => (isJSON(message) ? json(message) : el('pre', { class: 'text', text: message }))),
    messages.length > 0 && copier('Copy the response', () => plain(messages.at(-1))),
  );
}

const lines = (headers) => headers.map(([name, value]) => `${name}: ${value}`).join('\n');

const plain = (text) => (isJSON(text) ? pretty(text).map(([, part]) => part).join('') : text);

// The same request for a terminal; a token comes from the environment.
function curl({ url, requestHeaders, requestBody }) {
  const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const headers = Object.entries(requestHeaders).map(([name, value]) =>
    name === 'Authorization' ? `-H "Authorization: Bearer $PATCHBAY_TOKEN"` : `-H ${quote(`${name}: ${value}`)}`,
  );
  return [`curl -s ${quote(url)}`, ...headers, `-d ${quote(requestBody)}`].join(' \\\n  ');
}
