import { z } from 'zod'
import { readText } from '../egress/answers/read-text.ts'

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

/** Reads the newest release from a feed. @throws Error with the reason when the feed cannot be read or names no version. */
export async function readNewestRelease(
  feedUrl: string,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<z.infer<typeof Release>> {
  const response = await fetch(feedUrl, {
    headers: { accept: 'application/json' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  if (!response.ok) throw new Error(`the feed answered ${response.status}`)
  const release = Release.safeParse(JSON.parse(await readText(response, MAX_BYTES)))
  if (!release.success) throw new Error('the feed does not name a version')
  return release.data
}
