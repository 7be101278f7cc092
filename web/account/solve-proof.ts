import { sha256, stringToBytes } from 'viem'
import type { Proof, ProofChallenge } from '../../src/features/accounts/bot-detection/schemas.ts'

/** Short enough to keep typing and scrolling smooth. */
const SLICE_MS = 30

/** Finds the nonce in slices, without `crypto.subtle`, which is missing on pages served over plain HTTP. */
export async function solve({
  challenge,
  difficulty,
}: Pick<ProofChallenge, 'challenge' | 'difficulty'>): Promise<Proof> {
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
