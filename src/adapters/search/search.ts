import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/lines.ts'
import { trimTrailing } from '../../core/text/trim.ts'
import { readJson } from '../egress/answers/read-text.ts'

const TIMEOUT_MS = 10_000
const MAX_RESULTS = 10
const BRAVE_URL = 'https://api.search.brave.com/res/v1/web/search'

type SearchSettings = { searxngUrl: string | undefined; braveApiKey: string | undefined }

/** One search result as plain text. */
type SearchResult = { title: string; url: string; snippet: string }

/** Searches the web with the engine of the operator. */
export type WebSearch = {
  isConfigured: boolean
  /**
   * Returns at most 10 results.
   * @throws AppError `unavailable` NOT_CONFIGURED, `upstream_failed`, `upstream_timeout`.
   */
  search(query: string): Promise<SearchResult[]>
}

const Searxng = z.object({
  results: listOf(z.object({ title: z.string(), url: z.string(), content: z.string().nullish() })),
})
const Brave = z.object({
  web: z
    .object({ results: listOf(z.object({ title: z.string(), url: z.string(), description: z.string().nullish() })) })
    .optional(),
})

/** Uses SearXNG's JSON API when configured, otherwise the Brave Search API. */
export function createWebSearch(
  { searxngUrl, braveApiKey }: SearchSettings,
  { fetch }: { fetch: typeof globalThis.fetch },
): WebSearch {
  const isConfigured = searxngUrl !== undefined || braveApiKey !== undefined
  return {
    isConfigured,
    async search(query) {
      if (searxngUrl !== undefined) {
        const url = `${trimTrailing(searxngUrl, '/')}/search?${new URLSearchParams({ q: query, format: 'json' })}`
        const { results } = await ask(fetch, Searxng, url, {})
        return results.slice(0, MAX_RESULTS).map(({ title, url, content }) => toResult(title, url, content))
      }
      if (braveApiKey !== undefined) {
        const url = `${BRAVE_URL}?${new URLSearchParams({ q: query, count: String(MAX_RESULTS) })}`
        const { web } = await ask(fetch, Brave, url, { 'x-subscription-token': braveApiKey })
        const results = web?.results.slice(0, MAX_RESULTS) ?? []
        return results.map(({ title, url, description }) => toResult(title, url, description))
      }
      throw new AppError('unavailable', 'Web search is not configured: set SEARXNG_URL or BRAVE_API_KEY', {
        code: 'NOT_CONFIGURED',
      })
    },
  }
}

async function ask<Schema extends z.ZodType>(
  fetch: typeof globalThis.fetch,
  schema: Schema,
  url: string,
  headers: Record<string, string>,
): Promise<z.infer<Schema>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json', ...headers },
      signal,
      redirect: 'manual',
    })
    if (response.ok) return schema.parse(await readJson(response))
    await response.body?.cancel()
    throw new Error(`answered ${response.status}`)
  } catch (cause) {
    if (signal.aborted)
      throw new AppError('upstream_timeout', 'The search engine did not answer in time', {}, { cause })
    throw new AppError('upstream_failed', 'The search engine did not answer as it should', {}, { cause })
  }
}

/** Search engines highlight matches with HTML. */
function toResult(title: string, url: string, snippet: string | null | undefined): SearchResult {
  const plain = (html: string) => html.replace(/<[^<>]*>/g, '').trim()
  return { title: plain(title), url, snippet: plain(snippet ?? '') }
}
