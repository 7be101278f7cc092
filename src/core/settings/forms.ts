import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { EGRESS_POLICIES, type EgressPolicyName, parseDestination } from '../agents/egress-policy.ts'
import { hasVersion, ImageReference } from '../text/names.ts'
import { trimTrailing } from '../text/trim.ts'

/** Parsers of setting values; `form` is the format in `configuration.md`. */
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
/** Bounded to a hundred years. */
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
/** Labels of letters, digits and dashes; schemes, ports and paths are rejected as mistakes. */
export const HOST_NAME =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
export const hostName = z
  .string()
  .toLowerCase()
  .regex(HOST_NAME, 'must be a host name, without scheme, port or path')
  .meta({ form: 'host name' })
/** Compared exactly with the claim in tokens (OpenID Connect Core, 2), so not trimmed. */
export const issuer = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).meta({ form: 'URL' })
export const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex digits')
  .meta({ form: 'address' })
export const cidrs = list
  .refine((parts) => parts.every((part) => isCidr(part)), 'must be a comma-separated list of CIDR ranges')
  .meta({ form: 'CIDR ranges, comma-separated' })
export const destinations = list
  .refine(
    (parts) => parts.every((part) => parseDestination(part) !== null),
    'must be a comma-separated list of host, host:port or host:*',
  )
  .meta({ form: 'comma-separated' })
const isPolicy = (text: string): text is EgressPolicyName => EGRESS_POLICIES.some((name) => name === text)
export const egressByTemplate = z
  .string()
  .default('')
  .transform((text, context) => {
    const pairs = toParts(text).map((part) => {
      const [template = '', policy = ''] = part.split('=').map((word) => word.trim())
      if (template !== '' && isPolicy(policy)) return [template, policy] as const
      context.addIssue({
        code: 'custom',
        message: `must be a list of template=policy with ${EGRESS_POLICIES.join(', ')}`,
      })
      return z.NEVER
    })
    return new Map(pairs)
  })
  .meta({ form: '`template=policy`, comma-separated' })
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

/** Returns whether `text` is a CIDR range or an address. Short forms such as `10` are rejected as mistakes. */
function isCidr(text: string): boolean {
  const [address = ''] = text.split('/')
  const isWhole = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isWhole && (address === text || ipaddr.isValidCIDR(text))
}
