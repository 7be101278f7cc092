import { z } from 'zod'

/** `POST /api/invite/validate`. */
export const InviteValidateAnswer = z.object({ valid: z.boolean() })
