// A form made from a JSON Schema. What it gives is JSON text: a number goes out as it was typed, and what is no number
// goes out as a string, since it is the server that judges arguments, in words a model would read. Whatever has no
// field of its own is written as JSON.
import { el, newID } from './dom.js';
import { decoded, isJSON, members, pretty } from './json.js';

const deepest = 5; // how far objects and lists are taken apart, since a schema may contain itself
const manyLetters = 200; // a text that may be longer may have several lines
const pageful = 1000; // and one that may be as long as this gets room for them

// A form for an object's schema. With prefill defaults are filled in, as the protocol wants it for what a server asks;
// else they are told, since the server applies them.
export function buildForm(schema, { prefill = false } = {}) {
  const context = { root: schema, prefill, depth: 0 };
  const fields = propertyFields(schema, context);
  const none = fields.length === 0 && el('p', { class: 'hint', text: 'It takes no arguments.' });
  const element = el('div', { class: 'fields' }, none, fields.map((field) => field.element));
  let rest = new Map(); // members of a value that have no field
  const form = {
    element,
    fields,
    // The arguments as text, and what cannot be sent as {field, message}.
    read() {
      const problems = [];
      const texts = readMembers(fields, '', problems);
      return { text: object([...texts, ...rest]), problems };
    },
    write(text) {
      const values = members(text);
      for (const field of fields) field.write(values.get(field.name));
      rest = new Map([...values].filter(([name]) => !fields.some((field) => field.name === name)));
    },
    // Puts messages at the fields that they are about, as {path, message}. The first of these gets the focus, and what
    // is typed there takes the place of what is wrong.
    mark(failures) {
      const all = flatten(fields);
      for (const field of all) field.say('');
      const marked = failures.map(({ path, message }) => {
        const field = all.find((candidate) => candidate.at === path);
        field?.say(message);
        return field;
      });
      const first = marked.find(Boolean);
      first?.focus();
      if (first) document.activeElement.select?.();
    },
    hasExamples: fields.some((field) => exampleOf(field.schema) !== undefined),
    // Fills in the examples of what is required, or of everything where nothing is.
    fillExamples() {
      const wanted = fields.some((field) => field.required) ? fields.filter((field) => field.required) : fields;
      for (const field of wanted) {
        const value = exampleOf(field.schema);
        if (field.read([]) === undefined && value !== undefined) field.write(JSON.stringify(value));
      }
    },
    focus: () => element.querySelector('input, select, textarea, button')?.focus(),
  };
  return form;
}

