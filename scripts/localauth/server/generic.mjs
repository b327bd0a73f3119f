// The authorization server as MCP asks for it: dynamic registration, PKCE with S256, resource indicators (RFC 8707),
// JWT access tokens (RFC 9068), rotating refresh tokens, "iss" in authorization responses (RFC 9207), client id
// metadata documents, and step-up by max_age and acr_values (RFC 9470).
import { randomBytes } from 'node:crypto'

import { classes, wanted } from './classes.mjs'
import { errorPage } from './pages.mjs'

const loopback = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/|$)/

// What every variant has in common.
export const base = ({ options, key }) => ({
  acrValues: Object.keys(classes),
  claims: { openid: ['sub'], acr: null, auth_time: null, sid: null, iss: null },
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  jwks: { keys: [key.jwk] },
  responseTypes: ['code'],
  findAccount: (ctx, id) => options.users.some(({ name }) => name === id)
    ? { accountId: id, claims: () => ({ sub: id }) }
    : undefined,
  renderError: (ctx, out) => {
    ctx.type = 'html'
    ctx.body = errorPage(out)
  },
  interactions: { url: (ctx, { uid }) => `/interaction/${uid}` },
  // A refresh token lives as long as it says, also where the browser has signed in as somebody else.
  expiresWithSession: () => false,
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  clientBasedCORS: () => true,
  ttl: {
    AccessToken: options.accessTokenSeconds,
    ClientCredentials: options.accessTokenSeconds,
    AuthorizationCode: 60,
    IdToken: 3600,
    RefreshToken: 14 * 86400,
    Interaction: 3600,
    Session: 86400,
    Grant: 14 * 86400
  }
})

// Nothing here has a use for them, and each is one endpoint or parameter more.
export const unused = {
  devInteractions: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  userinfo: { enabled: false }
}

export const machineClient = ({ machine }) => ({
  client_id: machine.clientId,
  client_secret: machine.secret,
  client_name: 'a machine',
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: []
})

// Registration is called for a client's metadata; see extraClientMetadata. MCP 2026-07-28, security considerations:
// redirect URIs must be of this machine or HTTPS. A client with one of this machine is a native one, whose port may be
// another at each sign-in (RFC 8252, section 7.3). Whoever registers may send people here, and get no token without one:
// else every program and page that finds this server would have one with all scopes.
const checkClient = (InvalidClientMetadata, { machine }) => (ctx, name, value, metadata) => {
  if (metadata.client_id !== machine.clientId && metadata.grant_types?.includes('client_credentials')) {
    throw new InvalidClientMetadata('grant_types: client_credentials is for the machine that is known beforehand')
  }
  const uris = Array.isArray(metadata.redirect_uris) ? metadata.redirect_uris : []
  const wrong = uris.find((uri) => !loopback.test(uri) && !/^https:\/\//.test(uri))
  if (wrong) {
    throw new InvalidClientMetadata(`redirect_uris: ${wrong}; allowed: https, and http on a loopback address`)
  }
  metadata.application_type = uris.some((uri) => loopback.test(uri)) ? 'native' : 'web'
  // A client may ask later for scopes that it did not know of when it registered: that is what a step-up is.
  delete metadata.scope
}

// auth_time and acr are those of the sign-in, also in a refreshed token. Source: RFC 9068, section 2.2.1.
const signInClaims = (ctx, token) => {
  if (token.kind !== 'AccessToken') return undefined
  const source = ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken
  return { auth_time: source.authTime, acr: source.acr }
}

// A class of sign-in is asked for by a client that was told so in a challenge (RFC 9470); a session of another class
// will not do then, although OpenID Connect calls acr_values voluntary.
const policy = ({ interactionPolicy: { base, Check } }) => {
  const prompts = base()
  prompts.get('login').checks.add(new Check('acr_values', 'another class of sign-in is asked for', ({ oidc }) => {
    const asked = wanted(oidc.params)
    return asked !== undefined && asked !== oidc.acr && !oidc.result?.login
  }))
  return prompts
}

// The library takes max_age and acr_values in OpenID Connect's requests alone, and refuses a request that ends without
// any scope. MCP clients ask for neither openid nor always for a scope, and RFC 9470 needs no OpenID Connect.
const withOpenID = (path) => (ctx, next) => {
  if (ctx.path === path) {
    const scopes = String(ctx.query.scope ?? '').split(' ').filter(Boolean)
    ctx.query = { ...ctx.query, scope: [...new Set(['openid', ...scopes])].join(' ') }
  }
  return next()
}

export const generic = ({ lib, options, key }) => {
  const { InvalidTarget, InvalidClientMetadata } = lib.errors
  const shared = base({ options, key })
  const routes = {
    authorization: '/authorize', token: '/token', registration: '/register', jwks: '/jwks', revocation: '/revoke'
  }
  const resourceServer = (ctx, resource, client) => {
    if (resource !== options.resource) {
      throw new InvalidTarget(`resource is ${resource}; known: ${options.resource}`)
    }
    const { scopes } = client.clientId === options.machine.clientId ? options.machine : options
    return {
      scope: scopes.join(' '), audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } }
    }
  }
  return {
    middleware: withOpenID(routes.authorization),
    configuration: {
      ...shared,
      routes,
      scopes: ['openid', 'offline_access'],
      clients: [machineClient(options)],
      clientDefaults: { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
      extraClientMetadata: { properties: ['policy_checked'], validator: checkClient(InvalidClientMetadata, options) },
      extraTokenClaims: signInClaims,
      interactions: { ...shared.interactions, policy: policy(lib) },
      pkce: { required: () => true },
      rotateRefreshToken: true,
      features: {
        ...unused,
        clientCredentials: { enabled: true },
        clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
        registration: { enabled: true, issueRegistrationAccessToken: false },
        revocation: { enabled: true },
        resourceIndicators: {
          enabled: true,
          // A request that names no resource gets a token that the MCP server refuses: clients must name it.
          defaultResource: (ctx, client, oneOf) => oneOf,
          getResourceServerInfo: resourceServer
        }
      }
    }
  }
}
