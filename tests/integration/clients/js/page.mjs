// Uses the local stack's page in Chromium as an engineer would, by the keyboard. Prints what it saw as one line of
// JSON.
//
// Usage: page.mjs, with {"chromium", "page", "pictures", "steps"} on standard input: the program, the URL of the page,
// a folder for pictures, and either "catalogue", with {"gate", "call", "forms"}: the path that slow_progress waits for,
// the call that another client makes, and what is to be filled into forms, as {"schema", "value"}; or "sign in", with
// {"name", "password", "subject", "token"}; or "save", with {"tool", "saves"}: what is saved in turn to which files.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import puppeteer from 'puppeteer-core';

const plan = JSON.parse(await text(process.stdin));
const origin = new URL(plan.page).origin;
const seen = { violations: [], errors: [], elsewhere: [], visits: [] };

// Chromium's sandbox needs rights that a container does not give; the pages are this machine's own.
const browser = await puppeteer.launch({ executablePath: plan.chromium, headless: true, args: ['--no-sandbox'] });
const page = await browser.newPage();
await page.setViewport({ width: 1400, height: 900 });
page.on('pageerror', (error) => seen.errors.push(error.message));
page.on('console', (message) => {
  if (/Content Security Policy|TrustedHTML/.test(message.text())) seen.violations.push(message.text());
});
page.on('request', (request) => {
  const url = new URL(request.url());
  if (url.searchParams.has('code_challenge')) seen.visits.push(request.url());
  else if (url.origin !== origin && url.protocol !== 'data:' && !seen.elsewhere.includes(url.origin)) {
    seen.elsewhere.push(url.origin);
  }
});

let pictures = 0;
const picture = (name) => page.screenshot({ path: join(plan.pictures, `${++pictures}-${name}.png`) });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Waits until a function of the page returns something, and returns that. The page's own policy forbids the evaluation
// of text, by which Puppeteer would wait.
async function until(what, look, ...given) {
  for (let left = 600; left > 0; left--) {
    const found = await page.evaluate(look, ...given).catch(() => undefined); // a page that is just leaving
    if (found) return found;
    await pause(50);
  }
  throw new Error(`waited for ${what} in vain`);
}

const says = (words, selector = 'body') =>
  until(`${words} in ${selector}`, (s, w) => document.querySelector(s)?.innerText.includes(w), selector, words);

async function press(keys) {
  const all = keys.split('+');
  for (const key of all.slice(0, -1)) await page.keyboard.down(key);
  await page.keyboard.press(all.at(-1));
  for (const key of all.slice(0, -1).reverse()) await page.keyboard.up(key);
}

// Opens a tool by the filter, and ends up in its form.
async function open(name) {
  await press('Escape');
  await press('/');
  await press('Control+a');
  await page.keyboard.type(name);
  await says(name, '#tools li');
  await press('Enter');
  await says(name, 'main h2');
}

// What the arguments of the tool that is shown are, by the names of their fields.
const field = (name) =>
  page.evaluateHandle((wanted) => {
    const label = [...document.querySelectorAll('.field label')].find(
      (one) => one.querySelector('.name')?.textContent === wanted,
    );
    return document.getElementById(label.htmlFor);
  }, name);

async function fill(name, value) {
  const control = await field(name);
  await control.focus();
  await press('Control+a');
  await page.keyboard.type(value);
}

// Calls the tool that is shown, and returns how it ended.
async function call(keys = 'Control+Enter') {
  await page.evaluate(() => document.querySelector('.verdict')?.remove());
  await press(keys);
  return verdict();
}

const verdict = () => until('a result', () => document.querySelector('.verdict strong')?.textContent);
const content = () => page.$eval('#result .content', (element) => element.innerText);
const wires = (part) =>
  until('the wire', (selector) => {
    document.querySelector('#result details.raw:last-of-type').open = true;
    const found = [...document.querySelectorAll(`.wire ${selector}`)].map((one) => one.innerText);
    return found.length && found;
  }, part);

const question = () => until('a question', () => document.querySelector('dialog.ask')?.innerText);

// Text that cannot be read well: what stands on which ground at less than 4.5 to 1 (WCAG 2.2, 1.4.3).
const faint = () =>
  page.evaluate(() => {
    const numbers = (color) => color.match(/[\d.]+/g).map(Number);
    const light = (color) => {
      const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
      const [r, g, b] = numbers(color).map(linear);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
      const color = getComputedStyle(element).backgroundColor;
      return numbers(color)[3] === 0 && element.parentElement ? ground(element.parentElement) : color;
    };
    const found = [];
    for (const element of document.querySelectorAll('body *')) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      if (!own || !element.checkVisibility()) continue;
      const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) found.push(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
    }
    return [...new Set(found)];
  });

// Controls that a screen reader has no name for.
const nameless = () =>
  page.evaluate(() =>
    [...document.querySelectorAll('input, select, textarea, button, a, summary')]
      .filter((one) => one.checkVisibility())
      .filter((one) => !one.labels?.length && !one.getAttribute('aria-label') && !one.textContent.trim())
      .map((one) => one.outerHTML),
  );

