// One tool: what clients see of it, its form, and what came of calls.
import { ask } from './ask.js';
import { parseChallenge } from './auth.js';
import { path } from './calls.js';
import { bytes, el, json, newID } from './dom.js';
import { buildForm } from './form.js';
import { isJSON, pretty } from './json.js';
import { codeHeaderMismatch } from './mcp.js';
import { failures, requestIDOf, show, verdict } from './result.js';

const mostRounds = 20; // a server that only ever asks is not answered for ever

const draftKey = (name) => `patchbay.draft.${name}`;

export class ToolPanel {
  #mode = 'form';
  #running;

  constructor(page) {
    this.page = page; // {client, calls, account, server, say, refresh}
    this.element = el('article', { class: 'tool' });
    this.result = el('div', { class: 'outcome' });
  }

  // Takes a definition. Returns 'first' or 'again' when it is another than before, else false.
  update(tool) {
    if (tool.text === this.tool?.text) return false;
    const first = !this.tool;
    const values = first ? sessionStorage.getItem(draftKey(tool.name)) : this.#draft();
    this.tool = tool;
    this.#build();
    if (values && isJSON(values)) this.#write(values);
    return first ? 'first' : 'again';
  }

  #build() {
    const { tool } = this;
    const { schema, dryRun } = withoutDryRun(tool.inputSchema);
    this.dryRun = dryRun;
    this.form = buildForm(schema);
    const id = newID('json');
    this.text = el('textarea', { id, class: 'code', rows: '8', spellcheck: 'false' });
    this.problem = el('p', { class: 'error', hidden: true });
    const label = el('label', { for: id }, 'Arguments as JSON');
    const asJSON = el('div', { class: 'fields' }, label, this.text, this.problem);
    this.body = el('div', { class: 'arguments' }, this.form.element, asJSON);
    this.element.replaceChildren(about(tool), this.#formElement(), definition(tool));
    this.#showMode();
  }

  #formElement() {
    this.key = el('input', { id: newID('key'), type: 'text', autocomplete: 'off', spellcheck: 'false' });
    const quiet = (key, click) => ({ type: 'button', class: 'quiet', 'aria-keyshortcuts': key, click });
    this.switch = el('button', quiet('j', () => this.toggleMode()));
    this.stop = el('button', { type: 'button', hidden: true, click: () => this.#running?.abort() }, 'Stop waiting');
    return el(
      'form',
      {
        novalidate: true,
        submit: (event) => {
          event.preventDefault();
          this.call({});
        },
        input: () => this.#keepDraft(),
        change: () => this.#keepDraft(),
      },
      this.body,
      el(
        'details',
        { class: 'more' },
        el('summary', { text: 'Idempotency key' }),
        el('label', { for: this.key.id }, 'A call that is sent again under the same key has the first one\'s result'),
        this.key,
      ),
      el(
        'div',
        { class: 'actions' },
        el('button', { class: 'primary', 'aria-keyshortcuts': 'Control+Enter' }, 'Call', el('kbd', { text: '⌃↵' })),
        this.dryRun && el('button', { type: 'button', click: () => this.call({ dryRun: true }) }, 'Dry run'),
        this.stop,
        el('span', { class: 'space' }),
        this.form.hasExamples && el('button', quiet('e', () => this.fillExamples()), 'Examples'),
        this.switch,
      ),
    );
  }

  #showMode() {
    const [asForm, asJSON] = this.body.children;
    asForm.hidden = this.#mode !== 'form';
    asJSON.hidden = this.#mode === 'form';
    this.switch.textContent = this.#mode === 'form' ? 'As JSON' : 'As a form';
  }

  // What is filled in goes along, unless it is no JSON.
  toggleMode() {
    const { text, problems } = this.#read();
    if (problems.length) return;
    this.#mode = this.#mode === 'form' ? 'json' : 'form';
    this.#showMode();
    this.#write(text);
    this.focus();
  }

  fillExamples() {
    if (this.#mode === 'json') this.toggleMode();
    this.form.fillExamples();
    this.#keepDraft();
  }

  focus() {
    if (this.#mode === 'json') this.text.focus();
    else if (this.form.fields.length) this.form.focus();
    else this.element.querySelector('button.primary').focus();
  }

  // The arguments as text. What cannot be sent is said at its field.
  #read() {
    if (this.#mode === 'form') {
      const { text, problems } = this.form.read();
      this.form.mark(problems.map(({ field, message }) => ({ path: field.at, message })));
      return { text, problems };
    }
    const text = this.text.value.trim() || '{}';
    const good = isJSON(text) && text.startsWith('{');
    this.problem.textContent = good ? '' : whyNot(text);
    this.problem.hidden = good;
    if (!good) this.text.focus();
    return { text, problems: good ? [] : [this.problem] };
  }

  #write(text) {
    if (this.#mode === 'form') this.form.write(text);
    else this.text.value = pretty(text).map(([, part]) => part).join('');
  }

  #draft() {
    return this.#mode === 'form' ? this.form.read().text : this.text.value;
  }

  // A reload, or a sign-in, does not lose what was typed. A secret is not kept.
  #keepDraft() {
    if (!holdsSecret(this.tool)) sessionStorage.setItem(draftKey(this.tool.name), this.#draft());
  }

