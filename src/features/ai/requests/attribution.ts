import { AppError } from '../../../core/errors.ts'

/** The end user and the tags that a request names. */
export type Attribution = { endUser: string | null; tags: readonly string[] | null }

const MAX_TAGS = 10
const MAX_TAG_LENGTH = 64
/** OpenAI allows 16 pairs of metadata. */
const MAX_PAIRS = 16
const MAX_PAIR_LENGTH = 200
const MAX_END_USER_LENGTH = 256

/** Reads the header `x-stead-tags`: tags separated by commas. @throws AppError `invalid` for more than 10 tags or a tag over 64 characters. */
export function parseTags(header: string): readonly string[] {
  const tags = header
    .split(',', MAX_TAGS + 2)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
  if (tags.length > MAX_TAGS || tags.some((tag) => tag.length > MAX_TAG_LENGTH))
    throw new AppError('invalid', `x-stead-tags must be at most ${MAX_TAGS} tags of ${MAX_TAG_LENGTH} characters`)
  return tags
}

type Body = Readonly<Record<string, unknown>>

/**
 * Reads whom a request is for: `user` or `safety_identifier` (OpenAI) or `metadata.user_id` (Anthropic). Further
 * metadata become tags such as `team=a`. Long values are shortened.
 */
export function attributionOf(body: Body, sent: readonly string[] | undefined): Attribution {
  const { user, safety_identifier: identifier, metadata } = body
  const endUser = toEndUser(user) ?? toEndUser(identifier)
  if (typeof metadata !== 'object' || metadata === null) return { endUser, tags: distinct(sent) }
  const { user_id: userId, ...pairs } = metadata as Body
  const tags = Object.entries(pairs)
    .slice(0, MAX_PAIRS)
    .flatMap(([name, value]) => (typeof value === 'string' ? `${name}=${value}`.slice(0, MAX_PAIR_LENGTH) : []))
  return { endUser: endUser ?? toEndUser(userId), tags: distinct([...(sent ?? []), ...tags]) }
}

function toEndUser(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_END_USER_LENGTH) : null
}

function distinct(tags: readonly string[] | undefined): readonly string[] | null {
  return tags === undefined || tags.length === 0 ? null : [...new Set(tags)]
}
