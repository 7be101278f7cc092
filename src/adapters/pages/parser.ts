import { z } from 'zod'
import type { ChannelFunctions } from '../files/channel.ts'
import { decodePage } from './charset.ts'
import { toMarkdown } from './markdown.ts'
import { type Page, readPage } from './read.ts'
import { trimPage } from './trim.ts'
import { parsePage } from './walk.ts'

/** A page as it was fetched: `bytes` in base64, `url` is where it came from. */
const Source = z.object({ bytes: z.string(), contentType: z.string(), url: z.string(), wantsMarkdown: z.boolean() })

/** `markdown` is null where it was not asked for, where there is no main content, or where the page is too big to find it. */
export type ReadPage = { page: Page; markdown: string | null }

/** Finding the main content takes much longer than reading the rest. */
const MAX_MARKS_FOR_MARKDOWN = 20_000
const MAX_LENGTH_FOR_MARKDOWN = 1_500_000

export function openParser(): ChannelFunctions {
  return { read: async (source) => read(Source.parse(source)) }
}

function read({ bytes, contentType, url, wantsMarkdown }: z.infer<typeof Source>): ReadPage {
  const { html, marks } = trimPage(decodePage(Buffer.from(bytes, 'base64'), contentType))
  const page = readPage(html, url)
  const isSmall = marks <= MAX_MARKS_FOR_MARKDOWN && html.length <= MAX_LENGTH_FOR_MARKDOWN
  return { page, markdown: wantsMarkdown && isSmall ? toMarkdown(parsePage(html), url) : null }
}
