import { z } from 'zod'

/** Where links go that are meant to be mailed: without mail a developer finds them in the log. */
export const LinksGo = z.enum(['by-mail', 'to-log', 'nowhere'])
export type LinksGo = z.infer<typeof LinksGo>

/** What was done, in words. */
export const MessageResponse = z.object({ message: z.string() })
export type MessageResponse = z.infer<typeof MessageResponse>
