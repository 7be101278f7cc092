import { z } from 'zod'

/** `GET /api/auth/social-id/verify`. */
export const AuthSocialIdVerifyAnswer = z.object({
  endpoint: z.string(),
  methods: z.array(z.string()),
  description: z.string(),
  required: z.array(z.string()),
  optional: z.array(z.string()),
})

/** `POST /api/auth/social-id/verify`. */
export const NewAuthSocialIdVerifyAnswer = z.object({
  address: z.string().nullable(),
  message: z.string(),
  tokenGated: z.boolean(),
  accessLevel: z.string(),
  sessionToken: z.string(),
  refreshToken: z.string(),
  success: z.literal(true),
})

/** `GET /api/auth/social-id/refresh`. */
export const AuthSocialIdRefreshAnswer = z.object({
  endpoint: z.string(),
  methods: z.array(z.string()),
  description: z.string(),
  required: z.array(z.string()),
  optional: z.array(z.unknown()),
})

/** `POST /api/auth/social-id/refresh`. */
export const NewAuthSocialIdRefreshAnswer = z.object({
  expiresIn: z.number(),
  message: z.string(),
  sessionToken: z.string(),
  refreshToken: z.string(),
  success: z.literal(true),
})

/** `GET /api/auth/token-gating/verify`. */
export const AuthTokenGatingVerifyAnswer = z.object({
  contractAddress: z.string(),
  rpcEndpoint: z.string(),
  minBalance: z.string(),
  token: z.string(),
  chain: z.literal('base'),
  address: z.string(),
  hasAccess: z.boolean(),
  tokenGated: z.literal(true),
})

/** `POST /api/auth/token-gating/verify`. */
export const NewAuthTokenGatingVerifyAnswer = z.object({
  message: z.string(),
  timestamp: z.string(),
  minBalance: z.string(),
  token: z.string(),
  chain: z.literal('base'),
  fid: z.union([z.string(), z.number()]),
  address: z.string(),
  hasAccess: z.boolean(),
  tokenGated: z.literal(true),
})
