import { type Api, GrammyError, HttpError } from 'grammy'
import type { Message, MessageEntity, UserFromGetMe } from 'grammy/types'
import { AppError } from '../../../core/errors.ts'
import type { ChatAddress, Incoming, SentFile, Service } from '../channel.ts'
import { downloadAttachment } from '../saved-files.ts'

const MAX_CHARS = 4096
/** Groups allow twenty messages a minute. */
const GROUP_EDIT_EVERY_MS = 3000
const MAX_FILE_BYTES = 20 * 1024 * 1024

export type TelegramServiceSettings = { token: string; apiUrl: string; editEveryMs: number }

export function createTelegramService(settings: TelegramServiceSettings, api: Api, plainFetch: typeof fetch): Service {
  const toThread = ({ threadId }: ChatAddress) => (threadId === null ? {} : { message_thread_id: Number(threadId) })
  return {
    maxChars: MAX_CHARS,
    editEveryMs: ({ isDirect }) =>
      isDirect ? settings.editEveryMs : Math.max(settings.editEveryMs, GROUP_EDIT_EVERY_MS),
    async write(place, text, answerTo) {
      // A direct chat needs no quote.
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
        // The text is unchanged, or the message was deleted.
        if (!isRefusal(error) || !/not modified|to edit not found/.test(error.description)) throw error
      }
    },
    // Text without a parse mode has no markup.
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
      // Bots may write only to people who have started them; `getChat` fails for others without sending a message.
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
      return downloadAttachment({ service: 'Telegram', url, maxBytes: MAX_FILE_BYTES }, plainFetch)
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

const OWN_COMMAND = /^\/(start|stop|new)\s*$/i

/** Converts a Bot API message; null for one that a bot or a channel wrote. */
export function toTelegramIncoming(
  message: Message,
  me: UserFromGetMe,
): { message: Incoming; isAddressed: boolean } | null {
  const { chat, from, message_id: messageId } = message
  if (!from || from.is_bot || chat.type === 'channel') return null
  const threadId = message.is_topic_message && message.message_thread_id ? String(message.message_thread_id) : null
  return {
    message: {
      id: `telegram-${chat.id}-${messageId}`,
      messageId: String(messageId),
      place: { chatId: String(chat.id), threadId, isDirect: chat.type === 'private' },
      person: { id: String(from.id), name: toName(from) },
      text: withoutMention(toText(message), me.username),
      files: listFiles(message),
    },
    isAddressed: isAddressed(message, me),
  }
}

function isAddressed(message: Message, me: UserFromGetMe): boolean {
  const text = toText(message)
  if (message.reply_to_message?.from?.id === me.id || OWN_COMMAND.test(text)) return true
  const name = `@${me.username}`.toLowerCase()
  const isMe = (entity: MessageEntity) => {
    const said = text.slice(entity.offset, entity.offset + entity.length).toLowerCase()
    if (entity.type === 'text_mention') return entity.user.id === me.id
    return entity.type === 'mention' ? said === name : entity.type === 'bot_command' && said.endsWith(name)
  }
  return (message.entities ?? message.caption_entities ?? []).some(isMe)
}

function toText({ text, caption }: Message): string {
  return text ?? caption ?? ''
}

function withoutMention(text: string, username: string): string {
  const name = `@${username}`
  return text.toLowerCase().startsWith(`${name.toLowerCase()} `) ? text.slice(name.length).trim() : text
}

function toName({ first_name, last_name, username }: NonNullable<Message['from']>): string {
  const name = [first_name, last_name].filter(Boolean).join(' ')
  return username ? `${name} (@${username})` : name
}

function listFiles({ photo, document, voice, audio, video, video_note: videoNote }: Message): SentFile[] {
  // The last size is the largest.
  const largest = photo?.at(-1)
  return [
    ...(largest ? [{ id: largest.file_id, name: 'photo.jpg' }] : []),
    ...(document ? [{ id: document.file_id, name: document.file_name ?? 'file' }] : []),
    ...(voice ? [{ id: voice.file_id, name: 'voice.ogg' }] : []),
    ...(audio ? [{ id: audio.file_id, name: audio.file_name ?? 'audio.mp3' }] : []),
    ...(video ? [{ id: video.file_id, name: video.file_name ?? 'video.mp4' }] : []),
    ...(videoNote ? [{ id: videoNote.file_id, name: 'video-note.mp4' }] : []),
  ]
}
