import { z } from 'zod'
import { readText } from '../../../adapters/egress/answers/read-text.ts'
import { errorMessage } from '../../../core/errors.ts'
import { VERSION } from '../../../core/version.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import type { UpdateNotice } from './schemas.ts'

const DAY_MS = 86_400_000
const TIMEOUT_MS = 10_000
const MAX_BYTES = 512 * 1024
const VERSION_TEXT = /^v?(\d{1,5}\.\d{1,5}\.\d{1,5}(?:-[0-9A-Za-z.-]{1,40})?)$/

/** `{"version", "url"}`, or a release as GitHub and Gitea describe it. */
const Release = z
  .union([
    z.object({ version: z.string().regex(VERSION_TEXT), url: z.url({ protocol: /^https?$/ }).optional() }),
    z
      .object({ tag_name: z.string().regex(VERSION_TEXT), html_url: z.url({ protocol: /^https?$/ }).optional() })
      .transform(({ tag_name, html_url }) => ({ version: tag_name, url: html_url })),
  ])
  .transform(({ version, url }) => ({ version: VERSION_TEXT.exec(version)?.[1] ?? version, url: url ?? null }))

export type ReleaseFeed = {
  read(): UpdateNotice
  check(signal: AbortSignal): Promise<void>
}
type Deps = Pick<Base, 'clock' | 'log' | 'fetch'>

/** Reads the newest release from `feedUrl`; without one nothing is ever requested. */
export function createReleaseFeed(feedUrl: string | undefined, { clock, log, fetch }: Deps): ReleaseFeed {
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
        const response = await fetch(feedUrl, {
          headers: { accept: 'application/json' },
          signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        })
        if (!response.ok) throw new Error(`the feed answered ${response.status}`)
        const release = Release.safeParse(JSON.parse(await readText(response, MAX_BYTES)))
        if (!release.success) throw new Error('the feed does not name a version')
        known = { latest: release.data.version, url: release.data.url, checkedAt, error: null }
      } catch (error) {
        if (signal.aborted) return
        known = { ...known, checkedAt, error: errorMessage(error) }
        log.warn({ error: errorMessage(error) }, 'the release feed cannot be read')
      }
    },
  }
}

/** Asks the feed once a day, the first time soon after the start. */
export function releaseFeedJob({ releaseFeed }: { releaseFeed: ReleaseFeed }): RepeatingJob {
  return { name: 'release-feed', everyMs: DAY_MS, run: (signal) => releaseFeed.check(signal) }
}
