import { z } from 'zod'
import { JsonObjectText } from '../../../core/json/json-object.ts'
import { webUrl } from '../../../core/text/web-url.ts'

/** As many as the egress client reads. */
const MAX_URL_CHARACTERS = 8192

/** `POST /v1/pages`: one page as Markdown. */
export const PageRequest = z.object({
  url: z.string('url is required').min(1, 'url is required').max(MAX_URL_CHARACTERS, 'url is too long'),
})

/** `POST /v1/search`. */
export const SearchRequest = z.object({
  query: z.string('query is required').trim().min(1, 'query is required').max(400, 'query has at most 400 characters'),
})

/**
 * `POST /v1/http`: `arguments` is JSON text (schema `HttpArguments`), so that what an owner has approved is what is sent.
 */
export const HttpRequest = z
  .object({
    arguments: JsonObjectText,
    approvalId: z.string().max(100).nullish(),
  })
  .meta({ examples: [{ arguments: '{"url":"https://api.example.com/weather","method":"GET"}' }] })

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
/** A field that is not sent would be shown to the owner all the same, such as a second address. */
export const HttpArguments = z.strictObject({
  url: webUrl('url must be an http or https URL', { max: MAX_URL_CHARACTERS }),
  method: z.enum(METHODS, `method must be ${METHODS.join(', ')}`).default('GET'),
  headers: z.record(z.string().regex(/^[a-z0-9-]{1,64}$/i), z.string().max(4096)).default({}),
  body: z.string().max(50_000).optional(),
})
export type HttpArguments = z.infer<typeof HttpArguments>

/** `POST /v1/pages`. */
export const PageText = z.object({
  title: z.string(),
  url: z.string(),
  publishedAt: z.string().nullable(),
  markdown: z.string(),
})

/** `POST /v1/search`. */
export const FoundPages = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), snippet: z.string() })),
})
