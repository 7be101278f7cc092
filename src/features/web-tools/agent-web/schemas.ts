import { z } from 'zod'
import { JsonObjectText } from '../../../core/json/bounded-json.ts'
import { webUrl } from '../../../core/text/names.ts'

/** The URL limit of the egress client. */
const MAX_URL_CHARACTERS = 8192

/** Request of `POST /v1/pages`, which returns one page as Markdown. */
export const PageRequest = z.object({
  url: z.string('url is required').min(1, 'url is required').max(MAX_URL_CHARACTERS, 'url is too long'),
})

/** Request of `POST /v1/search`. */
export const SearchRequest = z.object({
  query: z.string('query is required').trim().min(1, 'query is required').max(400, 'query has at most 400 characters'),
})

/**
 * Request of `POST /v1/http`. `arguments` is JSON text (schema `HttpArguments`), so the bytes sent are the bytes the
 * owner approved.
 */
export const HttpRequest = z
  .object({
    arguments: JsonObjectText,
    approvalId: z.string().max(100).nullish(),
  })
  .meta({ examples: [{ arguments: '{"url":"https://api.example.com/weather","method":"GET"}' }] })

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
/** Rejects unknown fields: the approval would show them to the owner although they are never sent. */
export const HttpArguments = z.strictObject({
  url: webUrl('url must be an http or https URL', { max: MAX_URL_CHARACTERS }),
  method: z.enum(METHODS, `method must be ${METHODS.join(', ')}`).default('GET'),
  headers: z.record(z.string().regex(/^[a-z0-9-]{1,64}$/i), z.string().max(4096)).default({}),
  body: z.string().max(50_000).optional(),
})
export type HttpArguments = z.infer<typeof HttpArguments>

/** Response of `POST /v1/pages`. */
export const PageText = z.object({
  title: z.string(),
  url: z.string(),
  publishedAt: z.string().nullable(),
  markdown: z.string(),
})

/** Response of `POST /v1/search`. */
export const FoundPages = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), snippet: z.string() })),
})
