import { z } from 'zod'

const MAX_PAGE = 200

/** `GET /api/admin/audit`: newest first; `before` is the `next` of the previous page. */
export const AuditQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE, `limit must be at most ${MAX_PAGE}`).default(100),
  before: z.coerce.number().int().positive().optional(),
})
export type AuditQuery = z.infer<typeof AuditQuery>

export const AuditList = z.object({
  entries: z.array(
    z.object({
      id: z.number(),
      actor: z.string(),
      action: z.string(),
      target: z.string(),
      detail: z.unknown(),
      address: z.string().nullable(),
      createdAt: z.string(),
    }),
  ),
  next: z.number().nullable(),
})
export type AuditList = z.infer<typeof AuditList>
