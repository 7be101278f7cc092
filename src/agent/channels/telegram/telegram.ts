import { autoRetry } from '@grammyjs/auto-retry'
import { Api, GrammyError, HttpError } from 'grammy'
import type { CallbackQuery } from 'grammy/types'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import { type ChannelConnection, createStateKeeper, keepListening, type Press, type Receive } from '../channel.ts'
import { createTelegramService, type TelegramServiceSettings, toTelegramIncoming } from './service.ts'

/** Long-polling timeout of an update request. */
const POLL_SECONDS = 30
const REQUEST_TIMEOUT_SECONDS = 60
const GOODBYE_MS = 2000
const MAX_RETRIES = 3
const MAX_NOTE_CHARS = 200
const MAX_RETRY_AFTER_SECONDS = 600

/** `retryMs` is the pause before reconnecting. */
export type TelegramBotSettings = TelegramServiceSettings & { retryMs: number }

/** Connects one bot with long polling. Loads grammY, so import this module only for a configured bot. */
export function createTelegramConnection(
  settings: TelegramBotSettings,
  deps: { clock: Clock; fetch: typeof fetch },
): ChannelConnection {
  const api = new Api(settings.token, { apiRoot: settings.apiUrl, timeoutSeconds: REQUEST_TIMEOUT_SECONDS })
  const retryAfterLimit = autoRetry({
    maxRetryAttempts: MAX_RETRIES,
    maxDelaySeconds: MAX_RETRY_AFTER_SECONDS,
    rethrowHttpErrors: true,
  })
  // The polling loop reports and retries failures of its own calls.
  api.config.use((previous, method, payload, signal) =>
    method === 'getUpdates' || method === 'getMe' || method === 'deleteWebhook'
      ? previous(method, payload, signal)
      : retryAfterLimit(previous, method, payload, signal),
  )
  const state = createStateKeeper(deps.clock)
  let offset = 0

  const poll = async (receive: Receive, signal: AbortSignal, press: Press) => {
    const me = await api.getMe(toApiSignal(signal))
    await api.deleteWebhook({}, toApiSignal(signal))
    while (!signal.aborted) {
      // The first request does not wait, so that a conflict with another program shows at once.
      const timeout = state.read().connected ? POLL_SECONDS : 0
      const updates = await api.getUpdates(
        { offset, timeout, allowed_updates: ['message', 'callback_query'] },
        toApiSignal(signal),
      )
      state.setConnected(`@${me.username}`)
      for (const update of updates) {
        const incoming = update.message && toTelegramIncoming(update.message, me)
        if (incoming) await receive(incoming.message, incoming.isAddressed)
        if (update.callback_query) answerPress(api, update.callback_query, press)
        offset = update.update_id + 1
      }
    }
  }
  /** Confirms the last update, so that Telegram does not deliver it again. */
  const sayGoodbye = async () => {
    if (offset === 0) return
    await api
      .getUpdates({ offset, limit: 1, timeout: 0 }, toApiSignal(AbortSignal.timeout(GOODBYE_MS)))
      .catch(() => undefined)
  }

  return {
    state: state.read,
    service: createTelegramService(settings, api, deps.fetch),
    async run(receive, signal, press) {
      const wasStopped = await keepListening(signal, {
        listen: () => poll(receive, signal, press),
        state,
        describe,
        isRefused: isRefusedToken,
        toWaitMs: (error) => toWaitMs(error, settings.retryMs),
      })
      if (wasStopped) await sayGoodbye()
    },
  }
}

/** Runs in the background; the person can press again after a failure. */
function answerPress(api: Api, { id, from, data, message }: CallbackQuery, press: Press): void {
  if (data === undefined || !message || !('text' in message)) return
  const place = { chatId: String(message.chat.id), threadId: null, isDirect: message.chat.type === 'private' }
  const pressed = { personId: String(from.id), value: data, place, messageId: String(message.message_id) }
  press({ ...pressed, text: message.text ?? '' })
    .then((sentence) => api.answerCallbackQuery(id, { text: sentence.slice(0, MAX_NOTE_CHARS) }))
    .catch(() => undefined)
}

/** The library names the type of a package that the runtime replaces by its own. */
function toApiSignal(signal: AbortSignal): NonNullable<Parameters<Api['getMe']>[0]> {
  return signal as unknown as NonNullable<Parameters<Api['getMe']>[0]>
}

function describe(error: unknown): string {
  if (error instanceof HttpError) return 'Telegram cannot be reached; trying again'
  if (!(error instanceof GrammyError)) return errorMessage(error)
  if (isRefusedToken(error))
    return `Telegram refuses the token (${error.error_code} ${error.description}): set another one`
  if (error.error_code === 409) {
    return 'Another program reads the messages of this bot, and Telegram allows only one (409 Conflict); trying again'
  }
  return `Telegram answered ${error.error_code} ${error.description}; trying again`
}

/** Telegram answers 404 for a malformed token and 401 for a revoked one. */
function isRefusedToken(error: unknown): boolean {
  return error instanceof GrammyError && (error.error_code === 401 || error.error_code === 404)
}

function toWaitMs(error: unknown, retryMs: number): number {
  const seconds = error instanceof GrammyError ? error.parameters.retry_after : undefined
  return seconds === undefined ? retryMs : seconds * 1000
}
