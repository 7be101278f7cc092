import { and, desc, eq, inArray } from 'drizzle-orm'
import type { VideoPrompt, VideoProvider } from '../../../adapters/media/video.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { inPages } from '../../../db/pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { pause } from '../../../jobs/runner.ts'
import { NO_PLAN, planInForce, planRequired } from '../../accounts/plans/plans.ts'
import type { Base } from '../../base.ts'
import type { GenerateVideoRequest } from './schemas.ts'
import { type VideoRow, videos } from './tables.ts'

/** Job that advances a video by one step; `jobs.ts` implements it. */
export const VIDEO_JOB = 'video.step'

const MAX_UNDER_WAY = 2
const LOOK_MS = 250
const MAX_LISTED = 50

/**
 * Orders a video, which jobs then create.
 * @throws AppError `unavailable` NOT_CONFIGURED, `payment_required` PLAN_REQUIRED, `limited` while two of the user's
 * videos are in progress.
 */
export async function orderVideo(
  deps: Base & { video: VideoProvider },
  user: SignedInUser,
  request: GenerateVideoRequest,
): Promise<VideoRow> {
  deps.video.requireConfigured()
  if (planInForce(deps.db, user) === NO_PLAN) throw planRequired()
  const userId = user.id
  const { text, imageUrl } = toPrompt(request)
  return write(deps.db, (tx) => {
    requireVideoQuota(tx, userId)
    const createdAt = deps.clock.now()
    const row = { id: newId('vid'), userId, type: request.type, prompt: text, imageUrl, createdAt }
    const video = tx
      .insert(videos)
      .values({ ...row, status: 'queued' })
      .returning()
      .get()
    deps.enqueue(tx, VIDEO_JOB, { id: video.id }, { share: userId })
    return video
  })
}

/**
 * Returns the video when it is finished, when `waitMs` have passed or when `signal` aborts.
 * @throws AppError `not_found`.
 */
export async function waitForVideo(
  db: Db,
  userId: string,
  id: string,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<VideoRow> {
  const deadline = performance.now() + waitMs
  for (;;) {
    const video = getVideo(db, userId, id)
    const isFinished = video.status === 'completed' || video.status === 'failed'
    if (isFinished || signal.aborted || performance.now() >= deadline) return video
    await pause(LOOK_MS, signal)
  }
}

/** Returns a user's video. @throws AppError `not_found` for a missing video or another user's. */
export function getVideo(db: Db, userId: string, id: string): VideoRow {
  const video = db
    .select()
    .from(videos)
    .where(and(eq(videos.id, id), eq(videos.userId, userId)))
    .get()
  if (!video) throw new AppError('not_found', 'Video not found')
  return video
}

function requireVideoQuota(tx: Tx, userId: string): void {
  const isUnderWay = and(eq(videos.userId, userId), inArray(videos.status, ['queued', 'processing']))
  const current = countRows(tx, videos, isUnderWay)
  const message = `Only ${MAX_UNDER_WAY} videos can be made at once`
  requireQuota({ current, limit: MAX_UNDER_WAY, message, extra: {} })
}

/** Lists a user's newest videos in any state. */
export function listVideos(db: Db, userId: string): VideoRow[] {
  const newestFirst = [desc(videos.createdAt), desc(videos.id)]
  return db
    .select()
    .from(videos)
    .where(eq(videos.userId, userId))
    .orderBy(...newestFirst)
    .limit(MAX_LISTED)
    .all()
}

/** Builds the model's prompt from the request. */
function toPrompt(request: GenerateVideoRequest): VideoPrompt {
  switch (request.type) {
    case 'demo':
      return words(
        `A short product demo of an AI agent named "${request.agentName}".`,
        `What it does: ${request.agentDescription}`,
        'Show its interface at work: someone asks, the agent acts, the result appears. Clean, modern, well lit.',
      )
    case 'marketing':
      return words(
        `A short, energetic marketing video for "${request.productName}".`,
        `It shows these features one after another: ${request.features.join('; ')}`,
        'Cinematic camera, bold colors, ending on the name of the product.',
      )
    case 'screenshot':
      return {
        ...words(
          'A short video that brings the given screenshot to life, with slow camera moves over its details.',
          `What it shows: ${request.description}`,
        ),
        imageUrl: request.imageUrl,
      }
    case 'tutorial':
      return words(
        `A short tutorial about ${request.topic}.`,
        ...request.steps.map((step, index) => `Step ${index + 1}: ${step}`),
        'Calm pace, one scene for each step, clear close-ups.',
      )
  }
}

function words(...lines: string[]): VideoPrompt {
  return { text: lines.join('\n'), imageUrl: null }
}

/** Exports the user's videos. */
export const personalVideos: PersonalList = {
  name: 'videos',
  tables: [videos],
  pages: (db, userId) =>
    inPages(db, {
      table: videos,
      condition: eq(videos.userId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(videos)
          .where(isOnPage)
          .all()
          .map(({ userId: _, ...video }) => video),
    }),
}
