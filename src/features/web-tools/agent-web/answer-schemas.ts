import { z } from 'zod'

/** `POST /v1/pages`. */
export const PagesAnswer = z.object({
  title: z.string(),
  url: z.string(),
  publishedAt: z.string().nullable(),
  markdown: z.string(),
})

/** `POST /v1/search`. */
export const SearchAnswer = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), snippet: z.string() })),
})

/** `POST /v1/http`. */
export const HttpAnswer = z.object({ status: z.number(), headers: z.record(z.string(), z.string()), body: z.string() })
