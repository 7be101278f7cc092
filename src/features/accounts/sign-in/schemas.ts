import { z } from 'zod'
import { LinksGo } from '../notifications/schemas.ts'

const MISSING = 'Missing: address, message, signature'
const MAX_MESSAGE = 4096

/**
 * `GET /api/auth/providers`: the configured sign-in methods besides the password, and how reset links are delivered.
 */
export const ProvidersResponse = z.object({
  idpA: z.boolean(),
  idpB: z.boolean(),
  wallet: z.boolean(),
  idpAName: z.string().optional(),
  idpBName: z.string().optional(),
  siweChainId: z.number().int(),
  links: LinksGo,
})
export type ProvidersResponse = z.infer<typeof ProvidersResponse>

/** `GET` and `POST /api/auth/nonce`. */
export const NonceResponse = z.object({ nonce: z.string() })
export type NonceResponse = z.infer<typeof NonceResponse>

/** `POST /api/wallet-auth`. The service validates the contents in the specified order. */
export const WalletAuthRequest = z.object({
  address: z.string(MISSING).min(1, MISSING),
  message: z.string(MISSING).min(1, MISSING).max(MAX_MESSAGE, 'Message too long (max 4096 chars)'),
  signature: z.string(MISSING).min(1, MISSING),
})
export type WalletAuthRequest = z.infer<typeof WalletAuthRequest>

/** `POST /api/auth/two-factor`: a code of the authenticator or a recovery code. */
export const SecondFactorRequest = z.object({ code: z.string('Code required').trim().min(1, 'Code required').max(64) })
export type SecondFactorRequest = z.infer<typeof SecondFactorRequest>

/** The signed-in user; the session is in the cookie. */
export const SignedInResponse = z.object({ ok: z.literal(true), user: z.object({ id: z.string(), name: z.string() }) })
export type SignedInResponse = z.infer<typeof SignedInResponse>
