import { and, eq, gt } from 'drizzle-orm'
import type { SignatureQuestion } from '../../../adapters/chain/chain.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { getAgent } from '../registry/list.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { Challenge } from './schemas.ts'
import { verificationChallenges } from './tables.ts'

export type ChallengeDeps = { db: Db; clock: Clock; appUrl: string }

const LIFETIME_MS = 10 * 60_000
/** 22 of 62 characters: 131 bits. */
const NONCE_LENGTH = 22

/**
 * Makes the text that a wallet signs to vouch for an agent; it replaces the one before.
 * @throws AppError `not_found` for a missing agent and for someone else's.
 */
export function createChallenge(deps: ChallengeDeps, principal: Principal, id: string): Promise<Challenge> {
  const nonce = randomText(NONCE_LENGTH)
  return write(deps.db, (tx) => {
    const agent = getAgent(tx, principal, id)
    const expiresAt = new Date(deps.clock.now().getTime() + LIFETIME_MS)
    const message = toMessage(deps.appUrl, agent, nonce, expiresAt)
    tx.insert(verificationChallenges)
      .values({ agentId: id, message, expiresAt })
      .onConflictDoUpdate({ target: verificationChallenges.agentId, set: { message, expiresAt } })
      .run()
    return { message, expiresAt: expiresAt.toISOString() }
  })
}

function toMessage(appUrl: string, agent: AgentRow, nonce: string, expiresAt: Date): string {
  const lines = [
    `${appUrl} asks you to vouch for an agent.`,
    '',
    `Agent: ${agent.id}`,
    `Account: ${agent.ownerId ?? 'operator'}`,
    `Nonce: ${nonce}`,
    `Expires: ${expiresAt.toISOString()}`,
  ]
  return lines.join('\n')
}

/**
 * Did `wallet` sign the agent's challenge?
 * @returns the challenge, which is to be used up with what it proves. @throws AppError `invalid`, and what the chain throws.
 */
export async function requireSigned(
  deps: { db: Db; clock: Clock; verifySignature: (question: SignatureQuestion) => Promise<boolean> },
  agentId: string,
  { wallet, signature }: { wallet: `0x${string}`; signature: `0x${string}` },
): Promise<string> {
  const isLive = and(
    eq(verificationChallenges.agentId, agentId),
    gt(verificationChallenges.expiresAt, deps.clock.now()),
  )
  const challenge = deps.db.select().from(verificationChallenges).where(isLive).get()
  if (!challenge) throw challengeRequired()
  const { message } = challenge
  if (await deps.verifySignature({ address: wallet, message, signature })) return message
  throw new AppError('invalid', 'The signature is not of this wallet over the agent’s challenge', {
    code: 'VERIFICATION_FAILED',
  })
}

/** Of any number of requests with one signature exactly one passes. @throws AppError `invalid` for the others. */
export function spend(tx: Tx, agentId: string, message: string): void {
  const isThis = and(eq(verificationChallenges.agentId, agentId), eq(verificationChallenges.message, message))
  if (tx.delete(verificationChallenges).where(isThis).run().changes === 0) throw challengeRequired()
}

function challengeRequired(): AppError {
  return new AppError('invalid', 'Sign a new challenge: POST /api/agents/:id/verify/challenge gives one', {
    code: 'CHALLENGE_REQUIRED',
  })
}
