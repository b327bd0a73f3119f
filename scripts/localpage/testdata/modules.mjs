// Runs functions of the page's modules that need no page. Reads {"name": [arguments, …], …} from standard input and
// prints what each returns for each, as JSON: a failure as {"error": …}.
import { text } from 'node:stream/consumers';

import { parseChallenge } from '../assets/auth.js';
import { decoded, members, pretty, same } from '../assets/json.js';
import { encodeHeader, events, mirrored } from '../assets/mcp.js';
import { failures } from '../assets/result.js';

const functions = {
  decoded,
  encodeHeader,
  mirrored,
  parseChallenge,
  same: ([a, b]) => same(a, b),
  members: (json) => Object.fromEntries(members(json)),
  pretty: (json) => pretty(json).map(([, part]) => part).join(''),
  failures: (said) => failures({ message: { result: { isError: true, content: [{ type: 'text', text: said }] } } }),
  events: async (chunks) => {
    const bytes = new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(Buffer.from(chunk, 'base64'));
        controller.close();
      },
    });
    return Array.fromAsync(events(bytes));
  },
};

const asked = JSON.parse(await text(process.stdin));
const told = {};
for (const [name, all] of Object.entries(asked)) {
  told[name] = [];
  for (const given of all) {
    try {
      told[name].push(await functions[name](given));
    } catch (error) {
      told[name].push({ error: error.message });
    }
  }
}
console.log(JSON.stringify(told));
