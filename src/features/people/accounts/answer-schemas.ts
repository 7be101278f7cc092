import { z } from 'zod'

/** `GET /api/auth/challenge`. */
export const AuthChallengeAnswer = z.object({ challenge: z.string(), difficulty: z.number(), expiresAt: z.string() })

/** `POST /api/auth/signout`. */
export const AuthSignoutAnswer = z.object({ ok: z.literal(true) })

/** `GET /api/auth/csrf`. */
export const AuthCsrfAnswer = z.object({ token: z.string(), signed: z.string(), header: z.string() })
