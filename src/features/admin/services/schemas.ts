import { z } from 'zod'
import { trimTrailing } from '../../../core/text/trim.ts'

/** Origin of a value: `environment` values cannot be changed in the dashboard; null means not set. */
const Source = z.enum(['environment', 'dashboard']).nullable()

/**
 * A model provider. Custom providers also have `baseUrl`, `label` (null without one) and `hasKey`; `unpriced` counts
 * their models without a known price and is absent when there are none.
 */
const Provider = z.object({
  id: z.string(),
  source: Source,
  models: z.number(),
  baseUrl: z.string().optional(),
  label: z.string().nullable().optional(),
  hasKey: z.boolean().optional(),
  unpriced: z.number().optional(),
})

/** The configured services, without credentials. `ollama` is an Ollama on this machine that is not configured yet. */
export const Services = z.object({
  providers: z.array(Provider),
  ollama: z.object({ baseUrl: z.string(), models: z.number() }).nullable(),
  mail: z.object({ source: Source, server: z.string().nullable(), from: z.string().nullable() }),
})
export type Services = z.infer<typeof Services>

const BAD_KEY = 'apiKey must be text without blanks'
const ApiKey = z
  .string(BAD_KEY)
  .trim()
  .regex(/^\S{8,1000}$/, BAD_KEY)
const BAD_BASE_URL = 'baseUrl must be an http or https URL, without user, ? or #'
const BaseUrl = z
  .string(BAD_BASE_URL)
  .trim()
  .max(2000, { error: BAD_BASE_URL, abort: true })
  .url({ protocol: /^https?$/, error: BAD_BASE_URL })
  .regex(/^[^?#@]*$/, BAD_BASE_URL)
  .transform((text) => trimTrailing(text, '/'))
const BAD_LABEL = 'label must be text of at most 60 characters'

/**
 * Request of `PUT /api/admin/services/providers/:id`: the key of a built-in provider, or the URL of an
 * OpenAI-compatible one. An omitted key is kept for the same host; an empty one is removed.
 */
export const ProviderRequest = z
  .object({
    baseUrl: BaseUrl.optional(),
    apiKey: z.union([ApiKey, z.literal('')], BAD_KEY).optional(),
    label: z.string(BAD_LABEL).trim().max(60, BAD_LABEL).optional(),
  })
  .meta({ examples: [{ apiKey: 'sk-or-v1-0123456789abcdef' }, { baseUrl: 'http://10.0.0.5:8000/v1', label: 'Lab' }] })
export type ProviderRequest = z.infer<typeof ProviderRequest>

/** The key of a built-in provider. */
export const ProviderKeyRequest = z.object({ apiKey: ApiKey })

/** Settings of a custom provider. */
export const CustomProviderRequest = z.object({
  id: z
    .string()
    .trim()
    .regex(/^[a-z][a-z0-9-]{0,39}$/, 'Name must be lower-case letters, digits and dashes'),
  baseUrl: BaseUrl,
  apiKey: z.union([ApiKey, z.literal('')], BAD_KEY).optional(),
  label: ProviderRequest.shape.label,
})

/** Response of `POST /api/admin/services/providers/:id/test`: the number of models and the first of them by name. */
export const ProviderTest = z.object({ baseUrl: z.string(), count: z.number(), models: z.array(z.string()) })
export type ProviderTest = z.infer<typeof ProviderTest>

const BAD_URL = 'smtpUrl must be an smtp or smtps URL, without ? or #'
const BAD_FROM = 'from must be an address, or a name with one in angle brackets'
/** Request of `PUT /api/admin/services/mail`. */
export const MailRequest = z
  .object({
    // Rejects a query string: its options could make the mail library start local programs.
    smtpUrl: z
      .string(BAD_URL)
      .max(2000, { error: BAD_URL, abort: true })
      .url({ protocol: /^smtps?$/, error: BAD_URL })
      .regex(/^[^?#]*$/, BAD_URL),
    from: z
      .string(BAD_FROM)
      .trim()
      .max(320, BAD_FROM)
      .regex(/^(?:[^<>\r\n]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/, BAD_FROM),
  })
  .meta({ examples: [{ smtpUrl: 'smtps://stead:secret@mail.example.com', from: 'Stead <stead@example.com>' }] })
export type MailRequest = z.infer<typeof MailRequest>
