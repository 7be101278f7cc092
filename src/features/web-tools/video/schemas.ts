import { z } from 'zod'
import { webUrl } from '../../../core/text/names.ts'
import { withoutUserinfo } from '../../../core/text/url-userinfo.ts'

const words = (name: string, limit = 2000) =>
  z
    .string(`${name} required`)
    .trim()
    .min(1, `${name} required`)
    .max(limit, `${name} must be at most ${limit} characters`)
const list = (name: string) => {
  const problem = `${name} must be text or a list of 1 to 30 texts`
  const texts = z.array(words(name, 500)).min(1, problem).max(30, problem)
  return z.union([words(name).transform((text) => [text]), texts], problem)
}

/** Request of `POST /api/generate-video`; `type` decides which fields are required. */
export const GenerateVideoRequest = z
  .discriminatedUnion(
    'type',
    [
      z.object({
        type: z.literal('demo'),
        agentName: words('agentName', 200),
        agentDescription: words('agentDescription'),
      }),
      z.object({ type: z.literal('marketing'), productName: words('productName', 200), features: list('features') }),
      z.object({
        type: z.literal('screenshot'),
        imageUrl: webUrl('imageUrl must be an http or https URL').transform(withoutUserinfo),
        description: words('description'),
      }),
      z.object({ type: z.literal('tutorial'), topic: words('topic', 500), steps: list('steps') }),
    ],
    'Invalid video type',
  )
  .meta({
    examples: [
      { type: 'demo', agentName: 'Ada', agentDescription: 'Plans my day' },
      { type: 'tutorial', topic: 'Brewing tea', steps: ['Boil water', 'Wait'] },
    ],
  })
export type GenerateVideoRequest = z.infer<typeof GenerateVideoRequest>

/** A video in progress; `url` serves it when it is finished. */
export const PendingVideo = z.object({
  id: z.string(),
  status: z.enum(['queued', 'processing']),
  url: z.string(),
})
export type PendingVideo = z.infer<typeof PendingVideo>

export const FinishedVideo = PendingVideo.pick({ url: true })

/** A video as its owner sees it; `url` serves it when `completed`, `error` gives the reason when `failed`. */
export const OwnVideo = z.object({
  id: z.string(),
  type: z.string(),
  prompt: z.string(),
  status: z.enum(['queued', 'processing', 'completed', 'failed']),
  error: z.string().nullable(),
  url: z.string(),
  createdAt: z.string(),
  finishedAt: z.string().nullable(),
})
export type OwnVideo = z.infer<typeof OwnVideo>

/**
 * Response of `GET /api/videos`: the newest fifty. `obstacle` names the setting that the operator must set before
 * videos can be created.
 */
export const OwnVideoList = z.object({ videos: z.array(OwnVideo), count: z.number(), obstacle: z.string().nullable() })
