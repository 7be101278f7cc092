import { z } from 'zod'

/** `environment`: the settings of the operator say it, and the dashboard cannot change it; null: nobody has said. */
const Source = z.enum(['environment', 'dashboard']).nullable()

/** Services that the house has credentials for; the credentials themselves are told to nobody. */
export const Services = z.object({
  providers: z.array(z.object({ id: z.string(), source: Source, models: z.number() })),
  mail: z.object({ source: Source, server: z.string().nullable(), from: z.string().nullable() }),
})
export type Services = z.infer<typeof Services>

const BAD_KEY = 'apiKey must be text without blanks'
/** `PUT /api/admin/services/providers/:id`. */
export const ProviderKeyRequest = z
  .object({
    apiKey: z
      .string(BAD_KEY)
      .trim()
      .regex(/^\S{8,1000}$/, BAD_KEY),
  })
  .meta({ examples: [{ apiKey: 'sk-or-v1-0123456789abcdef' }] })

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
