import { type APIMessage, type GatewayMessageCreateDispatchData, MessageType } from 'discord-api-types/v10'
import type { Incoming } from '../channel.ts'

/** A message of the gateway as every channel has it; null for one that no person wrote. */
export function toIncoming(
  message: GatewayMessageCreateDispatchData,
  ownId: string,
): { message: Incoming; isAddressed: boolean } | null {
  const { id, author, channel_id: chatId, guild_id: serverId, attachments } = message
  const isWritten = message.type === MessageType.Default || message.type === MessageType.Reply
  if (author.bot || message.webhook_id !== undefined || !isWritten) return null
  return {
    message: {
      id: `discord-${id}`,
      messageId: id,
      // A thread is a chat with an id of its own.
      place: { chatId, threadId: null, isDirect: serverId === undefined },
      person: { id: author.id, name: `${author.global_name ?? author.username} (@${author.username})` },
      text: toReadableText(message, ownId),
      files: attachments.map(({ url, filename }) => ({ id: url, name: filename })),
    },
    // A reply mentions whom it answers, unless its writer has switched that off.
    isAddressed: message.mentions.some((user) => user.id === ownId),
  }
}

/** Without the mention that it begins with, and with names where others are mentioned. */
function toReadableText({ content, mentions }: APIMessage, ownId: string): string {
  const begun = content.trimStart()
  const own = [`<@${ownId}>`, `<@!${ownId}>`].find((mention) => begun.startsWith(mention))
  const named = begun.slice(own?.length ?? 0)
  const nameOf = (id: string) => mentions.find((user) => user.id === id)?.username
  return named.replace(/<@!?(\d+)>/g, (mention, id: string) => (nameOf(id) ? `@${nameOf(id)}` : mention)).trim()
}
