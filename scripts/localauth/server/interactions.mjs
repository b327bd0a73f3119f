// Signs people in and asks for their consent, at the address that an authorization request is sent to for either.
import { timingSafeEqual, createHash } from 'node:crypto'

import { ordinary, wanted } from './classes.mjs'
import { consentPage, errorPage, signInPage } from './pages.mjs'

const maxForm = 16 << 10

// Scopes that say something about the answer, not about what may be done.
const ofTheProtocol = new Set(['openid', 'offline_access'])

const words = (text) => String(text ?? '').split(' ').filter(Boolean)

const same = (a, b) => {
  const digest = (text) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

const readForm = async (request) => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxForm) throw new Error('the form is too large')
  }
  return new URLSearchParams(text)
}

const show = (ctx, html, status = 200) => {
  ctx.status = status
  ctx.type = 'html'
  ctx.set('Cache-Control', 'no-store')
  // No form-action: browsers apply it to the redirect that follows, which goes to the client.
  ctx.set('Content-Security-Policy',
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
  ctx.set('Referrer-Policy', 'no-referrer')
  ctx.body = html
}

export const interactions = ({ provider, options, log, fault }) => {
  const user = (name) => options.users.find((one) => one.name === name)

  const describe = async ({ params }) => {
    const client = await provider.Client.find(params.client_id)
    return {
      client: client?.clientName ?? params.client_id,
      redirectHost: new URL(params.redirect_uri).host,
      resource: params.resource ?? 'nothing in particular'
    }
  }

  const finish = async (ctx, result) => {
    ctx.status = 303
    ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result))
  }

  const askToSignIn = async (ctx, details, { message, name, status } = {}) => {
    const secondFactorAsked = wanted(details.params) === 'mfa'
    show(ctx, signInPage({ request: await describe(details), message, name, secondFactorAsked }), status)
  }

  const signIn = async (ctx, details, form) => {
    const name = form.get('username') ?? ''
    const acr = wanted(details.params) ?? ordinary
    const known = user(name)
    if (!same(form.get('password') ?? '', known?.password ?? '') || !known) {
      log('not signed in', { user: name })
      return askToSignIn(ctx, details, { message: 'The name or the password is wrong.', name, status: 401 })
    }
    if (acr === 'mfa' && !form.has('second_factor')) {
      return askToSignIn(ctx, details, { message: 'The second factor is missing.', name, status: 401 })
    }
    log('signed in', { user: name, acr })
    return finish(ctx, { login: { accountId: name, acr, amr: acr === 'mfa' ? ['pwd', 'otp'] : ['pwd'] } })
  }

  // What is asked for, by what the signed-in person may have. Scopes that nobody knows are nobody's.
  const split = (details) => {
    const may = new Set(user(details.session.accountId).scopes)
    const asked = words(details.params.scope).filter((scope) => !ofTheProtocol.has(scope))
    return { granted: asked.filter((scope) => may.has(scope)), refused: asked.filter((scope) => !may.has(scope)) }
  }

  const askForConsent = async (ctx, details) =>
    show(ctx, consentPage({ request: await describe(details), user: details.session.accountId, ...split(details) }))

  // A grant remembers what was refused, so that nobody is asked again for what they may not give.
  const allow = async (ctx, details) => {
    const { grantId, session: { accountId }, params: { client_id: clientId }, prompt } = details
    const grant = (grantId && await provider.Grant.find(grantId)) || new provider.Grant({ accountId, clientId })
    const may = new Set(user(accountId).scopes)
    const { missingOIDCScope, missingResourceScopes } = prompt.details
    if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope)
    for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
      const [granted, refused] = [scopes.filter((s) => may.has(s)), scopes.filter((s) => !may.has(s))]
      if (granted.length) grant.addResourceScope(resource, granted)
      if (refused.length) grant.rejectResourceScope(resource, refused)
    }
    return finish(ctx, { consent: { grantId: await grant.save() } })
  }

  const deny = (ctx) => finish(ctx, { error: 'access_denied', error_description: 'the person refused' })

  const answer = async (ctx, details) => {
    const signsIn = details.prompt.name === 'login' || ctx.query.as === 'another'
    if (ctx.method === 'GET') return signsIn ? askToSignIn(ctx, details) : askForConsent(ctx, details)
    const form = await readForm(ctx.req)
    const action = form.get('action')
    if (action === 'sign-in') return signIn(ctx, details, form)
    if (action === 'allow' && !signsIn) return allow(ctx, details)
    return deny(ctx)
  }

  return async (ctx, next) => {
    if (!/^\/interaction\/[\w-]+$/.test(ctx.path)) return next()
    if (ctx.method !== 'GET' && ctx.method !== 'POST') return ctx.throw(405)
    try {
      await answer(ctx, await provider.interactionDetails(ctx.req, ctx.res))
    } catch (err) {
      if (!(err instanceof fault)) throw err
      show(ctx, errorPage({ error: err.error, error_description: 'this sign-in has ended' }), 400)
    }
  }
}
