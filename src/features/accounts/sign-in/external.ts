import type { ExternalProfile, IdentityProvider } from '../../../adapters/identity/provider.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { UserRow } from '../users/tables.ts'
import { type ProviderName, startAttempt, takeAttemptSecrets } from './attempts.ts'
import { type EnterDeps, enterWithProfile } from './enter.ts'

export type ExternalDeps = EnterDeps & {
  log: Log
  /** Null for a provider that is not configured. */
  identityProviders: Readonly<Record<ProviderName, IdentityProvider | null>>
  appUrl: string
}

/** Values of `/login?error=`. */
export type SignInFailure = 'IdpNotConfigured' | 'IdpAuthFailed' | 'IdpTokenFailed' | 'IdpNoEmail' | 'IdpAuthError'

/** The query of a callback, which is untrusted. */
type Callback = {
  search: string
  code: string | undefined
  error: string | undefined
  state: string | undefined
  /** The value of the attempt's cookie. */
  browser: string | undefined
  address: string | null
}

type Entered = { user: UserRow; profile: ExternalProfile }

/**
 * Returns the provider's URL and the cookie for the browser. Failures are returned, because the browser is redirected
 * to `/login`.
 */
export async function startExternalSignIn(
  deps: ExternalDeps,
  name: ProviderName,
): Promise<{ url: string; browser: string } | { failure: SignInFailure }> {
  const provider = deps.identityProviders[name]
  if (!provider) return { failure: 'IdpNotConfigured' }
  try {
    const { browser, ...attempt } = await startAttempt(deps, name)
    const url = await provider.startUrl({ ...attempt, redirectUri: redirectUriOf(deps, name) })
    return { url: url.href, browser }
  } catch (error) {
    return { failure: toFailure(deps.log, name, error) }
  }
}

/** Completes the sign-in that `startExternalSignIn` began. @returns the account, or the failure for `/login`. */
export async function finishExternalSignIn(
  deps: ExternalDeps,
  name: ProviderName,
  callback: Callback,
): Promise<Entered | { failure: SignInFailure }> {
  const provider = deps.identityProviders[name]
  if (!provider) return { failure: 'IdpNotConfigured' }
  try {
    return await finish(deps, { name, provider }, callback)
  } catch (error) {
    return { failure: toFailure(deps.log, name, error) }
  }
}

async function finish(
  deps: ExternalDeps,
  { name, provider }: { name: ProviderName; provider: IdentityProvider },
  { search, code, error, state, browser, address }: Callback,
): Promise<Entered> {
  const secrets = state ? await takeAttemptSecrets(deps, name, { state, browser }) : null
  if (!code || error !== undefined) {
    throw new AppError('unauthenticated', 'The provider sent no code', { code: 'IdpAuthFailed' })
  }
  if (!state || !secrets) throw new AppError('unauthenticated', 'No sign-in of this browser waits for this answer')
  const redirectUri = redirectUriOf(deps, name)
  const profile = await provider.identify({ ...secrets, state, code, search, redirectUri })
  return { profile, user: await enterWithProfile(deps, { provider: name, profile, address, hasSecondFactor: false }) }
}

/** Uses the configured URL only: the `Host` header is untrusted. */
function redirectUriOf({ appUrl }: ExternalDeps, name: ProviderName): string {
  return `${appUrl}/api/auth/${name}/callback`
}

/** Maps an error to a failure for `/login`; unnamed errors become `IdpAuthError` and are logged. */
function toFailure(log: Log, provider: ProviderName, error: unknown): SignInFailure {
  const code = error instanceof AppError ? error.extra.code : undefined
  const failure = NAMED.find((name) => name === code) ?? 'IdpAuthError'
  const isOurs = !(error instanceof AppError) || error.kind === 'unavailable'
  log[isOurs ? 'error' : 'info']({ provider, failure, error: errorMessage(error) }, 'external sign-in failed')
  return failure
}

const NAMED = ['IdpAuthFailed', 'IdpTokenFailed', 'IdpNoEmail'] as const
