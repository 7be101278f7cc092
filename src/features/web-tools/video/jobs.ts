import { and, eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import {
  type VideoPricing,
  type VideoProgress,
  type VideoPrompt,
  type VideoProvider,
  VideoRefusal,
} from '../../../adapters/media/video.ts'
import type { Objects } from '../../../adapters/objects/objects.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { type MicroUsd, toMicroUsd } from '../../../core/money.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { PLANS } from '../../accounts/plans/plans.ts'
import { UNCACHED } from '../../ai/usage/rows/event.ts'
import type { Bill, Spendings } from '../../ai/usage/spend.ts'
import { DIRECT } from '../../ai/usage/tables.ts'
import type { Base } from '../../base.ts'
import { type VideoRow, videos } from './tables.ts'
import { VIDEO_JOB } from './videos.ts'

/** Poll interval of a video in progress. */
const STEP_MS = 2000
const GIVE_UP_AFTER_MS = 30 * 60_000
const MAX_ATTEMPTS = 6
const HOUR_MS = 3_600_000

const VideoJob = z.object({ id: z.string() })

type VideoDeps = Base & { video: VideoProvider; spendings: Spendings; objects: Objects }

/** Advances a video by one step per job, so a slow video does not block other jobs. */
export function videoJob(deps: VideoDeps): JobKind {
  return defineJob({
    kind: VIDEO_JOB,
    payload: VideoJob,
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: ({ id }, signal) => takeStep(deps, id, signal),
    onDead: ({ id }, error) => settle(deps, id, { status: 'failed', error: describe(error) }),
  })
}

/** Deletes the video files of deleted accounts. */
export function videoFilesJob(deps: Pick<VideoDeps, 'db' | 'objects'>): RepeatingJob {
  return { name: 'video.files', everyMs: HOUR_MS, run: () => deleteOrphans(deps) }
}

const VIDEOS = 'videos/'

/** Returns the name of a video's object. */
export function videoObject(id: string): string {
  return `${VIDEOS}${id}.mp4`
}

/** Runs the next step of a video. @throws AppError of the provider when a retry may help. */
async function takeStep(deps: VideoDeps, id: string, signal: AbortSignal): Promise<void> {
  const isUnderWay = and(eq(videos.id, id), inArray(videos.status, ['queued', 'processing']))
  const video = deps.db.select().from(videos).where(isUnderWay).get()
  if (!video) return
  try {
    await takeOn(deps, video, signal)
  } catch (error) {
    // The provider would reject the same request again.
    if (!(error instanceof AppError && error.kind === 'invalid')) throw error
    await settle(deps, id, { status: 'failed', error: error.message })
  }
}

async function takeOn(deps: VideoDeps, video: VideoRow, signal: AbortSignal): Promise<void> {
  const { prompt, imageUrl, providerId, id } = video
  const progress = providerId
    ? await deps.video.find(providerId, signal)
    : await placeOrder(deps, video.userId, { text: prompt, imageUrl }, signal)
  if (progress.status === 'failed') {
    await settle(deps, id, { status: 'failed', error: progress.error ?? 'The video provider gave no reason' })
  } else if (progress.status === 'completed') {
    let sizeBytes = 0
    await deps.objects.put(videoObject(id), async (file) => {
      sizeBytes = await deps.video.download(progress.id, file, signal)
    })
    await settle(deps, id, { status: 'completed', providerId: progress.id, sizeBytes })
  } else if (deps.clock.now().getTime() - video.createdAt.getTime() > GIVE_UP_AFTER_MS) {
    await settle(deps, id, { status: 'failed', error: 'The video took too long' })
  } else {
    await write(deps.db, (tx) => {
      const change = { status: 'processing', providerId: progress.id } as const
      tx.update(videos).set(change).where(eq(videos.id, id)).run()
      deps.enqueue(tx, VIDEO_JOB, { id }, { delayMs: STEP_MS, share: video.userId })
    })
  }
}

async function settle({ db, clock }: VideoDeps, id: string, outcome: Partial<VideoRow>): Promise<void> {
  const finishedAt = clock.now()
  await write(db, (tx) =>
    tx
      .update(videos)
      .set({ ...outcome, finishedAt })
      .where(eq(videos.id, id))
      .run(),
  )
}

function describe(error: unknown): string {
  return error instanceof AppError ? error.message : 'The video could not be made'
}

async function deleteOrphans({ db, objects }: Pick<VideoDeps, 'db' | 'objects'>): Promise<void> {
  for (const { name } of await objects.list(VIDEOS)) {
    const [id = ''] = name.slice(VIDEOS.length).split('.', 1)
    const row = db.select({ id: videos.id }).from(videos).where(eq(videos.id, id)).get()
    if (!row) await objects.remove(name)
  }
}

const ENDPOINT = '/api/generate-video'
const STOPPED = 'The program stopped before the order was answered'

/**
 * Orders a video from the provider and records its cost for the reported length, or for the default length, marked as
 * estimated.
 * @throws AppError of the provider; the cost is then recorded too, unless the provider rejected the order.
 */
async function placeOrder(
  { video, spendings }: { video: VideoProvider; spendings: Spendings },
  userId: string,
  prompt: VideoPrompt,
  signal: AbortSignal,
): Promise<VideoProgress> {
  const toBill = (seconds: number | null, message: string | null): Bill => ({
    ...{ model: video.pricing.model, provider: 'video', attempts: 1, isOwnKey: false, inputTokens: 0, outputTokens: 0 },
    ...UNCACHED,
    costMicroUsd: videoCost(video.pricing, seconds),
    isEstimated: seconds === null,
    errorMessage: message,
  })
  const spending = spendings.begin(
    {
      // A video uses no tokens; the plan was checked when the user ordered it.
      spender: { userId, plan: PLANS.network, key: null },
      agentId: DIRECT,
      endpoint: ENDPOINT,
      estimate: { tokens: 0, costMicroUsd: videoCost(video.pricing, null) },
    },
    { count: async () => toBill(null, STOPPED), reserve: () => toBill(null, STOPPED) },
  )
  try {
    const progress = await video.create(prompt, signal)
    spending.record(toBill(progress.seconds, null))
    return progress
  } catch (error) {
    const isRefused = error instanceof VideoRefusal
    const bill = toBill(null, errorMessage(error))
    spending.record(isRefused ? { ...bill, costMicroUsd: 0, isEstimated: false } : bill)
    throw error
  }
}

/** Price of a second of video in US dollars, as published on 2026-08-21. */
const USD_PER_SECOND: Readonly<Record<string, number>> = { 'sora-2': 0.1, 'sora-2-pro': 0.3 }
/** Assumed length when the request and the provider give none. */
const USUAL_SECONDS = 4

/**
 * Returns the cost of a video; an unknown price is zero, as for other models. Without `seconds` the cost is an estimate
 * for the default length.
 */
function videoCost({ model, usdPerSecond }: VideoPricing, seconds: number | null): MicroUsd {
  return toMicroUsd((usdPerSecond ?? USD_PER_SECOND[model] ?? 0) * (seconds ?? USUAL_SECONDS))
}
