// Lists and calls tools with the official TypeScript client and prints what it saw as one line of JSON.
//
// Usage: client.mjs URL MODE, with a script {"calls": [{"tool", "arguments", "progress"}]} on standard input. MODE is
// default (no option given), auto, or a protocol version to pin.
import { text } from 'node:stream/consumers';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

function options(mode) {
  if (mode === 'default') return {};
  return { versionNegotiation: { mode: mode === 'auto' ? 'auto' : { pin: mode } } };
}

async function listTools(client) {
  const names = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor });
    names.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names;
}

async function call(client, step) {
  const seen = { tool: step.tool, progress: [] };
  const onprogress = ({ progress, total = 0, message = '' }) => seen.progress.push({ progress, total, message });
  try {
    seen.result = await client.callTool(
      { name: step.tool, arguments: step.arguments ?? {} },
      step.progress ? { onprogress } : undefined,
    );
  } catch (error) {
    seen.error = String(error?.message ?? error);
  }
  return seen;
}

const [url, mode] = process.argv.slice(2);
const script = JSON.parse(await text(process.stdin));
const client = new Client({ name: 'patchbay-tests', version: '1.0.0' }, options(mode));
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
const report = {
  protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
  server: client.getServerVersion()?.name ?? '',
  tools: await listTools(client),
  calls: [],
};
for (const step of script.calls) {
  report.calls.push(await call(client, step));
}
await client.close();
console.log(JSON.stringify(report));
