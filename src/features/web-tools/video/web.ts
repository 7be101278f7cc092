import { type Context, Hono } from 'hono'
import type { VideoProvider } from '../../../adapters/media/video.ts'
import type { Objects } from '../../../adapters/objects/objects.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { videoObject } from './jobs.ts'
import { FinishedVideo, GenerateVideoRequest, type OwnVideo, OwnVideoList, PendingVideo } from './schemas.ts'
import type { VideoRow } from './tables.ts'
import { getVideo, listVideos, orderVideo, waitForVideo } from './videos.ts'

const WAIT_MS = 60_000

/** Serves video generation. */
export function videoWeb(
  deps: Base & { video: VideoProvider; guards: Guards; objects: Objects; requestsPerMinute: { chat: number } },
) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.post(
    '/api/generate-video',
    endpoint({
      summary: 'Starts generating a video',
      tag: 'Media',
      responses: { 200: FinishedVideo, 202: PendingVideo },
      errors: ['payment_required', 'not_found', 'upstream_failed', 'unavailable'],
    }),
    limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.'),
    signedIn,
    validate('json', GenerateVideoRequest),
    async (c) => {
      c.env.keepOpen?.(c.req.raw)
      const userId = c.var.user.id
      const { id } = await orderVideo(deps, c.var.user, c.req.valid('json'))
      const signals = [c.req.raw.signal, ...(c.env.stopping ? [c.env.stopping] : [])]
      const waitMs = prefersNotToWait(c) ? 0 : WAIT_MS
      const video = await waitForVideo(deps.db, userId, id, { waitMs, signal: AbortSignal.any(signals) })
      if (video.status === 'failed') throw failure(video)
      return video.status === 'completed' ? c.json({ url: urlOf(video) }) : c.json(toPending(video), 202)
    },
  )

  app.get(
    '/api/videos',
    endpoint({ summary: 'Lists your newest videos', tag: 'Media', responses: { 200: OwnVideoList } }),
    signedIn,
    (c) => {
      const videos = listVideos(deps.db, c.var.user.id).map(toOwnVideo)
      return c.json({ videos, count: videos.length, obstacle: findObstacle(deps.video) })
    },
  )

  app.get(
    '/api/videos/:id',
    endpoint({
      summary: 'Returns a video',
      tag: 'Media',
      responses: { 200: 'video/mp4', 202: PendingVideo, 206: 'video/mp4' },
      errors: ['not_found', 'upstream_failed'],
    }),
    signedIn,
    async (c) => {
      const video = getVideo(deps.db, c.var.user.id, c.req.param('id'))
      if (video.status === 'failed') throw failure(video)
      if (video.status !== 'completed') return c.json(toPending(video), 202)
      return sendVideo(deps.objects, video.id, c.req.header('range'))
    },
  )

  return app
}

/** Sends the video, or the part that `range` names: players seek by it. @throws AppError `not_found`. */
async function sendVideo(objects: Objects, id: string, range: string | undefined): Promise<Response> {
  const size = await objects.findSize(videoObject(id))
  if (size === null) throw new AppError('not_found', 'Video not found')
  const part = readRange(range, size)
  const { start, end } = part ?? { start: 0, end: size }
  const headers = {
    'content-type': 'video/mp4',
    'content-length': String(end - start),
    'content-disposition': `inline; filename="${id}.mp4"`,
    'cache-control': 'private, max-age=3600',
    'accept-ranges': 'bytes',
    ...(part && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
  }
  return new Response(objects.read(videoObject(id), { start, end }), { status: part ? 206 : 200, headers })
}

/** Returns the bytes of one range; null for another form, which RFC 9110, 14.2 allows to ignore. */
function readRange(range: string | undefined, size: number): { start: number; end: number } | null {
  const [match, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? []
  if (match === undefined || (from === '' && to === '')) return null
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const end = from === '' || to === '' ? size : Math.min(Number(to) + 1, size)
  return start < end ? { start, end } : null
}

/** Returns whether the client sent `Prefer: respond-async` (RFC 7240). */
function prefersNotToWait(c: Context): boolean {
  return /\brespond-async\b/i.test(c.req.header('prefer') ?? '')
}

function toPending(video: VideoRow): PendingVideo {
  return { id: video.id, status: video.status === 'queued' ? 'queued' : 'processing', url: urlOf(video) }
}

function findObstacle(video: VideoProvider): string | null {
  try {
    video.requireConfigured()
    return null
  } catch (error) {
    return errorMessage(error)
  }
}

function toOwnVideo(video: VideoRow): OwnVideo {
  const { id, type, prompt, status, error, createdAt, finishedAt } = video
  const times = { createdAt: createdAt.toISOString(), finishedAt: finishedAt?.toISOString() ?? null }
  return { id, type, prompt, status, error, url: urlOf(video), ...times }
}

function urlOf({ id }: VideoRow): string {
  return `/api/videos/${id}`
}

function failure({ id, error }: VideoRow): AppError {
  return new AppError('upstream_failed', error ?? 'The video could not be made', { id, status: 'failed' })
}
