import { z } from 'zod'
import { LiveDj, OwnStream } from './schemas.ts'

/** `GET /api/radio/live`. */
export const RadioLiveAnswer = z.object({ djs: z.array(LiveDj), count: z.number() })

/** `GET /api/radio/streams`. */
export const RadioStreamsAnswer = z.object({ streams: z.array(OwnStream), count: z.number() })

/** `POST /api/radio/streams`. */
export const NewRadioStreamsAnswer = z.object({
  success: z.boolean(),
  stream: z.object({
    id: z.string(),
    name: z.string(),
    wallet: z.string(),
    streamKey: z.string(),
    rtmpUrl: z.string(),
    fullRtmpUrl: z.string(),
    playbackId: z.string().nullable(),
    status: z.string(),
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

/** `DELETE /api/radio/streams/:id`. */
export const DeletedRadioStreamAnswer = z.object({ id: z.string(), deleted: z.literal(true) })
