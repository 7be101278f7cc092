import { readNewestRelease } from '../../../adapters/releases/newest-release.ts'
import { errorMessage } from '../../../core/errors.ts'
import { VERSION } from '../../../core/version.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import type { UpdateNotice } from './schemas.ts'

const DAY_MS = 86_400_000

export type ReleaseFeed = {
  read(): UpdateNotice
  check(signal: AbortSignal): Promise<void>
}

/** Reads the newest release from `feedUrl`; without a URL it sends no request. */
export function createReleaseFeed(
  feedUrl: string | undefined,
  { clock, log, fetch }: Pick<Base, 'clock' | 'log' | 'fetch'>,
): ReleaseFeed {
  let known: Pick<UpdateNotice, 'latest' | 'url' | 'checkedAt' | 'error'> = {
    latest: null,
    url: null,
    checkedAt: null,
    error: null,
  }
  return {
    read: () => ({
      isConfigured: feedUrl !== undefined,
      current: VERSION,
      isNewer: known.latest !== null && Bun.semver.order(known.latest, VERSION) === 1,
      ...known,
    }),
    async check(signal) {
      if (feedUrl === undefined) return
      const checkedAt = clock.now().toISOString()
      try {
        const release = await readNewestRelease(feedUrl, fetch, signal)
        known = { latest: release.version, url: release.url, checkedAt, error: null }
      } catch (error) {
        if (signal.aborted) return
        known = { ...known, checkedAt, error: errorMessage(error) }
        log.warn({ error: errorMessage(error) }, 'the release feed cannot be read')
      }
    },
  }
}

/** Reads the feed once a day, first soon after startup. */
export function releaseFeedJob({ releaseFeed }: { releaseFeed: ReleaseFeed }): RepeatingJob {
  return { name: 'release-feed', everyMs: DAY_MS, run: (signal) => releaseFeed.check(signal) }
}
