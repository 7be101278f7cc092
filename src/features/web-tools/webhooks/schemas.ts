import { z } from 'zod'

/** An event of a video service in Mux's format. */
export const VideoEvent = z.object({
  type: z.string().max(200),
  id: z.string().min(1).max(200),
  created_at: z.coerce.date().optional().catch(undefined),
  data: z.object({
    id: z.string().max(200),
    live_stream_id: z.string().max(200).optional(),
    playback_ids: z.array(z.object({ id: z.string().max(200) })).optional(),
    duration: z.number().nonnegative().optional(),
  }),
})
export type VideoEvent = z.infer<typeof VideoEvent>

const Addresses = z
  .union([z.string(), z.array(z.string()).transform((list) => list.join(', '))])
  .default('')
  .catch('')
const Headers = z
  .union([
    z.record(z.string(), z.unknown()).transform((headers) => Object.entries(headers)),
    z
      .array(z.object({ name: z.string(), value: z.string() }))
      .transform((list) => list.map(({ name, value }): [string, unknown] => [name, value])),
  ])
  .default([])
  .catch([])

const Attachment = z.object({
  filename: z.string().default('').catch(''),
  content_type: z.string().max(200).default('application/octet-stream').catch('application/octet-stream'),
  /** Base64; null when the mail service sends no content. */
  content: z
    .string()
    .nullish()
    .catch(null)
    .transform((content) => content ?? null),
})
export type MailAttachment = z.infer<typeof Attachment>

/** An event of a mail service; only `email.received` is processed. */
export const MailEvent = z.object({
  type: z.string().max(200),
  data: z
    .object({
      from: z.string().default('').catch(''),
      to: Addresses,
      subject: z.string().default('').catch(''),
      text: z.string().nullish().catch(null),
      html: z.string().nullish().catch(null),
      headers: Headers,
      attachments: z.array(Attachment).max(100).default([]).catch([]),
      message_id: z.string().max(500).nullish().catch(null),
    })
    .default({ from: '', to: '', subject: '', headers: [], attachments: [] }),
})
export type MailEvent = z.infer<typeof MailEvent>

/** Response of `POST /api/webhooks/email`; `action` is the outcome for the mail. */
export const MailReceived = z.object({ received: z.literal(true), action: z.string().optional() })
