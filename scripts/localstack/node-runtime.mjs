// Runs a Node.js handler on Lambda's Runtime API, one invocation at a time, as AWS's own runtime does. AWS's client for
// it, aws-lambda-ric, has a native part that must be compiled; this one needs nothing but Node.
// Sources: docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html, runtimes-custom.html and nodejs-handler.html.
import { existsSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const env = process.env;
const agent = new http.Agent({ keepAlive: true });

// open begins a request. Nothing bounds its time: the next invocation may be hours away.
function open(method, route, headers) {
  const url = `http://${env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime${route}`;
  const request = http.request(url, { agent, method, headers });
  const answer = new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks = [];
      response.on('error', reject);
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
  });
  return { request, answer };
}

function send(method, route, body, headers = {}) {
  const { request, answer } = open(method, route, headers);
  request.end(body);
  return answer;
}

const typeOf = (error) => (error instanceof Error ? error.name : 'Error').replace(/[^\w.]/g, '');

const describe = (error) => JSON.stringify({
  errorType: typeOf(error),
  errorMessage: String(error?.message ?? error),
  trace: String(error?.stack ?? '').split('\n'),
});

const report = (route, error) => {
  console.error(error);
  return send('POST', route, describe(error), { 'Lambda-Runtime-Function-Error-Type': typeOf(error) });
};

// A handler that streams is marked as AWS marks it: awslambda.streamifyResponse(async (event, stream, context) => …).
const streams = Symbol('streams');
globalThis.awslambda = {
  streamifyResponse(handler) {
    handler[streams] = true;
    return handler;
  },
};

// load finds "app.handler" in app.mjs, app.js or app.cjs.
async function load(name) {
  const dot = name.lastIndexOf('.');
  const base = path.join(env.LAMBDA_TASK_ROOT, name.slice(0, dot));
  const file = ['.mjs', '.js', '.cjs'].map((ending) => base + ending).find(existsSync);
  if (!file) throw new Error(`there is no ${base}.mjs, .js or .cjs`);
  const module = await import(pathToFileURL(file));
  const handler = module[name.slice(dot + 1)] ?? module.default?.[name.slice(dot + 1)];
  if (typeof handler !== 'function') throw new Error(`${file} exports no function ${name.slice(dot + 1)}`);
  return handler;
}

const contextOf = (headers) => ({
  awsRequestId: headers['lambda-runtime-aws-request-id'],
  invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
  functionName: env.AWS_LAMBDA_FUNCTION_NAME,
  functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
  memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
  logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
  logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
  getRemainingTimeInMillis: () => Number(headers['lambda-runtime-deadline-ms']) - Date.now(),
});

// stream answers while the handler runs. What goes wrong midway is told in trailers.
async function stream(handler, event, context, route) {
  const { request, answer } = open('POST', `${route}/response`, {
    'Content-Type': 'application/octet-stream',
    'Lambda-Runtime-Function-Response-Mode': 'streaming',
    'Transfer-Encoding': 'chunked',
    Trailer: 'Lambda-Runtime-Function-Error-Type, Lambda-Runtime-Function-Error-Body',
  });
  request.setContentType = (type) => request.setHeader('Content-Type', type);
  try {
    await handler(event, request, context);
  } catch (error) {
    console.error(error);
    request.addTrailers({
      'Lambda-Runtime-Function-Error-Type': typeOf(error),
      'Lambda-Runtime-Function-Error-Body': Buffer.from(describe(error)).toString('base64'),
    });
  }
  request.end();
  await answer;
}

async function invoke(handler) {
  const { headers, body } = await send('GET', '/invocation/next');
  const context = contextOf(headers);
  const route = `/invocation/${context.awsRequestId}`;
  env._X_AMZN_TRACE_ID = headers['lambda-runtime-trace-id'] ?? '';
  const event = JSON.parse(body);
  if (handler[streams]) return stream(handler, event, context, route);
  let result;
  try {
    result = JSON.stringify(await handler(event, context)) ?? 'null';
  } catch (error) {
    return report(`${route}/error`, error);
  }
  return send('POST', `${route}/response`, result, { 'Content-Type': 'application/json' });
}

let handler;
try {
  handler = await load(env._HANDLER);
} catch (error) {
  await report('/init/error', error);
  process.exit(1);
}
for (;;) await invoke(handler);
