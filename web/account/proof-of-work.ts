import { type Proof, ProofChallenge } from '../../src/features/accounts/bot-detection/schemas.ts'
import { api, hasCode, request } from '../api/request.ts'

/** Sends a form of a signed-out visitor, and retries with a solved proof of work when the server requires one. */
export async function withProof<T>(send: (proof: Proof | undefined) => Promise<T>): Promise<T> {
  try {
    return await send(undefined)
  } catch (error) {
    if (!hasCode(error, 'PROOF_REQUIRED')) throw error
  }
  const { solve } = await import('./solve-proof.ts')
  return send(await solve(await request(ProofChallenge, api.GET('/api/auth/challenge'))))
}
