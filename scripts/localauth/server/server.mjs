// Runs a local authorization server: node server.mjs <file of options>.
// Prints {"url":"http://…"} once it answers, then one JSON object a line for what happens. It ends on SIGTERM or when
// standard input ends, which is when its parent has gone, however it went.
import { randomBytes, generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { cognito } from './cognito.mjs'
import { generic } from './generic.mjs'
import { interactions } from './interactions.mjs'

const options = JSON.parse(readFileSync(process.argv[2], 'utf8'))

// Ctrl-C reaches every process of the terminal's group, and the parent ends this one.
process.on('SIGINT', () => {})

// The library's notices would come before the line that the parent waits for. Of its adapter it says that it must be
// changed, where forgetting everything at the end is just what is wanted.
const notice = (text, ...rest) => String(text).includes('in-memory adapter') || console.error(text, ...rest)
console.info = console.warn = notice

const log = (msg, facts) => console.log(JSON.stringify({ time: new Date().toISOString(), msg, ...facts }))

// The library is the project's, not one beside this file, which is a copy.
const library = () => import(pathToFileURL(join(options.modules, 'oidc-provider', 'lib', 'index.js')))

const signingKey = () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const kid = randomBytes(12).toString('base64url')
  return { privateKey, kid, jwk: { ...privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' } }
}

// Metadata, registration and tokens are read by clients in web pages too, of whatever origin: nothing here is sent with
// a cookie, and tokens are handed out for a code or a secret alone. The pages of a sign-in are for nobody's script.
const crossOrigin = (pages) => (ctx, next) => {
  if (pages.some((path) => ctx.path.startsWith(path))) return next()
  ctx.set('Access-Control-Allow-Origin', '*')
  ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate')
  if (ctx.method !== 'OPTIONS') return next()
  ctx.set('Access-Control-Allow-Methods', 'GET, POST')
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers') || 'Content-Type')
  ctx.set('Access-Control-Max-Age', '600')
  ctx.status = 204
}

// No line holds a token, a code or a password.
const narrate = (provider) => {
  const client = (ctx) => ctx.oidc?.client?.clientName ?? ctx.oidc?.client?.clientId
  const failed = (msg) => (ctx, err) =>
    log(msg, { client: client(ctx), error: err.error, description: err.error_description })
  provider.on('registration_create.success', (ctx, { clientId, clientName, redirectUris }) =>
    log('registered', { client: clientName, clientId, redirectUris }))
  provider.on('registration_create.error', failed('not registered'))
  provider.on('authorization.success', (ctx) =>
    log('authorized', { client: client(ctx), user: ctx.oidc.session.accountId, asked: ctx.oidc.params.scope }))
  provider.on('authorization.error', failed('not authorized'))
  provider.on('grant.success', (ctx) => log('gave a token', {
    client: client(ctx),
    grant: ctx.oidc.params.grant_type,
    user: ctx.oidc.entities.Account?.accountId,
    scope: (ctx.oidc.entities.AccessToken ?? ctx.oidc.entities.ClientCredentials)?.scope
  }))
  provider.on('grant.error', failed('gave no token'))
  provider.on('server_error', (ctx, err) => log('broke', { path: ctx.path, error: err.stack }))
}

// The public documents name the issuer whatever name a request gave; all else answers requests that name this machine,
// so that a page of a site which resolves to this machine cannot be one of this server's own.
const guard = (issuer, handle) => (request, response) => {
  const name = (request.headers.host ?? '').replace(/:\d+$/, '')
  const known = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(name) || name === options.host
  if (known || options.names?.includes(name)) {
    request.headers.host = issuer.host
    return handle(request, response)
  }
  response.writeHead(403, { 'Content-Type': 'text/plain', Connection: 'close' })
  response.end(`Host is ${JSON.stringify(name)}; allowed: localhost, a loopback address, or the address listened on\n`)
}

const handler = async (origin) => {
  const lib = await library()
  const key = signingKey()
  const kind = options.like === 'cognito' ? cognito({ lib, options, origin, key }) : generic({ lib, options, key })
  const issuer = origin + (kind.issuerPath ?? '')
  const provider = new lib.Provider(issuer, kind.configuration)
  provider.use(crossOrigin([kind.configuration.routes.authorization, '/interaction/']))
  provider.use(kind.middleware)
  provider.use(interactions({ provider, options, log, fault: lib.errors.SessionNotFound }))
  narrate(provider)
  return { issuer, handle: provider.callback() }
}

const fail = (err) => {
  console.error(err.message)
  process.exit(1)
}

const serve = () => {
  const server = createServer()
  const stop = () => {
    server.close(() => process.exit(0))
    server.closeAllConnections()
  }
  process.on('SIGTERM', stop)
  process.stdin.on('end', stop).on('error', stop).resume()
  server.on('error', fail)
  server.listen(options.port, options.host, async () => {
    const { address, family, port } = server.address()
    const origin = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
    const { issuer, handle } = await handler(origin).catch(fail)
    server.on('request', guard(new URL(origin), handle))
    console.log(JSON.stringify({ url: issuer }))
  })
}

serve()
