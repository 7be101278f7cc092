import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { hasVersion, ImageReference } from '../text/image-reference.ts'
import { trimTrailing } from '../text/trim.ts'

/** The forms of settings: each is parsed from the text of a variable, and `form` is how `settings.md` calls it. */
export const port = (value: number) =>
  z.coerce.number().int().min(0).max(65_535).default(value).meta({ form: '0 to 65535' })
export const perMinute = (value: number) => z.coerce.number().int().positive().default(value)
export const flag = (value: boolean) =>
  z
    .stringbool({ truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'] })
    .default(value)
    .meta({ form: '`true`, `false`' })
export const seconds = (value: number) =>
  z.coerce.number().nonnegative().max(86_400).default(value).meta({ form: 'seconds' })
/** A hundred years are as good as for ever. */
export const days = (value: number) =>
  z.coerce.number().int().nonnegative().max(36_500).default(value).meta({ form: 'days' })
export const atLeastOne = (value: number) => z.coerce.number().int().positive().default(value)
const toParts = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
export const list = z.string().default('').transform(toParts).meta({ form: 'comma-separated' })
export const url = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((text) => trimTrailing(text, '/'))
  .meta({ form: 'URL' })
export const origin = url
  .refine((text) => new URL(text).href === `${new URL(text).origin}/`, 'must be an origin, without user, path or query')
  .transform((text) => new URL(text).origin)
  .meta({ form: 'origin' })
/** Labels of letters, digits and dashes; a scheme, a port or a path is more likely a slip. */
export const HOST_NAME =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
export const hostName = z
  .string()
  .toLowerCase()
  .regex(HOST_NAME, 'must be a host name, without scheme, port or path')
  .meta({ form: 'host name' })
/** Compared character by character with what tokens say (OpenID Connect Core, 2): nothing is trimmed. */
export const issuer = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).meta({ form: 'URL' })
export const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex digits')
  .meta({ form: 'address' })
export const cidrs = list
  .refine((parts) => parts.every((part) => isCidr(part)), 'must be a comma-separated list of CIDR ranges')
  .meta({ form: 'CIDR ranges, comma-separated' })
export const repositories = z
  .string()
  .transform(toParts)
  .refine(
    (parts) => parts.every((part) => ImageReference.safeParse(part).success && !hasVersion(part)),
    'must be a comma-separated list of repositories, without tags',
  )
  .meta({ form: 'comma-separated' })

const wholeUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
const badFeeds = 'must be a JSON list of {"id", "url", "preview"?, "source"?} with ids of their own'
export const feeds = z
  .string()
  .default('[]')
  .transform((text, context) => {
    try {
      const parsed: unknown = JSON.parse(text)
      return parsed
    } catch {
      context.addIssue({ code: 'custom', message: badFeeds })
      return z.NEVER
    }
  })
  .pipe(
    z.array(
      z.object({
        id: z.string(badFeeds).regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower-case letters, digits and dashes'),
        url: wholeUrl,
        preview: wholeUrl.optional(),
        source: z.string(badFeeds).min(1).max(100).optional(),
      }),
      badFeeds,
    ),
  )
  .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, badFeeds)
  .meta({ form: 'JSON' })

/** Is `text` a range such as `10.0.0.0/8` or a single address? Short forms such as `10` are more likely a slip. */
function isCidr(text: string): boolean {
  const [address = ''] = text.split('/')
  const isWhole = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isWhole && (address === text || ipaddr.isValidCIDR(text))
}
