import { z } from 'zod'

const address = (problem: string) =>
  z
    .string(problem)
    .regex(/^0x[0-9a-fA-F]{40}$/, problem)
    .transform((text): `0x${string}` => `0x${text.slice(2)}`)

/** `POST /api/auth/social-id/verify`. A missing token gets 401 by the route, not 400. */
export const VerifyIdentityRequest = z.object({
  fidToken: z.string().max(16_384).optional().catch(undefined),
  address: address('Invalid Ethereum address').nullish(),
})

/** `POST /api/auth/social-id/refresh`. */
export const RefreshRequest = z.object({
  refreshToken: z.string('Missing refresh token').min(1, 'Missing refresh token').max(4096, 'Invalid refresh token'),
})

/** `POST /api/auth/token-gating/verify`. */
export const GateRequest = z.object({
  fid: z.union([z.string().min(1).max(100), z.number()], 'Missing fid or address'),
  address: z
    .string('Missing fid or address')
    .min(1, 'Missing fid or address')
    .pipe(address('Invalid Ethereum address')),
})

/** `GET /api/auth/token-gating/verify?address=`. */
export const GateQuery = z.object({ address: address('Invalid or missing address parameter') })

/** `GET /api/auth/social-id/verify` and `/refresh`: a description of the endpoint. */
export const EndpointDescription = z.object({
  endpoint: z.string(),
  methods: z.array(z.string()),
  description: z.string(),
  required: z.array(z.string()),
  optional: z.array(z.string()),
})

const Tokens = z.object({
  success: z.literal(true),
  sessionToken: z.string(),
  refreshToken: z.string(),
  message: z.string(),
})

/** `POST /api/auth/social-id/verify`. */
export const SocialSession = Tokens.extend({
  address: z.string().nullable(),
  tokenGated: z.boolean(),
  accessLevel: z.string(),
})

/** `POST /api/auth/social-id/refresh`: `expiresIn` is in seconds. */
export const RefreshedSession = Tokens.extend({ expiresIn: z.number() })

/** `minBalance` is in the smallest unit of `token`. */
const GateOutcome = z.object({
  address: z.string(),
  hasAccess: z.boolean(),
  tokenGated: z.literal(true),
  token: z.string(),
  minBalance: z.string(),
  chain: z.literal('base'),
})

/** `GET /api/auth/token-gating/verify`. */
export const DescribedGateOutcome = GateOutcome.extend({ contractAddress: z.string(), rpcEndpoint: z.string() })

/** `POST /api/auth/token-gating/verify`. */
export const StatedGateOutcome = GateOutcome.extend({
  fid: z.union([z.string(), z.number()]),
  message: z.string(),
  timestamp: z.string(),
})
