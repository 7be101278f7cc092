import type { Proof } from '../../src/features/accounts/bot-detection/schemas.ts'

/** Does the work that a browser does: the first number whose hash behind the challenge begins with enough zero bits. */
export function solve(challenge: string, difficulty = 18): Proof {
  for (let nonce = 0; ; nonce++) {
    const digest = Bun.CryptoHasher.hash('sha256', `${challenge}:${nonce}`)
    const first = new DataView(digest.buffer, digest.byteOffset).getUint32(0)
    if (Math.clz32(first) >= difficulty) return { challenge, nonce: String(nonce) }
  }
}
