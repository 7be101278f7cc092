import { z } from 'zod'

/** Search of `/team/inbox`: whose mail alone is shown. */
export const InboxSearch = z.object({ agent: z.coerce.string().max(100).optional().catch(undefined) })
