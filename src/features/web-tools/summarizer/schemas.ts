import { z } from 'zod'

/** As many characters as the egress client reads. */
const MAX_URL_CHARACTERS = 8192

const url = z.string({ error: 'url required' }).min(1, 'url required').max(MAX_URL_CHARACTERS, 'url is too long')

/** `markdown` adds the main content of the page. */
export const SummarizeRequest = z.object({ url, format: z.enum(['plain', 'markdown']).default('plain') })
export const ExtractRequest = z.object({ url })

/** What every answer says of the page; `url` is the one of the request, `finalUrl` where redirects led. */
const Origin = z.object({
  url: z.string(),
  finalUrl: z.string(),
  lang: z.string().nullable(),
  canonical: z.string().nullable(),
  siteName: z.string().nullable(),
  publishedAt: z.iso.datetime().nullable(),
  fetchedAt: z.iso.datetime(),
})

/** Interface 4.14; `markdown` stands only in an answer to a request for it, null when the page has no main content. */
export const Summary = Origin.extend({
  title: z.string(),
  description: z.string(),
  headings: z.array(z.string()),
  paragraphs: z.array(z.string()),
  wordCount: z.number().int(),
  markdown: z.string().nullable().optional(),
})
export type Summary = z.infer<typeof Summary>

/** Interface 4.14. */
export const Extract = Origin.extend({
  links: z.array(z.object({ href: z.string(), text: z.string() })),
  images: z.array(z.object({ src: z.string(), alt: z.string() })),
  meta: z.record(z.string(), z.string()),
})
export type Extract = z.infer<typeof Extract>
