import type { Message, MessageEntity, UserFromGetMe } from 'grammy/types'
import type { Incoming, SentFile } from '../channel.ts'

const OWN_COMMAND = /^\/(start|stop|new)\s*$/i

/** A message of the Bot API as every channel has it; null for one that no person wrote. */
export function toIncoming(message: Message, me: UserFromGetMe): { message: Incoming; isAddressed: boolean } | null {
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

/** In a group the agent answers to its name, to replies to it, and to its commands. */
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
  // Sizes of one photo, the largest last.
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
