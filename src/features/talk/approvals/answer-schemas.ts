import { z } from 'zod'

/** `POST /v1/approvals`. */
export const BackendApprovalsAnswer = z.object({
  id: z.string(),
  status: z.enum(['used', 'denied', 'waiting', 'approved', 'expired']),
  expiresAt: z.string(),
})
