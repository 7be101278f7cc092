import { z } from 'zod'

const text = (name: string, max: number) =>
  z.string(`${name} must be text`).max(max, `${name} must be at most ${max} characters`)
const address = (name: string) =>
  text(name, 42)
    .regex(/^0x[0-9a-fA-F]{40}$/, `${name} must be 0x and 40 hex digits`)
    .transform((value): `0x${string}` => `0x${value.slice(2).toLowerCase()}`)

/**
 * `POST /api/agents/:id/verify`. `verifierAddress` is the backend's name for `walletAddress`. `verified` and
 * `metadata`, which some clients send, are ignored.
 */
export const VerifyAgentRequest = z
  .object({
    verificationType: z.enum(['eas', 'coinbase', 'ens', 'webauthn'], 'Invalid verification type'),
    attestationUid: text('attestationUid', 10_000).nullish(),
    walletAddress: address('walletAddress').nullish(),
    verifierAddress: address('verifierAddress').nullish(),
    signature: text('signature', 2 + 2 * 16 * 1024)
      .regex(/^0x(?:[0-9a-fA-F]{2})+$/, 'signature must be 0x and hex digits')
      .transform((value): `0x${string}` => `0x${value.slice(2)}`)
      .nullish(),
    verified: z.unknown().optional(),
    metadata: z.unknown().optional(),
  })
  .meta({
    examples: [
      {
        verificationType: 'ens',
        walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
        signature: `0x${'ab'.repeat(65)}`,
      },
    ],
  })
export type VerifyAgentRequest = z.infer<typeof VerifyAgentRequest>

/** Verification fields in responses; null without a verification. */
export const ShownProof = z.object({
  verified: z.boolean(),
  verificationType: z.string().nullable(),
  attestationUid: z.string().nullable(),
  verifiedAt: z.string().nullable(),
})

/** `GET /api/agents/:id/verify` and `/verification`. */
export const Verification = ShownProof.extend({
  verifierAddress: z.string().nullable(),
  metadata: z.record(z.string(), z.string()).nullable(),
})
export type Verification = z.infer<typeof Verification>

/** `POST /api/agents/:id/verify/challenge`: the message that a wallet signs (EIP-191), valid once. */
export const VerificationChallenge = z.object({ message: z.string(), expiresAt: z.string() })
export type VerificationChallenge = z.infer<typeof VerificationChallenge>

/** `POST /api/agents/:id/verify`: the new verification. */
export const VerifiedAgent = ShownProof.extend({ success: z.literal(true) })
export type VerifiedAgent = z.infer<typeof VerifiedAgent>
