// JSON as text: what a tool wrote is shown to the digit, where JSON.parse would round its numbers and merge its names.

const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/g;
const opens = (part) => part === '{' || part === '[';
const closes = (part) => part === '}' || part === ']';

// The texts of an object's members by their names, or of an array's items by their indexes.
export function members(text) {
  const found = new Map();
  let depth = 0;
  let index = 0;
  let name;
  let start; // of the value that is being read
  for (const { 0: part, index: at } of text.matchAll(tokens)) {
    if (closes(part)) depth--;
    const ends = (depth === 1 && part === ',') || (depth === 0 && closes(part));
    if (ends && start !== undefined && text.slice(start, at).trim()) found.set(name, text.slice(start, at).trim());
    if (depth === 0 && part === '[') [name, start] = [0, at + 1];
    else if (ends && typeof name === 'number') [name, start] = [++index, at + 1];
    else if (ends) [name, start] = [undefined, undefined];
    else if (depth === 1 && start === undefined && part !== ':') name = JSON.parse(part);
    else if (depth === 1 && start === undefined) start = at + 1;
    if (opens(part)) depth++;
  }
  return found;
}

const lineLength = 76;

// A text in lines, as [kind, text] pairs. A list or an object that fits on a line has one.
export function pretty(text) {
  const parts = Array.from(text.matchAll(tokens), ([part]) => part);
  const { last, before } = measure(parts);
  const pieces = [];
  const write = (kind, part) => pieces.push([kind, part]);
  let depth = 0;
  let flatUntil = -1; // the end of what stands on one line
  const breakLine = () => write('space', '\n' + '  '.repeat(depth));
  parts.forEach((part, i) => {
    const flat = i <= flatUntil;
    if (opens(part)) {
      write('mark', part);
      const fits = before[last[i] + 1] - before[i] + depth * 2 < lineLength;
      if (!flat && (fits || last[i] === i + 1)) flatUntil = last[i];
      depth++;
      if (i > flatUntil) breakLine();
    } else if (closes(part)) {
      depth--;
      if (!flat) breakLine();
      write('mark', part);
    } else if (part === ',') {
      write('mark', part);
      if (flat) write('space', ' ');
      else breakLine();
    } else if (part === ':') {
      write('mark', ': ');
    } else {
      write(kindOf(part, parts[i + 1]), part);
    }
  });
  return pieces;
}

function kindOf(part, next) {
  if (part[0] === '"') return next === ':' ? 'name' : 'string';
  return /^[tfn]/.test(part) ? 'word' : 'number';
}

// Where each bracket closes, and how many characters stand before each part.
function measure(parts) {
  const last = [];
  const before = [0];
  const open = [];
  parts.forEach((part, i) => {
    before.push(before[i] + part.length + (part === ',' || part === ':' ? 1 : 0));
    if (opens(part)) open.push(i);
    if (closes(part)) last[open.pop()] = i;
  });
  return { last, before };
}

export function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// Whether two texts say the same, whatever the white space and the order of names.
export function same(a, b) {
  const canonical = (text) => JSON.stringify(sorted(JSON.parse(text)));
  return isJSON(a) && isJSON(b) && canonical(a) === canonical(b);
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));
}

// A part of a URL or of a JSON Pointer in one, decoded; as it stands where it is no such thing.
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
