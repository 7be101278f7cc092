import { z } from 'zod'

/** Request of `POST /api/radio/streams`. */
export const CreateStreamRequest = z.object({
  wallet: z
    .string('Wallet address required')
    .trim()
    .min(1, 'Wallet address required')
    .regex(/^0x[0-9a-fA-F]{40}$/, 'wallet must be 0x and 40 hex digits')
    .transform((text): `0x${string}` => `0x${text.slice(2).toLowerCase()}`),
  name: z.string('name must be text').trim().max(100, 'name must be at most 100 characters').optional(),
})
export type CreateStreamRequest = z.infer<typeof CreateStreamRequest>

/** A user who is live; `startedAt` is in Unix seconds. */
export const LiveDj = z.object({
  id: z.string(),
  name: z.string(),
  wallet: z.string().nullable(),
  playbackId: z.string().nullable(),
  status: z.literal('active'),
  startedAt: z.number().nullable(),
  hlsUrl: z.string().nullable(),
  embedUrl: z.string().nullable(),
})
export type LiveDj = z.infer<typeof LiveDj>

/** A stream as its owner sees it; `recording` is the newest one. */
export const OwnStream = z.object({
  id: z.string(),
  name: z.string(),
  wallet: z.string(),
  playbackId: z.string().nullable(),
  status: z.enum(['created', 'active', 'idle']),
  hlsUrl: z.string().nullable(),
  embedUrl: z.string().nullable(),
  recording: z.object({ hlsUrl: z.string().nullable(), seconds: z.number().nullable() }).nullable(),
  createdAt: z.string(),
})
export type OwnStream = z.infer<typeof OwnStream>

/** Response of `GET /api/radio/live`. */
export const LiveDjList = z.object({ djs: z.array(LiveDj), count: z.number() })

/** Response of `GET /api/radio/streams`. */
export const OwnStreamList = z.object({ streams: z.array(OwnStream), count: z.number() })

/** Response of `POST /api/radio/streams`: the ingest URL and the OBS settings. The stream key is shown only here. */
export const CreatedStream = z.object({
  success: z.literal(true),
  stream: OwnStream.pick({ id: true, name: true, wallet: true, playbackId: true, status: true }).extend({
    streamKey: z.string(),
    rtmpUrl: z.string(),
    fullRtmpUrl: z.string(),
  }),
  obsSettings: z.object({
    server: z.string(),
    streamKey: z.string(),
    recommended: z.object({
      audioBitrate: z.string(),
      encoder: z.string(),
      sampleRate: z.string(),
      channels: z.string(),
    }),
  }),
})

/** Response of `DELETE /api/radio/streams/:id`. */
export const DeletedStream = z.object({ id: z.string(), deleted: z.literal(true) })
