import type { Egress, EgressResponse } from '../../../adapters/egress/egress.ts'
import { EgressError } from '../../../adapters/egress/error.ts'
import type { ReadPage } from '../../../adapters/pages/parser.ts'
import type { PageReader } from '../../../adapters/pages/reader.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Extract, Summary } from './schemas.ts'

/** What a page says (Interface 4.14). @throws PageError when it cannot be fetched or read. */
export async function summarize(
  deps: ReadUrlDeps,
  { url, format }: { url: string; format: 'plain' | 'markdown' },
): Promise<Summary> {
  const read = await readUrl(deps, url, format === 'markdown')
  const { title, description, headings, paragraphs, wordCount } = read.page
  const markdown = format === 'markdown' ? { markdown: read.markdown } : {}
  return { ...toOrigin(url, read), title, description, headings, paragraphs, wordCount, ...markdown }
}

/** What a page points to (Interface 4.14). @throws PageError when it cannot be fetched or read. */
export async function extract(deps: ReadUrlDeps, url: string): Promise<Extract> {
  const read = await readUrl(deps, url, false)
  const { links, images, meta } = read.page
  return { ...toOrigin(url, read), links, images, meta }
}

function toOrigin(url: string, { page, finalUrl, fetchedAt }: FetchedPage) {
  const { lang, canonical, siteName, publishedAt } = page
  return { url, finalUrl, lang, canonical, siteName, publishedAt, fetchedAt }
}

/** A page that cannot be had: a 500 to the caller (Interface 4.14), and for the log no failure of ours. */
export class PageError extends AppError {
  constructor(message: string, options?: ErrorOptions) {
    super('internal', message, {}, options)
  }
}

export type ReadUrlDeps = { egress: Egress; pages: PageReader; clock: Clock }

/** A page with where it came from and when, ISO 8601. */
type FetchedPage = ReadPage & { finalUrl: string; fetchedAt: string }

/** Interface 4.14, 8. */
const TIMEOUT_MS = 10_000
const HEADERS = {
  'user-agent': 'Stead-WebSummarizer/1.0',
  accept: 'text/html,application/xhtml+xml',
}
const HTML_TYPES = ['text/html', 'application/xhtml+xml']

/**
 * Fetches a page and reads it, all of it within 10 s.
 * @throws PageError for every failure of the page or its server.
 */
async function readUrl(deps: ReadUrlDeps, url: string, wantsMarkdown: boolean): Promise<FetchedPage> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await deps.egress.request(url, {
      headers: HEADERS,
      accepts: HTML_TYPES,
      timeoutMs: TIMEOUT_MS,
      signal,
    })
    requireOk(response, url)
    const bytes = await response.bytes()
    const fetchedAt = deps.clock.now().toISOString()
    const contentType = response.headers.get('content-type') ?? ''
    const read = await deps.pages.read({ bytes, contentType, url: response.url, wantsMarkdown }, signal)
    return { ...read, finalUrl: response.url, fetchedAt }
  } catch (error) {
    throw toFailure(error, url)
  }
}

function requireOk(response: EgressResponse, url: string): void {
  if (response.status >= 200 && response.status < 300) return
  response.cancel()
  throw new PageError(`HTTP ${response.status} fetching ${url}`)
}

/** What the egress client says was written for the caller. */
function toFailure(error: unknown, url: string): PageError {
  if (error instanceof PageError) return error
  return new PageError(error instanceof EgressError ? error.message : `Could not read ${url}`, { cause: error })
}
