import type { Egress, EgressResponse } from '../../../adapters/egress/egress.ts'
import { EgressError } from '../../../adapters/egress/error.ts'
import type { ReadPage } from '../../../adapters/pages/parser.ts'
import type { PageReader } from '../../../adapters/pages/reader.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Extract, Summary } from './schemas.ts'

/** Returns the text and metadata of a page. @throws PageError when the page cannot be fetched or read. */
export async function summarize(
  deps: ReadUrlDeps,
  { url, format }: { url: string; format: 'plain' | 'markdown' },
): Promise<Summary> {
  const read = await readUrl(deps, url, format === 'markdown')
  const { title, description, headings, paragraphs, wordCount } = read.page
  const markdown = format === 'markdown' ? { markdown: read.markdown } : {}
  return { ...toOrigin(url, read), title, description, headings, paragraphs, wordCount, ...markdown }
}

/** Returns the links of a page. @throws PageError when the page cannot be fetched or read. */
export async function extract(deps: ReadUrlDeps, url: string): Promise<Extract> {
  const read = await readUrl(deps, url, false)
  const { links, images, meta } = read.page
  return { ...toOrigin(url, read), links, images, meta }
}

function toOrigin(url: string, { page, finalUrl, fetchedAt }: FetchedPage) {
  const { lang, canonical, siteName, publishedAt } = page
  return { url, finalUrl, lang, canonical, siteName, publishedAt, fetchedAt }
}

/**
 * Reports a page that cannot be read: the caller gets a 500, the log does not count it as a failure of the platform.
 */
export class PageError extends AppError {
  constructor(message: string, options?: ErrorOptions) {
    super('internal', message, {}, options)
  }
}

export type ReadUrlDeps = { egress: Egress; pages: PageReader; clock: Clock }

/** A page with its final URL and fetch time (ISO 8601). */
type FetchedPage = ReadPage & { finalUrl: string; fetchedAt: string }

/** Covers fetching and reading. */
const TIMEOUT_MS = 10_000
const HEADERS = {
  'user-agent': 'Stead-WebSummarizer/1.0',
  accept: 'text/html,application/xhtml+xml',
}
const HTML_TYPES = ['text/html', 'application/xhtml+xml']

/** Fetches and reads a page within 10 s. @throws PageError for every failure of the page or its server. */
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

/** Returns whether an egress policy refused the page or a redirect. */
function isBlocked(error: unknown): error is AppError {
  return error instanceof AppError && error.extra.code === 'EGRESS_BLOCKED'
}

/** Messages of the egress client are safe to show to the caller. */
function toFailure(error: unknown, url: string): AppError {
  if (error instanceof PageError || isBlocked(error)) return error
  return new PageError(error instanceof EgressError ? error.message : `Could not read ${url}`, { cause: error })
}
