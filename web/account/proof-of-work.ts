import { sha256, stringToBytes } from 'viem'
import { Challenge, type Proof } from '../../src/features/accounts/bot-detection/schemas.ts'
import { api, hasCode, request } from '../api/request.ts'

/** Short enough to keep typing and scrolling smooth. */
const SLICE_MS = 30

/** Finds the nonce in slices, without `crypto.subtle`, which is missing on pages served over plain HTTP. */
export async function solve({ challenge, difficulty }: Pick<Challenge, 'challenge' | 'difficulty'>): Promise<Proof> {
  for (let nonce = 0; ; ) {
    for (const end = performance.now() + SLICE_MS; performance.now() < end; nonce++) {
      const hash = sha256(stringToBytes(`${challenge}:${nonce}`), 'bytes')
      if (leadingZeroBits(hash) >= difficulty) return { challenge, nonce: String(nonce) }
    }
    await new Promise((resolve) => setTimeout(resolve))
  }
}

export function leadingZeroBits(hash: Uint8Array): number {
  const zeros = hash.findIndex((byte) => byte !== 0)
  return zeros === -1 ? hash.length * 8 : zeros * 8 + Math.clz32(hash[zeros] ?? 0) - 24
}

/** Sends a form of a signed-out visitor, and retries with a solved proof of work when the server requires one. */
export async function withProof<T>(send: (proof: Proof | undefined) => Promise<T>): Promise<T> {
  try {
    return await send(undefined)
  } catch (error) {
    if (!hasCode(error, 'PROOF_REQUIRED')) throw error
  }
  const { solve } = await import('./proof-of-work.ts')
  return send(await solve(await request(Challenge, api.GET('/api/auth/challenge'))))
}
