// The page: the catalogue, the tool that is chosen, and the calls.
import { Account } from './account.js';
import { completeSignIn, parseChallenge, session } from './auth.js';
import { Calls } from './calls.js';
import { $, bytes, copier, el, milliseconds } from './dom.js';
import { decoded } from './json.js';
import { Client } from './mcp.js';
import { ToolPanel } from './tool.js';

const { endpoint, tokens } = document.documentElement.dataset;
// The endpoint beside this page, under whatever name the page was opened.
const client = new Client(new URL(new URL(endpoint).pathname, location.origin).href, () => session()?.token);

const state = { tools: [], chosen: undefined, server: 'The server', panels: new Map(), faults: [] };

const say = (text) => ($('status').textContent = text);

function banner(text) {
  $('banner').textContent = text ?? '';
  $('banner').hidden = !text;
}

const account = new Account({
  element: $('account'),
  endpoint,
  needed: Boolean(tokens),
  onChange: () => refresh(true),
  onError: banner,
});

// Before anything is asked without the token that this may bring.
await completeSignIn().catch((error) => (state.failed = error.message));

const calls = new Calls({
  list: $('calls'),
  status: $('calls-status'),
  all: $('all-calls'),
  onOpen: (now) => {
    state.faults = now.faults ?? [];
    showFaults();
    refresh(true);
  },
  onChange: changed,
});

// Files were saved: what is live now is called next, and what is wrong stands here until it is mended.
function changed({ live = [], withdrawn = [], faults = [], mended = [], restart = [], tookMs }) {
  const settled = [...mended, ...faults.flatMap((fault) => fault.of)];
  state.faults = [...state.faults.filter((fault) => !fault.of.some((of) => settled.includes(of))), ...faults];
  showFaults();
  const said = [
    live.length && `Live ${milliseconds(tookMs)} after the save: ${live.join(', ')}`,
    withdrawn.length && `Withdrawn: ${withdrawn.join(', ')}`,
    ...restart.map((sentence) => `${sentence}; stop and start again to take it in`),
  ].filter(Boolean);
  note(said.join('. '));
  if (live.length || withdrawn.length) refresh(true);
}

const whatServes = (before) => (before ? ': not taken in; what was there before serves on' : ': not taken in');

function showFaults() {
  $('faults').replaceChildren(
    ...state.faults.map(({ of, text, serving }) =>
      el(
        'details',
        { class: 'fault', open: true },
        el('summary', {}, el('strong', { text: of.join(', ') }), whatServes(serving)),
        el('pre', { text }),
      ),
    ),
  );
}

// Says something in passing.
function note(text) {
  $('note').textContent = text;
  $('note').hidden = !text;
  clearTimeout(state.noted);
  state.noted = setTimeout(() => note(''), 8000);
}

// Reads the catalogue, unless the one that is here is still good by the server's own word. Returns it, if it was read.
async function refresh(fresh) {
  let list;
  try {
    list = await client.tools({ fresh });
    if (fresh && list.answer.message?.result) await describeServer();
  } catch {
    banner('The local stack does not answer. This page goes on once it does.');
    return undefined;
  }
  banner(state.failed);
  state.failed = undefined;
  if (!list.answer.message?.result) {
    refused(list.answer);
    return undefined;
  }
  account.render();
  state.tools = list.tools;
  $('tools-note').textContent = list.refused
    .map(({ name, reason }) => `${name} is left out, as clients have to: ${reason}.`)
    .join(' ');
  showTools();
  choose(nameInAddress());
  return list;
}

// Somebody looks, who may have changed a tool just now: a list that is still good is read again when it no longer is.
async function look() {
  clearTimeout(state.timer);
  const list = await refresh(false);
  if (!list) return;
  state.timer = setTimeout(() => !document.hidden && refresh(true), Math.max(0, list.until - Date.now()) + 50);
}

function refused({ message, exchange }) {
  state.tools = [];
  showTools();
  if (exchange.status === 401) {
    const challenge = parseChallenge(exchange.responseHeaders.find(([name]) => name === 'www-authenticate')?.[1]);
    account.refused(challenge);
    $('tool-panel').replaceChildren(account.welcome());
    return;
  }
  banner(`The catalogue cannot be read: ${message?.error?.message ?? `HTTP ${exchange.status}`}`);
}

async function describeServer() {
  const { message } = await client.discover();
  const result = message?.result;
  if (!result) return;
  const info = result._meta?.['io.modelcontextprotocol/serverInfo'] ?? {};
  state.server = info.title ?? info.name ?? 'The server';
  state.about = { info, instructions: result.instructions };
  $('server').textContent = state.server;
  $('server-version').textContent = info.version ?? '';
  document.title = `${state.server}, local`;
  const icon = info.icons?.find(({ src }) => src?.startsWith('data:image/'));
  $('mark').replaceChildren(...(icon ? [el('img', { src: icon.src, alt: '', width: '22', height: '22' })] : []));
}

