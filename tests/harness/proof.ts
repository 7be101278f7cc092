import type { Proof } from '../../src/features/accounts/bot-detection/schemas.ts'

/**
 * Solves a proof-of-work challenge as a browser does: returns the first number whose hash has enough leading zero bits.
 */
export function solve(challenge: string, difficulty = 18): Proof {
  for (let nonce = 0; ; nonce++) {
    const digest = Bun.CryptoHasher.hash('sha256', `${challenge}:${nonce}`)
    const first = new DataView(digest.buffer, digest.byteOffset).getUint32(0)
    if (Math.clz32(first) >= difficulty) return { challenge, nonce: String(nonce) }
  }
}
