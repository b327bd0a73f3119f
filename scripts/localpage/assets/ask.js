// What a server asks before it goes on: a form to fill in, a link to open, an answer in a model's place, folders.
// Sources: client/elicitation, client/sampling, client/roots.
import { el, link, newID } from './dom.js';
import { buildForm } from './form.js';

// Puts each request to the person and returns the responses by their keys; undefined when the person left one that
// has no answer to say so with.
export async function ask(requests, { server, tool }) {
  const responses = [];
  for (const [key, { method, params = {} }] of Object.entries(requests)) {
    if (!Object.hasOwn(questions, method)) throw new Error(`The page cannot answer ${method}, which the server asks.`);
    const answer = await put(questions[method](params), server, tool);
    if (answer === undefined) return undefined;
    responses.push([key, answer]);
  }
  return Object.fromEntries(responses);
}

const questions = {
  'elicitation/create': (params) => (params.mode === 'url' ? linkQuestion(params) : formQuestion(params)),
  'sampling/createMessage': sampleQuestion,
  'roots/list': rootsQuestion,
};

const declined = { Decline: { action: 'decline' }, Cancel: { action: 'cancel' } };

function formQuestion({ message, requestedSchema }) {
  const form = buildForm(requestedSchema ?? {}, { prefill: true });
  return {
    title: 'asks you',
    message,
    body: form.element,
    send: 'Send',
    otherwise: declined,
    // What is wrong is said here; an answer that does not fit would only be asked for again.
    read() {
      const { text, problems } = form.read();
      const missing = form.fields.filter((field) => field.required && field.read([]) === undefined);
      const failures = [
        ...problems.map(({ field, message: said }) => ({ path: field.at, message: said })),
        ...missing.map((field) => ({ path: field.at, message: 'This is needed.' })),
      ];
      form.mark(failures);
      return failures.length ? undefined : { action: 'accept', content: JSON.parse(text) };
    },
  };
}

function linkQuestion({ message, url }) {
  const host = URL.canParse(url) ? new URL(url).host : url;
  return {
    title: 'asks you to open a page',
    message,
    body: el(
      'div',
      { class: 'fields' },
      el('p', {}, 'It is at ', el('strong', { text: host }), ', and opens in a tab of its own:'),
      el('p', { class: 'address' }, link(url)),
      el('p', { class: 'hint', text: 'Go on here once you are done there.' }),
    ),
    send: 'Go on',
    otherwise: declined,
    read: () => ({ action: 'accept' }),
  };
}

function sampleQuestion({ messages = [], systemPrompt }) {
  const id = newID('sample');
  const answer = el('textarea', { id, rows: '4' });
  const said = messages.map(({ role, content }) => {
    const blocks = [].concat(content).map((block) => block.text ?? `(${block.type})`);
    return el('p', {}, el('strong', { text: `${role}: ` }), blocks.join('\n'));
  });
  return {
    title: 'asks a model, in whose place you answer',
    message: systemPrompt,
    body: el('div', { class: 'fields' }, said, el('label', { for: id }, 'Answer'), answer),
    send: 'Answer',
    otherwise: { Cancel: undefined },
    read: () => ({
      role: 'assistant',
      content: { type: 'text', text: answer.value },
      model: 'a person at the local page',
      stopReason: 'endTurn',
    }),
  };
}

function rootsQuestion() {
  const id = newID('roots');
  const addresses = el('textarea', { id, rows: '3', class: 'code', placeholder: 'file:///home/ada/project' });
  return {
    title: 'asks which folders it may see',
    body: el('div', { class: 'fields' }, el('label', { for: id }, 'One file:// address a line'), addresses),
    send: 'Answer',
    otherwise: { Cancel: undefined },
    read: () => {
      const written = addresses.value.split('\n').map((line) => line.trim());
      return { roots: written.filter(Boolean).map((uri) => ({ uri })) };
    },
  };
}

// Shows a question and returns the answer. Escape is what Cancel is.
function put(question, server, tool) {
  const { promise, resolve } = Promise.withResolvers();
  const id = newID('ask');
  const end = (answer) => {
    resolve(answer);
    dialog.close();
    dialog.remove();
  };
  const others = Object.entries(question.otherwise).map(([label, answer]) =>
    el('button', { type: 'button', text: label, click: () => end(answer) }),
  );
  const form = el(
    'form',
    {
      novalidate: true,
      submit: (event) => {
        event.preventDefault();
        const answer = question.read();
        if (answer !== undefined) end(answer);
      },
    },
    el('h2', { id }, el('span', { text: server }), ` ${question.title}`),
    el('p', { class: 'for' }, 'for ', el('code', { text: tool })),
    question.message && el('p', { class: 'message', text: question.message }),
    question.body,
    el('div', { class: 'actions' }, el('button', { class: 'primary', text: question.send }), others),
  );
  const dialog = el(
    'dialog',
    {
      class: 'ask',
      'aria-labelledby': id,
      cancel: (event) => {
        event.preventDefault();
        end(question.otherwise.Cancel);
      },
    },
    form,
  );
  document.body.append(dialog);
  dialog.showModal();
  return promise;
}
