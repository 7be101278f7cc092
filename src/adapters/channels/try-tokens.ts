import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { readText } from '../egress/answers/read-text.ts'

/** Base URLs of the services, without a trailing slash. */
export type ChannelUrls = { telegram: string; discord: string; slack: string }

/** Tokens to be saved; null removes one. */
export type ChannelTokens = {
  telegramToken?: string | null | undefined
  discordBotToken?: string | null | undefined
  slackBotToken?: string | null | undefined
  slackAppToken?: string | null | undefined
}

/**
 * Verifies each token with its service.
 * @throws AppError `invalid` with the service's reason for a rejected token, `upstream_failed` for an unexpected
 * answer, `unavailable` when the service is unreachable.
 */
export type TryTokens = (tokens: ChannelTokens) => Promise<void>

const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 64 * 1024
const MAX_REASON_CHARS = 200
const Reason = z.union([
  z.object({ description: z.string() }).transform(({ description }) => description),
  z.object({ message: z.string() }).transform(({ message }) => message),
])
/** Slack answers 200 and reports errors in the body. */
const SlackAnswer = z.union([
  z.object({ ok: z.literal(true) }),
  z.object({ ok: z.literal(false), error: z.string().transform((reason) => reason.slice(0, MAX_REASON_CHARS)) }),
])
/** Statuses with which services reject a token or a malformed one. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404])

export function createTokenTrial(urls: ChannelUrls, plainFetch: typeof fetch): TryTokens {
  return async ({ telegramToken, discordBotToken, slackBotToken, slackAppToken }) => {
    if (telegramToken) {
      const url = `${urls.telegram}/bot${encodeURIComponent(telegramToken).replaceAll('%3A', ':')}/getMe`
      await tryToken(plainFetch, 'Telegram', url, {})
    }
    if (discordBotToken) {
      const url = `${urls.discord}/api/v10/users/@me`
      await tryToken(plainFetch, 'Discord', url, { authorization: `Bot ${discordBotToken}` })
    }
    // Slack app tokens only open connections; bot tokens do everything else.
    if (slackBotToken) await trySlackToken(plainFetch, `${urls.slack}/api/auth.test`, slackBotToken)
    if (slackAppToken) await trySlackToken(plainFetch, `${urls.slack}/api/apps.connections.open`, slackAppToken)
  }
}

async function trySlackToken(plainFetch: typeof fetch, url: string, token: string): Promise<void> {
  const text = await tryToken(plainFetch, 'Slack', url, { authorization: `Bearer ${token}` }, 'POST')
  const answer = SlackAnswer.safeParse(parseJson(text)).data
  if (!answer)
    throw new AppError('upstream_failed', 'Slack could not try this token: its answer is none of the Web API')
  if (!answer.ok) throw new AppError('invalid', `Slack refuses this token: ${answer.error}`)
}

/** Returns the body. Network errors are hidden because the URL may contain the token. */
async function tryToken(
  plainFetch: typeof fetch,
  service: string,
  url: string,
  headers: Record<string, string>,
  method: 'GET' | 'POST' = 'GET',
): Promise<string> {
  const response = await plainFetch(url, {
    method,
    headers,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => null)
  if (!response) throw new AppError('unavailable', `${service} cannot be reached now, so the token was not saved`)
  const text = await readText(response, MAX_ANSWER_BYTES).catch(() => '')
  if (response.ok) return text
  const reason = toReason(text) ?? `status ${response.status}`
  if (REFUSALS.has(response.status)) throw new AppError('invalid', `${service} refuses this token: ${reason}`)
  throw new AppError('upstream_failed', `${service} could not try this token: ${reason}`)
}

function toReason(text: string): string | undefined {
  return Reason.safeParse(parseJson(text)).data?.slice(0, MAX_REASON_CHARS)
}

/** Returns undefined for invalid JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
