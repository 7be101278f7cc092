import { type Context, Hono } from 'hono'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import type { KnownDevices } from '../lockout/known-devices.ts'
import { visitorOf } from '../lockout/known-devices.ts'
import { linksGo } from '../notifications/send-mail.ts'
import { requireOwnerSetUp } from '../registration/register.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { startSession } from '../sessions/start-session.ts'
import type { UserRow } from '../users/tables.ts'
import { clearSignInCookie, type ProviderName, readSignInCookie, setSignInCookie } from './attempts.ts'
import { type ExternalDeps, finishExternalSignIn, type SignInFailure, startExternalSignIn } from './external.ts'
import { finishPending, type PendingLink, startPending } from './pending.ts'
import {
  NonceResponse,
  ProvidersResponse,
  SecondFactorRequest,
  SignedInResponse,
  WalletAuthRequest,
} from './schemas.ts'
import { issueNonce, signInWithWallet, type WalletDeps } from './wallet.ts'

type SignInWebDeps = ExternalDeps & {
  chain: WalletDeps['chain']
  siweChainId: number
  sessions: Sessions
  knownDevices: KnownDevices
  isHttps: boolean
  mailer: Mailer
  requestsPerMinute: { login: number }
}

/** Sign-in routes for providers, wallets and the second factor. */
export function signInWeb(deps: SignInWebDeps) {
  const app = new Hono<WebEnv>()
  const { isHttps } = deps
  const limited = () => limitRate(() => deps.requestsPerMinute.login, 'Too many login attempts')
  const forOwner = requireOwnerSetUp(deps)

  app.get(
    '/api/auth/providers',
    endpoint({ summary: 'Lists sign-in methods', tag: 'Sign-in', responses: { 200: ProvidersResponse } }),
    (c) => c.json(toProviders(deps)),
  )

  app.get(
    '/api/auth/idp-a',
    endpoint({ summary: 'Redirects to the first identity provider', tag: 'Sign-in', responses: { 302: null } }),
    limited(),
    forOwner,
    (c) => goToProvider(c, deps, 'idp-a'),
  )
  app.get(
    '/api/auth/idp-a/callback',
    endpoint({
      summary: 'Completes sign-in with the first provider',
      tag: 'Sign-in',
      responses: { 302: null },
      errors: ['unauthenticated', 'not_found'],
    }),
    forOwner,
    (c) => comeBack(c, deps, 'idp-a'),
  )
  app.get(
    '/api/auth/idp-b',
    endpoint({ summary: 'Redirects to the second identity provider', tag: 'Sign-in', responses: { 302: null } }),
    limited(),
    forOwner,
    (c) => goToProvider(c, deps, 'idp-b'),
  )
  app.get(
    '/api/auth/idp-b/callback',
    endpoint({
      summary: 'Completes sign-in with the second provider',
      tag: 'Sign-in',
      responses: { 302: null },
      errors: ['unauthenticated', 'not_found'],
    }),
    forOwner,
    (c) => comeBack(c, deps, 'idp-b'),
  )

  app.on(
    ['GET', 'POST'],
    '/api/auth/nonce',
    endpoint({
      summary: 'Returns a nonce for a wallet to sign',
      tag: 'Sign-in',
      responses: { 200: NonceResponse },
      worksOnFullDisk: true,
    }),
    limited(),
    async (c) => c.json({ nonce: await issueNonce(deps) }),
  )

  app.post(
    '/api/wallet-auth',
    endpoint({
      summary: 'Signs in with a signed wallet message',
      tag: 'Sign-in',
      responses: { 200: SignedInResponse },
      errors: ['unauthenticated', 'internal'],
      signsIn: true,
      worksOnFullDisk: true,
    }),
    limited(),
    forOwner,
    validate('json', WalletAuthRequest),
    async (c) => {
      const user = await signInWithWallet(deps, c.req.valid('json'), c.env.address)
      if (await waitsForSecondFactor(c, deps, user, null)) {
        throw new AppError('unauthenticated', 'Two-factor code required', { code: 'TWO_FACTOR_REQUIRED' })
      }
      await startSession(c, deps, user)
      return c.json({ ok: true, user: { id: user.id, name: user.name } })
    },
  )

  app.post(
    '/api/auth/two-factor',
    endpoint({
      summary: 'Completes sign-in with a second factor',
      tag: 'Sign-in',
      responses: { 200: SignedInResponse },
      errors: ['unauthenticated', 'not_found', 'limited'],
      signsIn: true,
      worksOnFullDisk: true,
    }),
    limited(),
    validate('json', SecondFactorRequest),
    async (c) => {
      const ticket = readSignInCookie(c, isHttps, 'service-two-factor')
      const { code } = c.req.valid('json')
      const user = await finishPending(deps, { ticket, code, visitor: visitorOf(c, deps) })
      clearSignInCookie(c, isHttps, 'service-two-factor')
      await startSession(c, deps, user)
      return c.json({ ok: true, user: { id: user.id, name: user.name } })
    },
  )

  return app
}

function toProviders({ identityProviders, siweChainId, mailer }: SignInWebDeps): ProvidersResponse {
  const { 'idp-a': a, 'idp-b': b } = identityProviders
  return {
    idpA: a !== null,
    idpB: b !== null,
    wallet: true,
    ...(a?.name && { idpAName: a.name }),
    ...(b?.name && { idpBName: b.name }),
    siweChainId,
    links: linksGo(mailer),
  }
}

async function goToProvider(c: Context<WebEnv>, deps: SignInWebDeps, provider: ProviderName): Promise<Response> {
  // A provider may take ten seconds, which is the idle timeout of the listener.
  c.env.keepOpen?.(c.req.raw)
  const start = await startExternalSignIn(deps, provider)
  if ('failure' in start) return goToLogin(c, start.failure)
  setSignInCookie(c, deps.isHttps, 'service-sign-in', start.browser)
  return c.redirect(start.url)
}

async function comeBack(c: Context<WebEnv>, deps: SignInWebDeps, provider: ProviderName): Promise<Response> {
  c.env.keepOpen?.(c.req.raw)
  const { code, error, state } = c.req.query()
  const browser = readSignInCookie(c, deps.isHttps, 'service-sign-in')
  clearSignInCookie(c, deps.isHttps, 'service-sign-in')
  const { search } = new URL(c.req.url)
  const end = await finishExternalSignIn(deps, provider, {
    search,
    code,
    error,
    state,
    browser,
    address: c.env.address,
  })
  if ('failure' in end) return goToLogin(c, end.failure)
  if (await waitsForSecondFactor(c, deps, end.user, { provider, profile: end.profile }))
    return c.redirect('/login?step=two-factor')
  await startSession(c, deps, end.user)
  return c.redirect('/dashboard')
}

/** For an account with two factors, sets a cookie that waits for the second one instead of a session. */
async function waitsForSecondFactor(
  c: Context<WebEnv>,
  deps: SignInWebDeps,
  user: UserRow,
  link: PendingLink | null,
): Promise<boolean> {
  if (!user.twoFactorEnabledAt) return false
  setSignInCookie(c, deps.isHttps, 'service-two-factor', await startPending(deps, user.id, link))
  return true
}

function goToLogin(c: Context<WebEnv>, failure: SignInFailure): Response {
  return c.redirect(`/login?error=${failure}`)
}
