import { z } from 'zod'

/** The URL limit of the egress client, in characters. */
const MAX_URL_CHARACTERS = 8192

const url = z.string({ error: 'url required' }).min(1, 'url required').max(MAX_URL_CHARACTERS, 'url is too long')

/** Request of `summarize`; `markdown` adds the main content of the page. */
export const SummarizeRequest = z.object({ url, format: z.enum(['plain', 'markdown']).default('plain') })
export const ExtractRequest = z.object({ url })

/** Fields of every response; `url` is the requested URL, `finalUrl` the one after redirects. */
const Origin = z.object({
  url: z.string(),
  finalUrl: z.string(),
  lang: z.string().nullable(),
  canonical: z.string().nullable(),
  siteName: z.string().nullable(),
  publishedAt: z.iso.datetime().nullable(),
  fetchedAt: z.iso.datetime(),
})

/** Response of `summarize`. `markdown` is present only when requested, and null when the page has no main content. */
export const Summary = Origin.extend({
  title: z.string(),
  description: z.string(),
  headings: z.array(z.string()),
  paragraphs: z.array(z.string()),
  wordCount: z.number().int(),
  markdown: z.string().nullable().optional(),
})
export type Summary = z.infer<typeof Summary>

/** Response of `extract`. */
export const Extract = Origin.extend({
  links: z.array(z.object({ href: z.string(), text: z.string() })),
  images: z.array(z.object({ src: z.string(), alt: z.string() })),
  meta: z.record(z.string(), z.string()),
})
export type Extract = z.infer<typeof Extract>
