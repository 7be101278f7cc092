import { type FetchedPage, type ReadUrlDeps, readUrl } from './read-url.ts'
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