  async call({ dryRun = false }) {
    if (this.#running || (dryRun && !this.dryRun)) return;
    const { text, problems } = this.#read();
    if (problems.length) return;
    const argumentsText = dryRun ? withMember(text, 'dryRun', 'true') : text;
    this.#running = new AbortController();
    this.stop.hidden = false;
    this.element.classList.add('running');
    try {
      await this.#run(argumentsText, this.#running.signal);
    } catch (error) {
      const left = error.name === 'AbortError';
      this.#tell(left ? 'No longer waiting. The call itself runs to its end, as it does on AWS.' : reason(error));
    } finally {
      this.#running = undefined;
      this.stop.hidden = true;
      this.element.classList.remove('running');
    }
  }

  // The rounds of a call: whatever the server asks is put to the person, and the call sent again with the answers.
  async #run(argumentsText, signal) {
    const { page } = this;
    const { client } = page;
    const answers = [];
    const options = { idempotencyKey: this.key.value.trim() || undefined, signal, onProgress: this.#progress() };
    for (let round = 0; round < mostRounds; round++) {
      let answer = await client.call(this.tool, argumentsText, options);
      if (answer.message?.error?.code === codeHeaderMismatch) {
        // The definition may have changed, and with it what is mirrored into headers.
        await page.refresh(true);
        answer = await client.call(this.tool, argumentsText, options);
      }
      answers.push(answer);
      const result = answer.message?.result;
      if (result?.resultType !== 'input_required') break;
      this.#tell('The server asks before it goes on.');
      const asked = result.inputRequests ?? {};
      options.inputResponses = await ask(asked, { server: page.server(), tool: this.tool.name });
      if (options.inputResponses === undefined) break;
      options.requestState = result.requestState;
      this.#tell('Calling…');
    }
    this.#finish(answers);
  }

  #finish(answers) {
    const answer = answers.at(-1);
    const { word } = verdict(answer);
    const { status } = answer.exchange;
    const shown = show(answers);
    if (status === 401 || status === 403) shown.prepend(this.#challenged(answer.exchange));
    this.result.replaceChildren(shown);
    shown.scrollIntoView({ block: 'nearest' });
    this.page.say(`${this.tool.name}: ${word}`);
    this.form.mark(this.#mode === 'form' ? failures(answer) : []);
    this.#addPath(shown, requestIDOf(answer.exchange));
  }

  #challenged({ status, responseHeaders }) {
    const header = responseHeaders.find(([name]) => name === 'www-authenticate')?.[1];
    const challenge = parseChallenge(header);
    if (status === 403 && challenge.error) return this.page.account.stepUp(challenge);
    if (status === 403) return '';
    this.page.account.refused(challenge);
    return el('p', { class: 'notice', text: 'The token is missing or no longer taken. Sign in, and call again.' });
  }

  async #addPath(shown, requestID) {
    const call = requestID && (await this.page.calls.find(requestID));
    if (!call) return;
    const details = el('details', { class: 'raw', open: true }, el('summary', { text: 'Path' }), path(call));
    shown.querySelector('.raw').before(details);
  }

  #tell(text) {
    this.result.replaceChildren(el('p', { class: 'waiting', text }));
    this.page.say(text);
  }

  // Shows that something goes on, and how far it is.
  #progress() {
    const bar = el('progress', { 'aria-label': 'Progress' });
    const message = el('span', { text: 'Calling…' });
    const steps = el('ol', { class: 'steps' });
    this.result.replaceChildren(el('p', { class: 'waiting' }, bar, message), steps);
    return ({ progress, total, message: said }) => {
      if (total) [bar.max, bar.value] = [total, progress];
      message.textContent = total ? `${progress} of ${total}` : `${progress}`;
      if (said) steps.append(el('li', { text: said }));
      if (!bar.isConnected) this.result.replaceChildren(el('p', { class: 'waiting' }, bar, message), steps);
    };
  }
}

const holdsSecret = ({ text }) => /"writeOnly"\s*:\s*true|"format"\s*:\s*"password"/.test(text);

const reason = (error) => (error instanceof TypeError ? 'The local stack does not answer.' : error.message);

function whyNot(text) {
  if (isJSON(text)) return 'Arguments are an object, in braces.';
  try {
    return JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${error.message}`;
  }
}

const withMember = (text, name, value) => {
  const rest = text.trim().slice(1);
  return `{${JSON.stringify(name)}:${value}${rest.trim() === '}' ? '' : ','}${rest}`;
};

// A schema without the argument that asks for a dry run, which has a button of its own.
function withoutDryRun(schema) {
  if (schema.properties?.dryRun?.type !== 'boolean') return { schema, dryRun: false };
  const { dryRun, ...properties } = schema.properties;
  return { schema: { ...schema, properties }, dryRun: Boolean(dryRun) };
}

function about(tool) {
  const title = tool.title ?? tool.annotations?.title;
  return el(
    'header',
    {},
    el('h2', { text: tool.name }),
    title && el('p', { class: 'title', text: title }),
    el(
      'ul',
      { class: 'hints', 'aria-label': 'What it does' },
      hints(tool.annotations ?? {}).map((text) => el('li', { text })),
    ),
    description(tool.description ?? ''),
  );
}

const long = 320; // more than this of a description is folded away

function description(text) {
  if (text.length <= long) return el('p', { class: 'prose', text });
  const cut = text.lastIndexOf(' ', long);
  return el(
    'details',
    { class: 'prose fold' },
    el('summary', {}, el('span', { text: text.slice(0, cut) }), el('span', { class: 'rest', text: text.slice(cut) })),
  );
}

// The annotations with the protocol's defaults. Source: schema 2026-07-28, ToolAnnotations.
function hints({ readOnlyHint, destructiveHint, idempotentHint, openWorldHint }) {
  const world = openWorldHint === false ? 'closed world' : 'open world';
  if (readOnlyHint === true) return ['only reads', world];
  const effect = destructiveHint === false ? 'only adds' : 'may destroy';
  return ['writes', effect, idempotentHint && 'idempotent', world].filter(Boolean);
}

function definition(tool) {
  return el(
    'details',
    { class: 'raw' },
    el('summary', {}, `Definition, ${bytes(tool.text.length)}, as clients get it`),
    json(tool.text),
  );
}
