// Elements. Text becomes text: nothing here makes markup of it.
import { pretty } from './json.js';

let count = 0;
export const newID = (prefix) => `${prefix}-${++count}`;

// An element with properties (class and text, functions for events, attributes for all else) and children. What is
// undefined, null or false is left out.
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') element.className = value;
    else if (name === 'text') element.textContent = value;
    else if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  const absent = [undefined, null, false];
  element.append(...children.flat(Infinity).filter((child) => !absent.includes(child)));
  return element;
}

export const $ = (id) => document.getElementById(id);

const colourful = 200_000; // more characters than this in colours make a browser slow

// A JSON text in lines and colours.
export function json(text) {
  const code = el('pre', { class: 'json', tabindex: '0' });
  if (text.length > colourful) {
    code.textContent = text;
    return code;
  }
  for (const [kind, part] of pretty(text)) {
    code.append(kind === 'space' || kind === 'mark' ? part : el('span', { class: `json-${kind}`, text: part }));
  }
  return code;
}

// A button that copies a text, which may be a function.
export function copier(label, text) {
  const button = el('button', {
    type: 'button',
    class: 'quiet',
    text: label,
    click: async () => {
      await navigator.clipboard.writeText(typeof text === 'function' ? text() : text);
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = label), 1200);
    },
  });
  return button;
}

// A link where the address is one of the web, else its text.
export function link(address) {
  const web = URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
  if (!web) return el('code', { text: address });
  return el('a', { href: address, target: '_blank', rel: 'noopener noreferrer', text: address });
}

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  return n < 1e6 ? `${(n / 1000).toFixed(1)} KB` : `${(n / 1e6).toFixed(1)} MB`;
}

export function milliseconds(n) {
  if (n < 10) return `${n.toFixed(1)} ms`;
  return n < 1000 ? `${Math.round(n)} ms` : `${(n / 1000).toFixed(2)} s`;
}
