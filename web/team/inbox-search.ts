import { z } from 'zod'

export const InboxSearch = z.object({ agent: z.coerce.string().max(100).optional().catch(undefined) })
