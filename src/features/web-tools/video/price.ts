import type { VideoPricing } from '../../../adapters/media/video.ts'
import { type MicroUsd, toMicroUsd } from '../../../core/money.ts'

/** What a second of video costs in US dollars, as published on 2026-08-21. */
const USD_PER_SECOND: Readonly<Record<string, number>> = { 'sora-2': 0.1, 'sora-2-pro': 0.3 }
/** As long as a video is when nobody says how long. */
const USUAL_SECONDS = 4

/**
 * What a video costs; an unknown price counts as nothing, as it does for other models. `seconds` is null when the provider
 * has not said: the cost is an estimate then.
 */
export function videoCost({ model, usdPerSecond }: VideoPricing, seconds: number | null): MicroUsd {
  return toMicroUsd((usdPerSecond ?? USD_PER_SECOND[model] ?? 0) * (seconds ?? USUAL_SECONDS))
}
