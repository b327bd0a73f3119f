// The last calls with their paths, as they end.
import { copier, el, milliseconds } from './dom.js';

const kept = 100;

export class Calls {
  #known = new Map();
  #waiting = new Map();
  #source;

  // Tells onOpen whenever the stack answers, which it does again after it was started anew, with the faults that there
  // are; and onChange what became of files that were saved.
  constructor({ list, status, all, onOpen, onChange }) {
    Object.assign(this, { list, status, all, onOpen, onChange });
    all.addEventListener('change', () => list.classList.toggle('all', all.checked));
    // A browser has few connections to one server for all its tabs, and a stream takes one.
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#close() : this.#open()));
    this.#open();
  }

  #open() {
    this.#close();
    const source = new EventSource('/_patchbay/events');
    this.#source = source;
    source.addEventListener('call', (event) => this.#add(JSON.parse(event.data)));
    source.addEventListener('change', (event) => this.onChange(JSON.parse(event.data)));
    source.addEventListener('ready', (event) => {
      this.#say('live', true);
      this.onOpen(JSON.parse(event.data));
    });
    source.addEventListener('error', () => this.#say('the stack does not answer', false));
  }

  #close() {
    this.#source?.close();
  }

  #say(text, live) {
    this.status.textContent = text;
    this.status.classList.toggle('bad', !live);
  }

  // The call with this request id, when it is there; undefined when it does not come.
  find(requestId) {
    const call = this.#known.get(requestId);
    if (call) return Promise.resolve(call);
    const { promise, resolve } = Promise.withResolvers();
    this.#waiting.set(requestId, resolve);
    setTimeout(() => this.#waiting.delete(requestId) && resolve(undefined), 10_000);
    return promise;
  }

  #add(call) {
    const earlier = this.#known.get(call.requestId);
    this.#known.set(call.requestId, call);
    this.#waiting.get(call.requestId)?.(call);
    this.#waiting.delete(call.requestId);
    if (earlier) return;
    this.list.prepend(row(call));
    while (this.list.children.length > kept) this.list.lastElementChild.remove();
    const oldest = this.#known.keys().next().value;
    if (this.#known.size > kept) this.#known.delete(oldest);
  }
}

const isCall = (call) => call.method === 'tools/call' || Boolean(call.refusal) || call.status >= 400;

const words = { '': 'ok', ok: 'ok', input_required: 'asks' };

// How a call ended, in one word, and whether that is good.
function ending(call) {
  if (call.refusal) return { word: refusal(call), kind: 'bad' };
  if (call.ledger === 'replayed') return { word: 'replayed', kind: 'good' };
  const outcome = call.outcome ?? '';
  if (call.status < 400 && Object.hasOwn(words, outcome)) return { word: words[outcome], kind: 'good' };
  return { word: outcome.replaceAll('_', ' ') || String(call.status), kind: 'bad' };
}

// The word for a refusal, without who refused and in which sentence.
const refusal = (call) => (/: ([\w-]+)/.exec(call.refusal)?.[1] ?? 'refused').replace(/[_-]/g, ' ').toLowerCase();

function row(call) {
  const { word, kind } = ending(call);
  const name = call.tool || call.method || `${call.httpMethod} ${call.path}`;
  const time = new Date(call.began).toLocaleTimeString('en-GB');
  const details = el(
    'details',
    {},
    el(
      'summary',
      {},
      el('time', { datetime: call.began, text: time }),
      el('span', { class: 'what', text: name }),
      el('span', { class: `end ${kind}`, text: word }),
      el('span', { class: 'took', text: milliseconds(call.durationMs) }),
    ),
  );
  // What nobody looks at is not built.
  details.addEventListener('toggle', () => details.children.length === 1 && details.append(path(call)));
  return el('li', { class: isCall(call) ? 'call' : 'other' }, details);
}

// The path of a call: what each part took, the facts, and the log.
export function path(call) {
  const facts = [
    ['refused by', call.refusal],
    ['outcome', !call.refusal && call.outcome !== 'ok' && call.outcome],
    ['ledger', call.ledger],
    ['caller', call.principal],
    ['HTTP status', call.status !== 200 && String(call.status)],
  ].filter(([, value]) => value);
  return el(
    'div',
    { class: 'path' },
    el(
      'ol',
      { class: 'spans', 'aria-label': 'Path of the call' },
      call.spans.map((span) => bar(span, call.durationMs)),
    ),
    el('dl', {}, facts.map(([name, value]) => [el('dt', { text: name }), el('dd', { text: value })])),
    el('p', { class: 'request' }, el('code', { text: call.requestId }), copier('Copy', call.requestId)),
    log(call.lines),
  );
}

function bar(span, whole) {
  const start = span.coldStart && `cold start ${milliseconds(span.initMs ?? 0)}`;
  const notes = [start, span.running && 'still runs', span.outcome];
  const line = el('span', { class: 'line' }, el('span', { class: span.outcome ? 'bar bad' : 'bar' }));
  const inner = line.firstChild;
  const percent = (part) => `${Math.min(100, (100 * part) / Math.max(whole, 0.001))}%`;
  inner.style.marginInlineStart = percent(span.startMs);
  inner.style.width = percent(span.running ? whole - span.startMs : span.durationMs);
  return el(
    'li',
    {},
    el('span', { class: 'part', text: span.name }),
    line,
    el('span', { class: 'took', text: span.running ? '' : milliseconds(span.durationMs) }),
    el('span', { class: 'notes', text: notes.filter(Boolean).join(' · ') }),
  );
}

function log(lines) {
  const read = (lines ?? []).map(({ source, message }) => ({ source, ...readLine(message) }));
  const told = read.filter(({ text }) => text);
  if (!told.length) return el('p', { class: 'hint', text: 'It logged nothing else.' });
  return el(
    'ol',
    { class: 'log', 'aria-label': 'Log of the call' },
    told.map(({ source, text, facts }, i) =>
      el(
        'li',
        {},
        el('span', { class: 'source', text: source === told[i - 1]?.source ? '' : source }),
        el('span', { class: 'text', text }),
        facts && el('span', { class: 'facts', text: facts }),
      ),
    ),
  );
}

const known = ['time', 'level', 'msg', 'requestId', 'traceId'];

// The lines that dispatcher and functions leave at the end of each call say what the path says; what is new in one is
// shown.
const closing = ['tools/call', 'tool call', 'request'];
const repeated = [
  'tool',
  'principal',
  'outcome',
  'durationMs',
  'protocolVersion',
  'function',
  'lambdaRequestId',
  'coldStart',
];

// A line of structured log in words, empty where it says nothing new; any other line as it is.
function readLine(message) {
  let line;
  try {
    line = JSON.parse(message);
  } catch {
    return { text: message };
  }
  if (line === null || typeof line.msg !== 'string') return { text: message };
  const left = closing.includes(line.msg) ? [...known, ...repeated] : known;
  const facts = Object.entries(line).filter(([name]) => !left.includes(name));
  const level = line.level && line.level !== 'INFO' ? `${line.level} ` : '';
  if (closing.includes(line.msg) && !facts.length) return {};
  const written = facts.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return { text: level + line.msg, facts: written.join(' ') };
}