const object = (entries) => `{${Array.from(entries, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;

const flatten = (fields) => fields.flatMap((field) => [field, ...flatten(field.children?.() ?? [])]);

function readMembers(fields, at, problems) {
  const texts = [];
  for (const field of fields) {
    field.at = join(at, field.name);
    const text = field.read(problems);
    if (text !== undefined) texts.push([field.name, text]);
  }
  return texts;
}

// A place as the server's messages name it.
const join = (at, name) => {
  if (!/^[\p{L}\p{N}_$-]+$/u.test(name)) return `${at}[${JSON.stringify(name)}]`;
  return at ? `${at}.${name}` : name;
};

function propertyFields(schema, context) {
  const required = schema.required ?? [];
  return Object.entries(schema.properties ?? {}).map(([name, property]) =>
    buildField(name, resolve(property, context), required.includes(name), context),
  );
}

// A schema with the ones inside the document that it refers to.
function resolve(schema, { root }, seen = 0) {
  if (schema === null || typeof schema !== 'object') return {};
  if (typeof schema.$ref !== 'string' || seen > 10) return schema;
  const { $ref, ...own } = schema;
  const tokens = $ref.startsWith('#/') ? $ref.slice(2).split('/') : undefined;
  const target = tokens?.reduce(
    (node, token) => node?.[decoded(token).replaceAll('~1', '/').replaceAll('~0', '~')],
    root,
  );
  return target ? { ...resolve(target, { root }, seen + 1), ...own } : own;
}

const typesOf = (schema) => [].concat(schema.type ?? []).filter((type) => type !== 'null');

// The choices of a schema that has some, as {value, title}.
function choices(schema) {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ value, title: String(value) }));
  const titled = schema.oneOf ?? schema.anyOf;
  const constants = Array.isArray(titled) && titled.every((one) => one && Object.hasOwn(one, 'const'));
  return constants ? titled.map((one) => ({ value: one.const, title: one.title ?? String(one.const) })) : undefined;
}

function kindOf(schema, context) {
  if (choices(schema)) return 'choice';
  const types = typesOf(schema);
  if (types.includes('array')) {
    const items = resolve(schema.items, context);
    const plain = !schema.prefixItems && !Array.isArray(schema.items) && Object.keys(items).length > 0;
    return plain && context.depth < deepest ? 'list' : 'json';
  }
  if (types.length !== 1) return 'json';
  if (types[0] !== 'object') return Object.hasOwn(builders, types[0]) ? types[0] : 'json';
  const named = Object.keys(schema.properties ?? {}).length > 0;
  return named && context.depth < deepest ? 'object' : 'json';
}

const builders = {
  choice: choiceField,
  list: listField,
  object: objectField,
  boolean: booleanField,
  integer: numberField,
  number: numberField,
  string: stringField,
  json: jsonField,
};

function buildField(name, schema, required, context) {
  const base = { name, schema, required, at: name, ...describe(name, schema, required) };
  const field = builders[kindOf(schema, context)](base, context);
  if (context.prefill && schema.default !== undefined) field.write(JSON.stringify(schema.default));
  return field;
}

// What every field has: its label, what is said of it, and where errors stand.
function describe(name, schema, required) {
  const id = newID('field');
  const hint = schema.description && el('p', { class: 'hint', id: `${id}-hint`, text: schema.description });
  const error = el('p', { class: 'error', id: `${id}-error`, hidden: true });
  const aria = {
    id,
    'aria-describedby': hint ? `${id}-hint ${id}-error` : `${id}-error`,
    'aria-required': required ? 'true' : undefined,
  };
  return { id, hint, error, aria };
}

const titleOf = (field) => [
  el('span', { class: 'name', text: field.label ?? field.name }),
  el('span', { class: 'rule', text: rule(field.schema) }),
  field.required && el('span', { class: 'required', text: 'required' }),
];

// What is allowed, in few words.
function rule(schema) {
  const said = [choices(schema) ? '' : typesOf(schema).join(' or ') || 'any JSON'];
  if (schema.format) said.push(schema.format);
  said.push(range(schema.minimum ?? schema.exclusiveMinimum, schema.maximum ?? schema.exclusiveMaximum, ''));
  const filled = schema.minLength === 1 && schema.maxLength === undefined;
  said.push(filled ? 'not empty' : range(schema.minLength, schema.maxLength, ' characters'));
  said.push(range(schema.minItems, schema.maxItems, ' items'));
  if (schema.default !== undefined) said.push(`default ${JSON.stringify(schema.default)}`);
  if (schema['x-mcp-header']) said.push(`header Mcp-Param-${schema['x-mcp-header']}`);
  return said.filter(Boolean).join(' · ');
}

function range(from, to, unit) {
  if (from === undefined && to === undefined) return '';
  if (from === undefined) return `at most ${to}${unit}`;
  return to === undefined ? `at least ${from}${unit}` : `${from} to ${to}${unit}`;
}

// A field with one control.
function single(base, control, { read, write }) {
  const element = el(
    'div',
    { class: 'field' },
    el('label', { for: base.id }, titleOf(base)),
    control,
    base.hint,
    base.error,
  );
  return {
    ...base,
    element,
    read,
    write,
    say: (message) => say(base, control, message),
    focus: () => control.focus(),
  };
}

// A message that ends with the description need not: it stands there already.
function say({ error, schema }, control, message) {
  const end = ` (${schema.description})`;
  error.textContent = message.endsWith(end) ? message.slice(0, -end.length) : message;
  error.hidden = !message;
  control.toggleAttribute('aria-invalid', Boolean(message));
  if (message) control.setAttribute('aria-invalid', 'true');
}

function stringField(base, { inList, prefill }) {
  const { schema, aria } = base;
  // Of a list's items and of what a server asks, those are short that do not say otherwise.
  const length = schema.maxLength ?? (inList || prefill ? 0 : Infinity);
  const long = length > manyLetters && !schema.format && !schema.pattern;
  const type = isSecret(schema) ? 'password' : schema.format === 'date' ? 'date' : 'text';
  const shared = { ...aria, placeholder: placeholder(schema), spellcheck: 'false', autocomplete: 'off' };
  const tall = schema.maxLength >= pageful && 'tall';
  const lines = long && type === 'text' && el('textarea', { ...shared, rows: '1', class: tall });
  const control = lines || el('input', { ...shared, type });
  return single(base, control, {
    read: () => (control.value === '' ? undefined : JSON.stringify(control.value)),
    write: (text) => (control.value = plain(text)),
  });
}

const isSecret = (schema) => schema.writeOnly === true || schema.format === 'password';

const isNumber = (text) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);

function numberField(base) {
  const { schema, aria } = base;
  const inputmode = typesOf(schema)[0] === 'integer' ? 'numeric' : 'decimal';
  const hint = placeholder(schema) ?? schema.default;
  const control = el('input', { ...aria, type: 'text', inputmode, placeholder: hint, autocomplete: 'off' });
  return single(base, control, {
    read: () => {
      const typed = control.value.trim();
      if (typed === '') return undefined;
      return isNumber(typed) ? typed : JSON.stringify(control.value);
    },
    write: (text) => (control.value = plain(text)),
  });
}

const placeholder = ({ examples, default: fallback }) => {
  const value = examples?.[0] ?? fallback;
  return value === undefined || value === '' ? undefined : typeof value === 'string' ? value : JSON.stringify(value);
};

// A string without its quotation marks; anything else as it is written.
const plain = (text) => {
  const value = text === undefined ? '' : JSON.parse(text);
  return typeof value === 'string' ? value : text;
};

function booleanField(base, context) {
  if (context.prefill) return checkField(base);
  return choiceOf(base, [true, false].map((value) => ({ value, title: String(value) })));
}

function checkField(base) {
  const box = el('input', { ...base.aria, type: 'checkbox' });
  const title = base.schema.title ?? base.name;
  const element = el(
    'div',
    { class: 'field' },
    el('label', { class: 'check', for: base.id }, box, el('span', { text: title })),
    base.hint,
    base.error,
  );
  return {
    ...base,
    element,
    read: () => String(box.checked),
    write: (text) => (box.checked = text === 'true'),
    say: (message) => say(base, box, message),
    focus: () => box.focus(),
  };
}

function choiceField(base) {
  return choiceOf(base, choices(base.schema));
}

function choiceOf(base, options) {
  const texts = options.map(({ value }) => JSON.stringify(value));
  const none = base.schema.default === undefined ? '—' : `— (default ${base.schema.default})`;
  const select = el('select', base.aria, el('option', { value: '', text: none }));
  options.forEach(({ title }, i) => select.append(el('option', { value: String(i), text: title })));
  // A value that is none of the choices is for the server to judge, and for the person to see.
  let other;
  return single(base, select, {
    read: () => (select.value === 'other' ? other : texts[select.value]),
    write: (text) => {
      select.querySelector('[value=other]')?.remove();
      const known = text === undefined ? '' : texts.findIndex((one) => one === text);
      if (known === -1) {
        other = text;
        select.append(el('option', { value: 'other', text: `${text} (not a choice)` }));
      }
      select.value = known === -1 ? 'other' : String(known);
    },
  });
}

function jsonField(base) {
  const example = base.schema.examples?.[0];
  const hint = example === undefined ? undefined : JSON.stringify(example);
  const shared = { ...base.aria, class: 'code', rows: '2', spellcheck: 'false', placeholder: hint };
  const control = el('textarea', shared);
  const field = single(base, control, {
    read: (problems) => {
      const text = control.value.trim();
      if (text === '') return undefined;
      if (!isJSON(text)) problems.push({ field, message: 'This is not JSON. A text needs quotation marks.' });
      return text;
    },
    write: (text) => (control.value = text === undefined ? '' : pretty(text).map(([, part]) => part).join('')),
  });
  return field;
}

// A field of several controls.
function group(base, body) {
  return el(
    'fieldset',
    { class: 'field group', 'aria-describedby': base.aria['aria-describedby'] },
    el('legend', {}, titleOf(base)),
    base.hint,
    body,
    base.error,
  );
}

function objectField(base, context) {
  const fields = propertyFields(base.schema, { ...context, depth: context.depth + 1, inList: false });
  const element = group(base, fields.map((field) => field.element));
  let rest = [];
  const field = {
    ...base,
    element,
    children: () => fields,
    // One that is not required is there once something is in it.
    read: (problems) => {
      const texts = [...readMembers(fields, field.at, problems), ...rest];
      return texts.length || base.required ? object(texts) : undefined;
    },
    write: (text) => {
      const values = text?.startsWith('{') ? members(text) : new Map();
      for (const child of fields) child.write(values.get(child.name));
      rest = [...values].filter(([name]) => !fields.some((child) => child.name === name));
    },
    say: (message) => say(base, element, message),
    focus: () => fields[0]?.focus(),
  };
  return field;
}

function listField(base, context) {
  const options = choices(resolve(base.schema.items, context));
  return options ? checkListField(base, options) : rowsField(base, context);
}

// Several of a few.
function checkListField(base, options) {
  const boxes = options.map(({ value }) => el('input', { type: 'checkbox', value: JSON.stringify(value) }));
  const labels = options.map(({ title }, i) => el('label', { class: 'check' }, boxes[i], title));
  const body = el('div', { class: 'checks' }, labels);
  const element = group(base, body);
  return {
    ...base,
    element,
    read: () => {
      const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
      return chosen.length || base.required ? `[${chosen.join(',')}]` : undefined;
    },
    write: (text) => {
      const chosen = JSON.parse(text ?? '[]').map((value) => JSON.stringify(value));
      for (const box of boxes) box.checked = chosen.includes(box.value);
    },
    say: (message) => say(base, element, message),
    focus: () => boxes[0]?.focus(),
  };
}

// A list of rows that are added and removed.
function rowsField(base, context) {
  const schema = resolve(base.schema.items, context);
  const list = el('div', { class: 'rows' });
  const inner = { ...context, depth: context.depth + 1, inList: true };
  let rows = [];

  const add = () => {
    const field = buildField(base.name, schema, true, inner);
    field.label = `${base.name} ${rows.length + 1}`;
    const row = { field, element: el('div', { class: 'row' }, field.element) };
    const remove = () => {
      rows = rows.filter((other) => other !== row);
      row.element.remove();
      more.focus();
    };
    const label = `Remove ${field.label}`;
    row.element.append(el('button', { type: 'button', class: 'quiet', 'aria-label': label, click: remove }, '×'));
    field.element.querySelector('label, legend').replaceChildren(el('span', { class: 'name', text: field.label }));
    rows.push(row);
    list.append(row.element);
    return field;
  };
  const label = `Add to ${base.name}`;
  const more = el('button', { type: 'button', class: 'quiet', 'aria-label': label, click: () => add().focus() }, 'Add');
  const element = group(base, [list, more]);
  const clear = () => {
    rows = [];
    list.replaceChildren();
  };
  const field = {
    ...base,
    element,
    children: () => rows.map((row) => row.field),
    read: (problems) => {
      const texts = [];
      for (const row of rows) {
        row.field.at = `${field.at}[${texts.length}]`;
        const text = row.field.read(problems);
        if (text !== undefined) texts.push(text);
      }
      return texts.length || base.required ? `[${texts.join(',')}]` : undefined;
    },
    write: (text) => {
      clear();
      const values = text === undefined ? [] : text.startsWith('[') ? [...members(text).values()] : [text];
      for (const value of values) add().write(value);
      if (rows.length === 0 && base.required) add();
    },
    say: (message) => say(base, element, message),
    focus: () => (rows[0]?.field ?? { focus: () => more.focus() }).focus(),
  };
  field.write(undefined);
  return field;
}

// A value that fits, as far as the schema says one.
function exampleOf(schema) {
  if (schema.examples?.length) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  return choices(schema)?.[0].value;
}
