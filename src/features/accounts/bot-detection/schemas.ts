import { z } from 'zod'

/**
 * A solved challenge of `GET /api/auth/challenge`: the SHA-256 of `challenge:nonce` starts with `difficulty` zero bits.
 */
export const Proof = z.object({
  challenge: z.string('Invalid proof').max(256, 'Invalid proof'),
  nonce: z.union([z.string().max(64), z.number()], 'Invalid proof').transform(String),
})
export type Proof = z.infer<typeof Proof>

/** `GET /api/auth/challenge`: `difficulty` in bits, 0 when no proof is required; valid once, until `expiresAt`. */
export const ProofChallenge = z.object({ challenge: z.string(), difficulty: z.number(), expiresAt: z.string() })
export type ProofChallenge = z.infer<typeof ProofChallenge>