const wide = () =>
  page.evaluate(() => {
    const { scrollWidth } = document.documentElement;
    return scrollWidth > innerWidth && scrollWidth;
  });

async function catalogue() {
  await page.goto(plan.page);
  await says('live', '#calls-status');
  await until('the tools', () => document.querySelectorAll('#tools li').length > 20);

  // Whatever the schema, what is written into a form comes out of it.
  seen.forms = await page.evaluate(async (forms) => {
    const { buildForm } = await import('/_patchbay/form.js');
    return forms.map(({ schema, value }) => {
      const form = buildForm(schema);
      form.write(value);
      return form.read().text;
    });
  }, plan.forms);

  // The server judges the arguments, and what it says stands at the field.
  await open('apply_defaults');
  await fill('limit', '200');
  seen.refused = await call();
  seen.fieldError = await until('an error', () => document.querySelector('.field .error:not([hidden])')?.textContent);
  seen.focused = await page.evaluate(() => document.activeElement.closest('.field').querySelector('.name').textContent);
  await picture('refused');
  await page.keyboard.type('7');
  await fill('size', '3');
  await page.select(`#${await (await field('order')).evaluate((one) => one.id)}`, '1');
  seen.called = await call();
  seen.result = JSON.parse(await content());
  seen.path = await until('a path', () => {
    const parts = [...document.querySelectorAll('#result .spans .part')].map((part) => part.textContent);
    return parts.length > 2 && parts;
  });
  await picture('called');
  seen.faint = await faint();
  seen.nameless = await nameless();

  // As JSON it goes out to the digit. What is typed outlives a reload.
  await press('Escape');
  await press('j');
  const json = '{"limit": 7.0, "order": "descending"}';
  await press('Control+a');
  await page.keyboard.sendCharacter(json);
  await call();
  [seen.sent] = await wires('.json');
  await page.reload();
  await says('apply_defaults', 'main h2');
  seen.kept = await (await field('limit')).evaluate((one) => one.value);

  // Parameters that are mirrored into headers, also from inside.
  await open('test_x_mcp_header_nested');
  await fill('limit', '5');
  await fill('zone', 'Zürich');
  seen.mirrored = await call();
  [seen.headers] = await wires('.headers');

  // Progress is shown while the call runs.
  await open('slow_progress');
  await fill('gate', plan.gate);
  await page.evaluate(() => document.querySelector('.verdict')?.remove());
  await press('Control+Enter');
  seen.progress = [];
  for (const step of [1, 2, 3]) {
    await writeFile(`${plan.gate}.${step}`, '');
    if (step < 3) await says(`${step} of 3`, '#result');
    if (step < 3) seen.progress.push(await page.$eval('#result progress', (bar) => [bar.value, bar.max]));
    if (step === 2) await picture('progress');
  }
  seen.slow = await verdict();

  await questions();
  await failures();
  await others();
  await narrow();
}

// What a tool asks is answered by the keyboard.
async function questions() {
  seen.answers = {};
  await open('test_input_required_result_elicitation');
  await press('Control+Enter');
  await question();
  await press('Enter');
  seen.needed = await until('an error', () => document.querySelector('dialog .error:not([hidden])')?.textContent);
  await page.keyboard.type('Ada <b>');
  await picture('question');
  await press('Enter');
  await verdict();
  seen.answers.accept = await content();
  for (const [name, answer] of Object.entries({
    decline: () => page.click('dialog.ask ::-p-text(Decline)'),
    cancel: () => press('Escape'),
  })) {
    await page.evaluate(() => document.querySelector('.verdict')?.remove());
    await press('Control+Enter');
    await question();
    await answer();
    await verdict();
    seen.answers[name] = await content();
  }
  await open('test_input_required_result_multiple_inputs');
  await press('Control+Enter');
  for (let asked = 0; asked < 3; asked++) {
    const words = await question();
    if (words.includes('name')) await page.keyboard.type('Ada');
    if (words.includes('greeting')) await page.keyboard.type('Hello');
    if (words.includes('folders')) await page.keyboard.type('file:///home/ada');
    await page.click('dialog.ask button.primary');
    await until('the next', (before) => document.querySelector('dialog.ask')?.innerText !== before, words);
  }
  await verdict();
  seen.answers.several = await content();
}

// Nothing that a tool says is more than text.
async function failures() {
  await open('echo_node');
  await fill('text', '<img src=x onerror="document.title=1"><b>bold</b>');
  await call();
  seen.markup = await page.$$eval('#result .content :is(img, b)', (found) => found.length);
  seen.echo = await content();
  await fill('text', 'throw');
  seen.crashed = await call();
  seen.crashPath = await until('a path', () => {
    const facts = document.querySelector('#result .path dl')?.innerText;
    return facts?.includes('outcome') && facts;
  });
  await picture('crashed');
  await open('test_image_content');
  await call();
  seen.picture = await until('a picture', () => document.querySelector('#result .content img')?.naturalWidth);
}

