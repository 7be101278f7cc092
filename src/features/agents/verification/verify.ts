import { eq } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { getAgent } from '../registry/list.ts'
import { spend } from './challenge.ts'
import { checkProof, type ProofDeps } from './proofs.ts'
import type { Verification, VerifiedAgent, VerifyRequest } from './schemas.ts'
import { agentVerifications, type VerificationRow } from './tables.ts'

/**
 * Checks a proof and stores what it says with the agent, in place of an earlier one.
 * @throws AppError `not_found` for a missing agent and for someone else's, and as `checkProof`.
 */
export async function verifyAgent(
  deps: ProofDeps,
  principal: Principal,
  id: string,
  request: VerifyRequest,
): Promise<VerificationRow> {
  const agent = getAgent(deps.db, principal, id)
  const { challenge, ...proof } = await checkProof(deps, agent, request)
  return write(deps.db, (tx) => {
    getAgent(tx, principal, id)
    if (challenge !== null) spend(tx, id, challenge)
    return saveProof(tx, { ...proof, agentId: id, verifiedAt: deps.clock.now() })
  })
}

function saveProof(tx: Tx, row: VerificationRow): VerificationRow {
  const proofs = tx.insert(agentVerifications).values(row)
  return proofs.onConflictDoUpdate({ target: agentVerifications.agentId, set: row }).returning().get()
}

/** Fine when there is none. @throws AppError `not_found` for a missing agent and for someone else's. */
export async function removeVerification(deps: { db: Db }, principal: Principal, id: string): Promise<void> {
  await write(deps.db, (tx) => {
    getAgent(tx, principal, id)
    tx.delete(agentVerifications).where(eq(agentVerifications.agentId, id)).run()
  })
}

export function findVerification(db: Db, agentId: string): VerificationRow | null {
  return db.select().from(agentVerifications).where(eq(agentVerifications.agentId, agentId)).get() ?? null
}

/** What is told of a verification, and of there being none. */
export function toVerification(row: VerificationRow | null): Verification {
  return {
    verified: row !== null,
    verificationType: row?.type ?? null,
    attestationUid: row?.attestationUid ?? null,
    verifierAddress: row?.verifierAddress ?? null,
    verifiedAt: row?.verifiedAt.toISOString() ?? null,
    metadata: row?.metadata ?? null,
  }
}

/** The answer to a proof that holds. */
export function toVerified(row: VerificationRow): VerifiedAgent {
  const { verified, verificationType, attestationUid, verifiedAt } = toVerification(row)
  return { success: true, verified, verificationType, attestationUid, verifiedAt }
}