function showTools() {
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = state.tools.filter((tool) => {
    const text = `${tool.name} ${titleOf(tool)} ${tool.description ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  // Those whose name has the words come first.
  const inName = (tool) => words.every((word) => tool.name.toLowerCase().includes(word));
  wanted.sort((a, b) => inName(b) - inName(a));
  $('tools').replaceChildren(...wanted.map(entry));
  $('filter').placeholder = `Filter ${state.tools.length} tools`;
  markChosen();
}

const titleOf = (tool) => tool.title ?? tool.annotations?.title ?? '';

function entry(tool) {
  const changes = tool.annotations?.readOnlyHint !== true;
  return el(
    'li',
    {},
    el(
      'a',
      { href: addressOf(tool.name), 'data-name': tool.name },
      el('span', { class: 'name' }, breakable(tool.name)),
      changes && el('span', { class: 'changes', text: 'writes' }),
      el('span', { class: 'title', text: titleOf(tool) }),
    ),
  );
}

// A name that may be broken behind its separators.
const breakable = (name) => name.split(/(?<=[_.-])/).flatMap((part) => [part, el('wbr')]);

const addressOf = (name) => `#/${encodeURIComponent(name)}`;

function nameInAddress() {
  return location.hash.startsWith('#/') ? decoded(location.hash.slice(2)) : undefined;
}

function markChosen() {
  for (const link of $('tools').querySelectorAll('a')) {
    if (link.dataset.name === state.chosen) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

// Shows a tool. Each keeps what was filled in and what came of it for as long as the page is there.
function choose(name) {
  state.chosen = name;
  markChosen();
  const tool = state.tools.find((one) => one.name === name);
  if (!tool) {
    state.shown = undefined;
    $('tool-panel').replaceChildren(welcome(name));
    $('result').replaceChildren();
    return;
  }
  let panel = state.panels.get(name);
  if (!panel) {
    panel = new ToolPanel({ client, calls, account, server: () => state.server, say, refresh });
    state.panels.set(name, panel);
  }
  const changed = panel.update(tool);
  if (state.shown === panel && !changed) return;
  state.shown = panel;
  $('tool-panel').replaceChildren(panel.element);
  $('result').replaceChildren(panel.result);
  if (changed === 'again') say(`${name} has changed`);
}

function welcome(name) {
  const { info = {}, instructions } = state.about ?? {};
  const missing = name !== undefined && state.tools.length > 0;
  return el(
    'div',
    { class: 'welcome' },
    missing && el('p', { class: 'notice' }, 'The catalogue has no tool ', el('code', { text: name }), ' for you.'),
    el('h2', { text: state.server }),
    info.description && el('p', { text: info.description }),
    el('p', { class: 'hint' }, 'Choose a tool; ', el('kbd', { text: '/' }), ' goes to the filter.'),
    instructions && [
      el('h3', { text: 'Instructions' }),
      el('p', { class: 'hint', text: `What a model is told of the tools together, ${bytes(instructions.length)}.` }),
      el('p', { class: 'prose', text: instructions }),
    ],
  );
}

function view(name) {
  document.body.dataset.view = name;
  for (const button of document.querySelectorAll('[data-show]')) {
    button.setAttribute('aria-pressed', String(button.dataset.show === name));
  }
}

function onFilterKey(event) {
  const links = [...$('tools').querySelectorAll('a')];
  if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
  event.preventDefault();
  if (event.key === 'ArrowDown') links[0]?.focus();
  else if (links.length) {
    $('filter').value = '';
    links[0].click();
    showTools();
  }
}

function onToolsKey(event) {
  const links = [...$('tools').querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
  if (at < 0 || next === undefined) return;
  event.preventDefault();
  (links[Math.min(next, links.length - 1)] ?? $('filter')).focus();
}

const keys = {
  '/': () => (view('tools'), $('filter').select()),
  '?': () => $('help').showModal(),
  e: () => state.shown?.fillExamples(),
  f: () => state.shown?.focus(),
  j: () => state.shown?.toggleMode(),
  c: () => (view('calls'), $('calls').querySelector('summary')?.focus()),
};

function onKey(event) {
  if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    state.shown?.call({ dryRun: event.shiftKey });
    return;
  }
  const typing = event.target.closest('input:not([type=checkbox]), textarea, select');
  if (event.key === 'Escape' && typing) typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
}

$('copy-endpoint').append(copier('Copy', endpoint));
$('endpoint').textContent = endpoint.replace(/^http:\/\//, '');
$('filter').addEventListener('input', showTools);
$('filter').addEventListener('keydown', onFilterKey);
$('tools').addEventListener('keydown', onToolsKey);
$('tools').addEventListener('click', (event) => {
  // A person who opens a tool goes on in its form; one who only walks over the list does not lose their place.
  const link = event.target.closest('a');
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  if (link.dataset.name !== state.chosen) history.pushState(null, '', addressOf(link.dataset.name));
  choose(link.dataset.name);
  view('tool');
  state.shown?.focus();
});
for (const button of document.querySelectorAll('[data-show]')) {
  button.addEventListener('click', () => view(button.dataset.show));
}
$('help-button').addEventListener('click', () => $('help').showModal());
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  $('tool-panel').focus();
});
document.addEventListener('keydown', onKey);
window.addEventListener('popstate', () => choose(nameInAddress()));
window.addEventListener('hashchange', () => choose(nameInAddress()));
window.addEventListener('focus', look);

view(nameInAddress() ? 'tool' : 'tools');
