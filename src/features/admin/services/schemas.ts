import { z } from 'zod'
import { trimTrailing } from '../../../core/text/trim.ts'

/** `environment`: the settings of the operator say it, and the dashboard cannot change it; null: nobody has said. */
const Source = z.enum(['environment', 'dashboard']).nullable()

/**
 * A provider of models. Those with an address of their own have `baseUrl`, `label` (null without one) and `hasKey` as well;
 * `unpriced` counts their models whose price is unknown and is absent when there are none.
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

/** The services that the platform uses, without their credentials. `ollama` is one that runs here and is not used yet. */
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
 * `PUT /api/admin/services/providers/:id`: the key of a provider that Stead knows, or the address of one in OpenAI's form. A
 * key that is left out stays as it is at the same address; an empty one is removed.
 */
export const ProviderRequest = z
  .object({
    baseUrl: BaseUrl.optional(),
    apiKey: z.union([ApiKey, z.literal('')], BAD_KEY).optional(),
    label: z.string(BAD_LABEL).trim().max(60, BAD_LABEL).optional(),
  })
  .meta({ examples: [{ apiKey: 'sk-or-v1-0123456789abcdef' }, { baseUrl: 'http://10.0.0.5:8000/v1', label: 'Lab' }] })
export type ProviderRequest = z.infer<typeof ProviderRequest>

/** The key of a provider that Stead knows. */
export const ProviderKeyRequest = z.object({ apiKey: ApiKey })

/** The form of a custom provider. */
export const CustomProviderRequest = z.object({
  id: z
    .string()
    .trim()
    .regex(/^[a-z][a-z0-9-]{0,39}$/, 'Name must be lower-case letters, digits and dashes'),
  baseUrl: BaseUrl,
  apiKey: z.union([ApiKey, z.literal('')], BAD_KEY).optional(),
  label: ProviderRequest.shape.label,
})

/** `POST /api/admin/services/providers/:id/test`: the models that the provider lists, the first of them by name. */
export const ProviderTest = z.object({ baseUrl: z.string(), count: z.number(), models: z.array(z.string()) })
export type ProviderTest = z.infer<typeof ProviderTest>

const BAD_URL = 'smtpUrl must be an smtp or smtps URL, without ? or #'
const BAD_FROM = 'from must be an address, or a name with one in angle brackets'
/** `PUT /api/admin/services/mail`. */
export const MailRequest = z
  .object({
    // What stands behind a ? is an option of the mail library, which can start programs of this machine instead.
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