// Waits until the newest of the calls is one of a tool, and returns its name.
const newest = (tool) =>
  until('the call', (name) => document.querySelector('#calls .call .what')?.textContent === name && name, tool);

// The calls of other clients appear, with the way that they went.
async function others() {
  const response = await fetch(plan.call.url, { method: 'POST', headers: plan.call.headers, body: plan.call.body });
  await response.text();
  seen.other = await newest(plan.call.tool);
  await press('Escape');
  await press('c');
  await press('Enter');
  seen.otherPath = await until('its path', () => {
    const parts = [...document.querySelectorAll('#calls [open] .part')].map((part) => part.textContent);
    return parts.length > 2 && parts;
  });
}

async function narrow() {
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  seen.faintDark = await faint();
  await picture('dark');
  seen.wide = [];
  for (const width of [1100, 760, 340]) {
    await page.setViewport({ width, height: 800 });
    for (const view of ['tools', 'tool', 'calls']) {
      if (width < 700) await page.click(`[data-show=${view}]`);
      if (await wide()) seen.wide.push(`${view} at ${width}: ${await wide()}`);
    }
    await picture(`narrow-${width}`);
  }
}

// Signs in by a button: answers the authorization server's pages, if it has any, until the page is there anew with
// tools.
async function signInBy(button) {
  await page.evaluate(() => (window.before = true));
  await page.click(button);
  for (;;) {
    const next = (home) => {
      if (location.origin !== home) return document.querySelector('form') && 'form';
      return !window.before && document.querySelectorAll('#tools li').length > 0 && 'tools';
    };
    const found = await until('a page', next, origin);
    if (found === 'tools') return;
    const asked = await page.$('input[type=password]');
    if (asked) {
      await page.type('input:not([type=hidden]):not([type=password])', plan.name);
      await asked.type(plan.password);
    }
    const submitted = page.waitForNavigation();
    await page.click('form button:not([value=deny])');
    await submitted;
  }
}

async function signIn() {
  await page.goto(`${plan.page}#/emails.send_external`);
  await says('asks for an access token', 'main');
  await picture('no-token');
  await signInBy('main button.primary');
  seen.tools = await page.$$eval('#tools a', (links) => links.map((link) => link.dataset.name));

  // A call that needs a scope more, after which what was typed is still there.
  await says('emails.send_external', 'main h2');
  await fill('to 1', 'grace@example.com');
  await fill('subject', plan.subject);
  await fill('body', 'Hello');
  seen.lacking = await call();
  seen.stepUp = await page.$eval('#result .notice', (notice) => notice.innerText);
  seen.other = await newest('emails.send_external');
  await picture('step-up');
  await signInBy('#result .notice button');
  await says('emails.send_external', 'main h2');
  seen.kept = await (await field('subject')).evaluate((one) => one.value);
  seen.address = page.url();

  await press('Control+Enter');
  seen.confirmation = await question();
  await press('Space');
  await picture('confirmation');
  await press('Enter');
  seen.sent = await verdict();
  seen.result = await content();
  seen.ledger = await until('the path', () => document.querySelector('#result .path dl')?.innerText);
  await picture('sent');

  // Out, and in again by a token that somebody else got.
  await page.click('#account summary');
  await page.click('#account ::-p-text(Sign out)');
  await says('asks for an access token', 'main');
  await page.type('main input[type=password]', plan.token);
  await press('Enter');
  await until('the tools', () => document.querySelectorAll('#tools li').length > 0);
  seen.pasted = await page.$$eval('#tools a', (links) => links.map((link) => link.dataset.name));
}

// Saves a fault, then code and contract without it, and calls the tool.
async function save() {
  await page.goto(`${plan.page}#/${plan.tool}`);
  await says(plan.tool, 'main h2');
  await says('live', '#calls-status');
  seen.fields = [await page.$$eval('main .field .name', (names) => names.map((name) => name.textContent))];
  const [fault, ...mended] = plan.saves;
  await writeFile(fault.file, fault.text);
  seen.fault = await until('the fault', () => document.querySelector('#faults .fault')?.innerText);
  await picture('fault');
  await page.reload();
  await says(plan.tool, '#faults');
  for (const { file, text: written } of mended) await writeFile(file, written);
  await until('the new one', (names) => {
    const now = [...document.querySelectorAll('main .field .name')].map((name) => name.textContent);
    return now.join() !== names && !document.querySelector('#faults .fault');
  }, seen.fields[0].join());
  seen.note = await page.$eval('#note', (note) => note.textContent);
  await picture('live');
  seen.fields.push(await page.$$eval('main .field .name', (names) => names.map((name) => name.textContent)));
  seen.called = await call();
  seen.echo = await content();
}

try {
  await { catalogue, 'sign in': signIn, save }[plan.steps]();
} catch (error) {
  await picture('failed');
  console.error(await page.evaluate(() => document.body.innerText), JSON.stringify(seen));
  throw error;
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
