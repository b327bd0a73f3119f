// The authorization server made like an Amazon Cognito user pool with managed login, as far as an MCP client and a
// resource server see it.
//
// Imitated, each after the developer guide, or after a pool's own document where that says more:
//   - The issuer has a path, the pool's id, and its metadata is at <issuer>/.well-known/openid-configuration alone. It
//     has no registration_endpoint, no code_challenge_methods_supported and no grant_types_supported, and names the
//     standard scopes only. There is nothing at /.well-known/oauth-authorization-server.
//   - App clients are registered beforehand, and their callback URLs are compared exactly, port and all.
//   - PKCE is taken, but not demanded. A request without scope gets all of the app client's; one with a scope that the
//     app client does not have is invalid_scope.
//   - One "resource" in the authorization request becomes the access token's "aud"; without it there is none. Machines
//     (client credentials) never get one.
//   - Access tokens have kid and alg in their header, and token_use, client_id, version, username and the scopes as
//     <resource server>/<scope> in their claims. Answers of the token endpoint have no "scope".
//   - Refresh tokens come with every code, without offline_access, and are not rotated, which is the default.
//   - No consent is asked for, no "iss" is in authorization responses, and max_age and acr_values do nothing.
// Not imitated: the hosted pages' looks, the error page's address, userInfo, the implicit grant, groups, and a key of
// its own for ID tokens. http callbacks are taken on 127.0.0.1 too, where the guide speaks of localhost alone.
// A pool gives every user what the app client may have. That a user gets less is what a pre token generation trigger
// does there (scopesToSuppress); here it is in the list of users.
import { createSign, randomUUID } from 'node:crypto'

import { base, machineClient, unused } from './generic.mjs'

const routes = (pool) => ({
  authorization: '/oauth2/authorize',
  token: '/oauth2/token',
  revocation: '/oauth2/revoke',
  jwks: `/${pool}/.well-known/jwks.json`
})

// The library makes no JWT without an audience, so this stands for none until the token is made anew.
const noAudience = 'urn:no-audience'

const discovery = (origin, { pool }) => ({
  authorization_endpoint: `${origin}/oauth2/authorize`,
  id_token_signing_alg_values_supported: ['RS256'],
  issuer: `${origin}/${pool}`,
  jwks_uri: `${origin}/${pool}/.well-known/jwks.json`,
  response_types_supported: ['code', 'token'],
  revocation_endpoint: `${origin}/oauth2/revoke`,
  scopes_supported: ['openid', 'email', 'phone', 'profile'],
  subject_types_supported: ['public'],
  token_endpoint: `${origin}/oauth2/token`,
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post']
})

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')

const sign = (claims, { privateKey, kid }) => {
  const text = `${encode({ kid, alg: 'RS256' })}.${encode(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey).toString('base64url')}`
}

// accessToken makes the pool's token of the library's. A machine's has the time of issue as that of its sign-in.
const accessToken = (token, key, machine) => {
  const { sub, aud, scope, iss, exp, iat, jti, client_id, auth_time = iat } = JSON.parse(
    Buffer.from(token.split('.')[1], 'base64url'))
  const common = { sub, iss, version: 2, client_id, token_use: 'access', scope, auth_time, exp, iat, jti }
  if (machine) return sign(common, key)
  return sign({
    ...common,
    ...(aud === noAudience ? {} : { aud }),
    origin_jti: randomUUID(),
    event_id: randomUUID(),
    username: sub
  }, key)
}

// authorizationRequest does to a request what the pool does before it looks at it.
const authorizationRequest = (ctx, scopes) => {
  const { max_age: _, acr_values: __, ...query } = ctx.query
  // Passed on to other identity providers by the pool, and of no effect on its own users.
  const prompts = String(query.prompt ?? '').split(' ').filter((word) => ['login', 'none'].includes(word))
  if (prompts.length) query.prompt = prompts.join(' ')
  else delete query.prompt
  ctx.query = { ...query, scope: query.scope || scopes.join(' ') }
  ctx.state.asked = ctx.query.scope // the library leaves offline_access out, and the pool does not know it
}

const withoutIssuer = (ctx, issuer) => {
  const location = URL.parse(ctx.response.get('Location') ?? '')
  if (location?.searchParams.get('iss') !== issuer) return
  location.searchParams.delete('iss')
  ctx.set('Location', location.href)
}

const tokenAnswer = (ctx, key) => {
  if (!ctx.body?.access_token) return
  const { scope: _, ...body } = ctx.body
  const grant = ctx.oidc.params.grant_type
  if (grant === 'refresh_token') delete body.refresh_token
  ctx.body = { ...body, access_token: accessToken(body.access_token, key, grant === 'client_credentials') }
}

const middleware = ({ options, origin, key, scopes }) => async (ctx, next) => {
  const issuer = `${origin}/${options.pool}`
  if (ctx.method === 'GET' && ctx.path === `/${options.pool}/.well-known/openid-configuration`) {
    ctx.body = discovery(origin, options)
    return
  }
  if (ctx.path.startsWith('/.well-known/')) return // 404
  if (ctx.path === routes(options.pool).authorization) authorizationRequest(ctx, scopes)
  await next()
  if (ctx.path.startsWith(routes(options.pool).authorization)) withoutIssuer(ctx, issuer)
  if (ctx.path === routes(options.pool).token) tokenAnswer(ctx, key)
}

export const cognito = ({ lib, options, origin, key }) => {
  const { InvalidScope } = lib.errors
  const scopes = ['openid', ...options.scopes]
  const isMachine = ({ clientId }) => clientId === options.machine.clientId

  const resourceServer = (ctx, resource, client) => {
    const may = isMachine(client) ? options.machine.scopes : scopes
    const asked = String(ctx.state.asked ?? ctx.oidc.params.scope ?? '').split(' ').filter(Boolean)
    const unknown = asked.find((scope) => !may.includes(scope))
    if (unknown !== undefined) throw new InvalidScope('invalid_scope', unknown)
    return {
      scope: may.join(' '), audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } }
    }
  }

  // What a person may have is granted without a question.
  const loadExistingGrant = async (ctx) => {
    const { accountId } = ctx.oidc.account
    const may = options.users.find(({ name }) => name === accountId).scopes
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId })
    grant.addOIDCScope('openid')
    for (const identifier of Object.keys(ctx.oidc.resourceServers)) {
      const refused = options.scopes.filter((scope) => !may.includes(scope))
      grant.addResourceScope(identifier, ['openid', ...may])
      if (refused.length) grant.rejectResourceScope(identifier, refused)
    }
    await grant.save()
    return grant
  }

  const shared = base({ options, key })
  return {
    issuerPath: `/${options.pool}`,
    middleware: middleware({ options, origin, key, scopes }),
    configuration: {
      ...shared,
      routes: routes(options.pool),
      scopes: ['openid'],
      clients: [machineClient(options), {
        client_id: options.client.id,
        client_name: 'the app client of MCP clients',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: options.client.redirectURIs
      }],
      extraTokenClaims: (ctx, token) => token.kind === 'AccessToken'
        ? { auth_time: (ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken).authTime }
        : undefined,
      loadExistingGrant,
      pkce: { required: () => false },
      rotateRefreshToken: false,
      // Managed login remembers a browser for an hour.
      ttl: { ...shared.ttl, Session: 3600 },
      features: {
        ...unused,
        clientCredentials: { enabled: true },
        registration: { enabled: false },
        revocation: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: (ctx, client, oneOf) => oneOf ?? noAudience,
          getResourceServerInfo: resourceServer
        }
      }
    }
  }
}
