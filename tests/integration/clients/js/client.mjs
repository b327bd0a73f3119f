// Lists and calls tools with the official TypeScript client and prints what it saw as one line of JSON.
//
// Usage: client.mjs URL MODE, with a script {"calls": [{"tool", "arguments", "progress", "pauseSeconds"}], "consent",
// "signIn"} on standard input. MODE is default (no option given), auto, or a protocol version to pin. With consent a
// person says yes to what the server asks. A signIn {"callbackPort"} lets the client sign a person in, for which it
// prints lines {"visit": URL}; with clientId, clientSecret and scope it is a machine's.
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

import { Person } from './person.mjs';

function options(mode, consent) {
  const capabilities = consent ? { elicitation: { form: {} } } : {};
  if (mode === 'default') return { capabilities };
  return { capabilities, versionNegotiation: { mode: mode === 'auto' ? 'auto' : { pin: mode } } };
}

function newClient(mode, consent) {
  const client = new Client({ name: 'patchbay-tests', version: '1.0.0' }, options(mode, consent));
  if (consent) {
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirm: true } }));
  }
  return client;
}

async function provider(signIn) {
  if (!signIn) return undefined;
  return signIn.clientId ? new ClientCredentialsProvider(signIn) : Person.start(signIn.callbackPort);
}

// The SDK's way of signing in: what needed it fails once the person is on the way, and is done again when the response
// has been handed over.
async function signedIn(connection, attempt) {
  const { authProvider } = connection;
  try {
    return await attempt();
  } catch (error) {
    if (!(authProvider instanceof Person && error instanceof UnauthorizedError)) throw error;
  }
  await connection.transport.finishAuth(await authProvider.response());
  return attempt();
}

async function connect(url, mode, { consent, signIn }) {
  const authProvider = await provider(signIn);
  const connection = { authProvider };
  await signedIn(connection, () => {
    connection.transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    connection.client = newClient(mode, consent);
    return connection.client.connect(connection.transport);
  });
  return connection;
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

async function call(connection, step) {
  const seen = { tool: step.tool, progress: [] };
  const onprogress = ({ progress, total = 0, message = '' }) => seen.progress.push({ progress, total, message });
  const attempt = () =>
    connection.client.callTool(
      { name: step.tool, arguments: step.arguments ?? {} },
      step.progress ? { onprogress } : undefined,
    );
  try {
    seen.result = await signedIn(connection, attempt);
  } catch (error) {
    seen.error = String(error?.message ?? error);
  }
  return seen;
}

const [url, mode] = process.argv.slice(2);
const script = JSON.parse(await text(process.stdin));
const connection = await connect(url, mode, script);
const { client, authProvider } = connection;
const report = {
  protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
  server: client.getServerVersion()?.name ?? '',
  tools: await listTools(client),
  calls: [],
};
for (const step of script.calls) {
  await sleep(1000 * (step.pauseSeconds ?? 0));
  report.calls.push(await call(connection, step));
}
await client.close();
authProvider?.close?.();
console.log(JSON.stringify(report));
