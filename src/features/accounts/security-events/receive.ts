import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { StoredClaims } from './schemas.ts'
import { securityEvents } from './tables.ts'
import type { VerifySecurityEvent } from './verify.ts'

export type ReceiveDeps = { db: Db; clock: Clock; enqueue: Enqueue; verifySecurityEvent: VerifySecurityEvent }

/** The kind of the job that acts on a stored event. */
export const ACT_JOB = 'security-events.act'

/**
 * Verifies a security event token and keeps it, together with the job that acts on it: when this returns, the event
 * survives a crash. A token that is known already is acknowledged and changes nothing.
 * @throws AppError `invalid`.
 */
export async function receiveSecurityEvent(
  deps: ReceiveDeps,
  token: string,
  form: StoredClaims['form'],
): Promise<void> {
  const { iss: issuer, jti: given, sub, events } = await deps.verifySecurityEvent(token)
  // Legacy tokens are documented without `jti`: the token itself is its name then.
  const jti = given ?? (form === 'legacy' ? `sha256:${sha256(token)}` : null)
  if (jti === null) throw new AppError('invalid', 'Invalid token', { err: 'invalid_request' })
  const claims: StoredClaims = { form, events, ...(sub !== undefined && { sub }) }

  await write(deps.db, (tx) => {
    const { changes } = tx
      .insert(securityEvents)
      .values({ issuer, jti, claims, receivedAt: deps.clock.now() })
      .onConflictDoNothing()
      .run()
    if (changes > 0) deps.enqueue(tx, ACT_JOB, { issuer, jti })
  })
}
