import { decodePage } from './charset.ts'
import { toMarkdown } from './markdown.ts'
import { type Page, readPage } from './read.ts'
import { trimPage } from './trim.ts'
import { parsePage } from './walk.ts'

/** A page as it was fetched. `url` is where it came from. */
export type PageSource = { bytes: Uint8Array<ArrayBuffer>; contentType: string; url: string; wantsMarkdown: boolean }

/** `markdown` is null where it was not asked for, where there is no main content, or where the page is too big to find it. */
export type PageResult = { page: Page; markdown: string | null } | { error: string }

/** Finding the main content takes much longer than reading the rest. */
const MAX_MARKS_FOR_MARKDOWN = 20_000
const MAX_LENGTH_FOR_MARKDOWN = 1_500_000
const BIG_BYTES = 400_000

declare const self: Worker

// One page at a time, off the main thread: a page that takes too long is ended together with this worker.
self.onmessage = ({ data }: MessageEvent<PageSource>) => {
  const isBig = data.bytes.length > BIG_BYTES
  self.postMessage(read(data))
  // Left to itself, the collector lets several such pages pile up.
  if (isBig) Bun.gc(true)
}

function read({ bytes, contentType, url, wantsMarkdown }: PageSource): PageResult {
  try {
    const { html, marks } = trimPage(decodePage(bytes, contentType))
    const page = readPage(html, url)
    const isSmall = marks <= MAX_MARKS_FOR_MARKDOWN && html.length <= MAX_LENGTH_FOR_MARKDOWN
    return { page, markdown: wantsMarkdown && isSmall ? toMarkdown(parsePage(html), url) : null }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}
