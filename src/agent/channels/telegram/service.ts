import { type Api, GrammyError, HttpError } from 'grammy'
import { AppError } from '../../../core/errors.ts'
import type { Place, Service } from '../channel.ts'
import { downloadFile } from '../download.ts'

/** What the Bot API takes in one message. */
const MAX_CHARS = 4096
/** Twenty messages a minute are what it takes in a group. */
const GROUP_EDIT_EVERY_MS = 3000
/** What it lets bots fetch. */
const MAX_FILE_BYTES = 20 * 1024 * 1024

export type TelegramServiceSettings = { token: string; apiUrl: string; editEveryMs: number }

/** What a conversation needs, by the Bot API. */
export function createTelegramService(settings: TelegramServiceSettings, api: Api, plainFetch: typeof fetch): Service {
  const toThread = ({ threadId }: Place) => (threadId === null ? {} : { message_thread_id: Number(threadId) })
  return {
    maxChars: MAX_CHARS,
    editEveryMs: ({ isDirect }) =>
      isDirect ? settings.editEveryMs : Math.max(settings.editEveryMs, GROUP_EDIT_EVERY_MS),
    async write(place, text, answerTo) {
      // With one person alone it is plain what is answered.
      const isQuoting = answerTo !== null && !place.isDirect
      const sent = await api.sendMessage(place.chatId, text, {
        ...toThread(place),
        link_preview_options: { is_disabled: true },
        ...(isQuoting && { reply_parameters: { message_id: Number(answerTo), allow_sending_without_reply: true } }),
      })
      return String(sent.message_id)
    },
    async edit(place, messageId, text) {
      try {
        await api.editMessageText(place.chatId, Number(messageId), text, {
          link_preview_options: { is_disabled: true },
        })
      } catch (error) {
        // It says that already, or somebody has deleted it.
        if (!isRefusal(error) || !/not modified|to edit not found/.test(error.description)) throw error
      }
    },
    // Text without a parse mode has no marks.
    toLiteral: (text) => text,
    async writeChoices(place, text, choices) {
      const buttons = choices.map(({ label, value }) => ({ text: label, callback_data: value }))
      const sent = await api.sendMessage(place.chatId, text, {
        ...toThread(place),
        reply_markup: { inline_keyboard: [buttons] },
      })
      return String(sent.message_id)
    },
    async findDirect(personId) {
      // Bots may write only to people who have started them; this is how Telegram says so without a message.
      await api.getChat(personId)
      return { chatId: personId, threadId: null, isDirect: true }
    },
    async showTyping(place) {
      await api.sendChatAction(place.chatId, 'typing', toThread(place))
    },
    async fetchFile({ id }) {
      const file = await api.getFile(id).catch((error: unknown) => {
        throw toFileError(error)
      })
      if (!file.file_path) throw new AppError('not_found', 'Telegram no longer has it')
      const url = `${settings.apiUrl}/file/bot${settings.token}/${file.file_path}`
      return downloadFile({ service: 'Telegram', url, maxBytes: MAX_FILE_BYTES }, plainFetch)
    },
    isFinal: (error) => isRefusal(error) && (error.error_code === 400 || error.error_code === 403),
  }
}

function isRefusal(error: unknown): error is GrammyError {
  return error instanceof GrammyError
}

function toFileError(error: unknown): unknown {
  if (isRefusal(error)) {
    const isLarge = /too big/.test(error.description)
    return isLarge
      ? new AppError('too_large', 'Bots may fetch at most 20 MB from Telegram')
      : new AppError('upstream_failed', error.description)
  }
  return error instanceof HttpError ? new AppError('upstream_failed', 'Telegram could not be reached') : error
}
