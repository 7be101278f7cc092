import { z } from 'zod'
import { AdminUser, AdminUserDetail } from './schemas.ts'

/** `GET /api/admin/users/:id`. */
export const AdminUserAnswer = z.object({ user: AdminUserDetail })

/** `PATCH /api/admin/users/:id`. */
export const ChangedAdminUserAnswer = z.object({ user: AdminUser })

/** `DELETE /api/admin/users/:id/sessions`. */
export const DeletedAdminUserSessionsAnswer = z.object({ success: z.literal(true), ended: z.number() })

/** `GET /api/admin/audit`. */
export const AdminAuditAnswer = z.object({
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
