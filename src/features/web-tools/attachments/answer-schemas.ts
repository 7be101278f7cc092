import { z } from 'zod'

/** `POST /api/chat/attachments`. */
export const ChatAttachmentsAnswer = z.object({
  attachment: z.object({
    id: z.string(),
    name: z.string(),
    mediaType: z.string(),
    sizeBytes: z.number(),
    path: z.string(),
  }),
})
