import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { randomText } from '../../../core/ids.ts'
import { type Sealer, type SealPurpose, sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { type IdentityRow, signInAttempts } from './tables.ts'

export type AttemptDeps = { db: Db; clock: Clock; sealer: Sealer }
export type ProviderName = IdentityRow['provider']

/** How long a browser may stay at the provider. */
export const ATTEMPT_MS = 10 * 60_000
/** 43 of 62 characters: 256 bits. RFC 7636, 4.1 wants at least 43 for a verifier. */
const SECRET_LENGTH = 43

const Secrets = z.object({ nonce: z.string(), codeVerifier: z.string() })
type Secrets = z.infer<typeof Secrets>

/** Begins a sign-in at `provider`. `state` goes through the provider, `browser` into a cookie, and neither is stored. */
export async function startAttempt(
  deps: AttemptDeps,
  provider: ProviderName,
): Promise<Secrets & { state: string; browser: string }> {
  const state = randomText(SECRET_LENGTH)
  const browser = randomText(SECRET_LENGTH)
  const secrets = { nonce: randomText(SECRET_LENGTH), codeVerifier: randomText(SECRET_LENGTH) }
  const stateHash = sha256(state)
  const sealed = deps.sealer.seal(JSON.stringify(secrets), purposeOf(stateHash))
  const expiresAt = new Date(deps.clock.now().getTime() + ATTEMPT_MS)
  const row = { stateHash, provider, browserHash: sha256(browser), secrets: sealed, expiresAt }
  await write(deps.db, (tx) => tx.insert(signInAttempts).values(row).run())
  return { ...secrets, state, browser }
}

/**
 * Uses up the attempt that `state` names, whoever brings it: a state that came back once is spent.
 * @returns its secrets, or null unless it is this provider's and this browser's and its time is not over.
 */
export async function takeAttemptSecrets(
  deps: AttemptDeps,
  provider: ProviderName,
  back: { state: string; browser: string | undefined },
): Promise<Secrets | null> {
  const stateHash = sha256(back.state)
  const row = await write(
    deps.db,
    (tx) => tx.delete(signInAttempts).where(eq(signInAttempts.stateHash, stateHash)).returning().get() ?? null,
  )
  if (!row || row.provider !== provider || row.expiresAt <= deps.clock.now()) return null
  if (back.browser === undefined || row.browserHash !== sha256(back.browser)) return null
  return Secrets.parse(JSON.parse(deps.sealer.unseal(row.secrets, purposeOf(stateHash))))
}

function purposeOf(stateHash: string): SealPurpose {
  return `sign_in_attempts:secrets:${stateHash}`
}
