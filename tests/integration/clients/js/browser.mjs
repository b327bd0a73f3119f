// Clicks through the MCP Inspector in Chromium as a person would: connects, signs in, lists the tools, calls one that
// needs a scope more, agrees to that, calls it again and confirms the call. Then asks the server from a web page of
// another origin, without a token and with one. Prints what it saw as one line of JSON.
//
// Usage: browser.mjs, with {"chromium", "inspector", "server", "name", "password", "tool", "arguments", "page",
// "token", "pictures"} on standard input: the program, the URLs of the Inspector and of the MCP server, who signs in,
// what to call, the URL of an empty page, a token for it, and the folder for pictures of each step.
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import puppeteer from 'puppeteer-core';

const plan = JSON.parse(await text(process.stdin));
const seen = { visits: [] };

// Chromium's sandbox needs rights that a container does not give; the pages are this machine's own.
const browser = await puppeteer.launch({ executablePath: plan.chromium, headless: true, args: ['--no-sandbox'] });
const page = await browser.newPage();
page.setDefaultTimeout(60_000);
await page.setViewport({ width: 1400, height: 1000 });
page.on('request', (request) => {
  if (request.isNavigationRequest() && new URL(request.url()).searchParams.has('code_challenge')) {
    seen.visits.push(request.url());
  }
});

const inspector = new URL(plan.inspector);
const click = (selector) => page.locator(selector).click();
const words = () => page.evaluate(() => document.body.innerText);
const says = (text) => page.waitForFunction((t) => document.body.innerText.includes(t), {}, text);

let pictures = 0;
const picture = (name) => page.screenshot({ path: join(plan.pictures, `${++pictures}-${name}.png`) });

// Answers the authorization server's pages until the Inspector says one of the texts, and returns that.
async function follow(...texts) {
  const next = () =>
    page.waitForFunction(
      (host, texts) =>
        location.host === host
          ? texts.find((text) => document.body?.innerText.includes(text))
          : document.querySelector('form') && 'form',
      {},
      inspector.host,
      texts,
    );
  for (;;) {
    const found = await (await next()).jsonValue();
    if (found !== 'form') return found;
    const asked = await page.$('input[type=password]');
    if (asked) {
      await page.type('input:not([type=hidden]):not([type=password])', plan.name);
      await asked.type(plan.password);
    }
    await picture(asked ? 'sign-in' : 'consent');
    const submitted = page.waitForNavigation();
    await click('form button:not([value=deny])');
    await submitted;
  }
}

async function connect() {
  await page.goto(plan.inspector, { waitUntil: 'networkidle2' });
  await page.evaluate(() => document.querySelector('input[role=switch]').click());
  await follow('Connected');
  await says(plan.server);
}

async function list() {
  await click('label ::-p-text(Tools)');
  await says(plan.tool);
  await picture('tools');
  seen.tools = (await words()).split('\n').filter((line) => /^[a-z]+[._][a-z_.]+$/.test(line));
}

async function execute() {
  await click(`button ::-p-text(${plan.tool})`);
  await click('::-p-text(Edit as JSON)');
  await page.waitForSelector('textarea');
  await page.focus('textarea');
  // The editor has braces already, and closes those that are typed.
  await page.keyboard.down('Control');
  await page.keyboard.press('KeyA');
  await page.keyboard.up('Control');
  await page.keyboard.sendCharacter(JSON.stringify(plan.arguments));
  await click('button ::-p-text(Execute Tool)');
}

async function stepUp() {
  await says('Additional permissions required');
  await picture('step-up');
  await click('[role=dialog] button ::-p-text(Authorize)');
  seen.steppedUp = await follow('Step-up authorization succeeded', 'required scopes were not granted');
}

async function confirm() {
  await says('Elicitation Request');
  await click('[role=dialog] label ::-p-text(Do it)');
  await picture('confirmation');
  await click('[role=dialog] button ::-p-text(Submit)');
  await says('messageId');
  await picture('result');
  seen.text = await words();
}

// What a script of a page reads of an answer.
const ask = (token) =>
  page.evaluate(
    async (url, headers) => {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      });
      const response = await fetch(url, { method: 'POST', headers, body });
      const challenge = response.headers.get('WWW-Authenticate') ?? '';
      const metadata = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
      return {
        status: response.status,
        challenge,
        message: await response.json(),
        metadata: metadata && (await (await fetch(metadata)).json()),
      };
    },
    plan.server,
    {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/list',
      ...(token && { Authorization: `Bearer ${token}` }),
    },
  );

try {
  await connect();
  await list();
  await execute();
  await stepUp();
  await execute();
  await confirm();
  await page.goto(plan.page);
  seen.without = await ask();
  seen.with = await ask(plan.token);
} catch (error) {
  await picture('failed');
  console.error(await words());
  throw error;
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
