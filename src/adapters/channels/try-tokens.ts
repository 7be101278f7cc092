import { z } from 'zod'
import { AppError } from '../../core/errors.ts'

/** Where the services are asked, without a slash at the end. */
export type ChannelUrls = { telegram: string; discord: string }

/** Tokens that somebody wants to save; null takes one away. */
export type ChannelTokens = { telegramToken?: string | null | undefined; discordBotToken?: string | null | undefined }

/**
 * Asks each service whose bot a token is.
 * @throws AppError `invalid` with the service's reason for a token that it refuses, `upstream_failed` when it answers something
 * else, `unavailable` when it cannot be reached.
 */
export type TryTokens = (tokens: ChannelTokens) => Promise<void>

const TIMEOUT_MS = 10_000
const MAX_REASON_CHARS = 200
const Reason = z.union([
  z.object({ description: z.string() }).transform(({ description }) => description),
  z.object({ message: z.string() }).transform(({ message }) => message),
])
/** What a service says of a token that is none: it is refused, or is not even of the form. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404])

export function createTokenTrial(urls: ChannelUrls, plainFetch: typeof fetch): TryTokens {
  return async ({ telegramToken, discordBotToken }) => {
    if (telegramToken) {
      const url = `${urls.telegram}/bot${encodeURIComponent(telegramToken).replaceAll('%3A', ':')}/getMe`
      await tryToken(plainFetch, 'Telegram', url, {})
    }
    if (discordBotToken) {
      const url = `${urls.discord}/api/v10/users/@me`
      await tryToken(plainFetch, 'Discord', url, { authorization: `Bot ${discordBotToken}` })
    }
  }
}

/** The address may hold the token, so nothing of what the network says of it is told. */
async function tryToken(
  plainFetch: typeof fetch,
  service: string,
  url: string,
  headers: Record<string, string>,
): Promise<void> {
  const response = await plainFetch(url, {
    headers,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => null)
  if (!response) throw new AppError('unavailable', `${service} cannot be reached now, so the token was not saved`)
  const text = await response.text().catch(() => '')
  if (response.ok) return
  const reason = toReason(text) ?? `status ${response.status}`
  if (REFUSALS.has(response.status)) throw new AppError('invalid', `${service} refuses this token: ${reason}`)
  throw new AppError('upstream_failed', `${service} could not try this token: ${reason}`)
}

function toReason(text: string): string | undefined {
  try {
    return Reason.safeParse(JSON.parse(text)).data?.slice(0, MAX_REASON_CHARS)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
