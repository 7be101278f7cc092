import {
  type VideoProgress,
  type VideoPrompt,
  type VideoProvider,
  VideoRefusal,
} from '../../../adapters/media/video.ts'
import { errorMessage } from '../../../core/errors.ts'
import { PLANS } from '../../accounts/plans/plans.ts'
import type { Bill, Spendings } from '../../ai/usage/spend.ts'
import { DIRECT } from '../../ai/usage/tables.ts'
import { videoCost } from './price.ts'

export type PlaceOrderDeps = { video: VideoProvider; spendings: Spendings }

const ENDPOINT = '/api/generate-video'
const STOPPED = 'The program stopped before the order was answered'

/**
 * Has the provider make a video, and books what that costs: the length it tells, else the usual one, marked as estimated.
 * @throws AppError of the provider; then the order is booked as well, unless it was refused.
 */
export async function placeOrder(
  { video, spendings }: PlaceOrderDeps,
  userId: string,
  prompt: VideoPrompt,
  signal: AbortSignal,
): Promise<VideoProgress> {
  const toBill = (seconds: number | null, message: string | null): Bill => ({
    ...{ model: video.pricing.model, provider: 'video', attempts: 1, isOwnKey: false, inputTokens: 0, outputTokens: 0 },
    costMicroUsd: videoCost(video.pricing, seconds),
    isEstimated: seconds === null,
    errorMessage: message,
  })
  const spending = spendings.begin(
    {
      // A video takes no tokens; that there is a plan was asked when it was ordered.
      spender: { userId, plan: PLANS.network, key: null },
      agentId: DIRECT,
      endpoint: ENDPOINT,
      estimate: { tokens: 0, costMicroUsd: videoCost(video.pricing, null) },
    },
    { count: async () => toBill(null, STOPPED), reserve: () => toBill(null, STOPPED) },
  )
  try {
    const progress = await video.create(prompt, signal)
    spending.book(toBill(progress.seconds, null))
    return progress
  } catch (error) {
    const isRefused = error instanceof VideoRefusal
    const bill = toBill(null, errorMessage(error))
    spending.book(isRefused ? { ...bill, costMicroUsd: 0, isEstimated: false } : bill)
    throw error
  }
}
