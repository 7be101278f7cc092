import { z } from 'zod'

/** `GET /api/security/risc`. */
export const SecurityRiscAnswer = z.object({
  status: z.string(),
  endpoint: z.string(),
  description: z.string(),
  events_supported: z.array(z.string()),
})

/** `POST /api/auth/idp-b/risc`. */
export const AuthIdpBRiscAnswer = z.object({ received: z.literal(true) })
