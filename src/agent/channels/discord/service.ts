import { DiscordAPIError, type REST } from '@discordjs/rest'
import {
  type AllowedMentionsTypes,
  type APIMessage,
  ButtonStyle,
  ComponentType,
  type GatewayMessageCreateDispatchData,
  MessageFlags,
  MessageType,
  type RESTPatchAPIChannelMessageJSONBody,
  type RESTPostAPIChannelMessageJSONBody,
  type RESTPostAPICurrentUserCreateDMChannelJSONBody,
  Routes,
} from 'discord-api-types/v10'
import { z } from 'zod'
import { randomText } from '../../../core/ids.ts'
import type { Incoming, Service } from '../channel.ts'
import { downloadAttachment } from '../saved-files.ts'

const MAX_CHARS = 2000
const NONCE_CHARS = 24
const MAX_FILE_BYTES = 25 * 1024 * 1024
const UNKNOWN_MESSAGE = 10_008
/** Statuses that a retry does not change: bad request, forbidden, not found. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 403, 404])
/** Prevents mentions in the agent's text from notifying people. */
const NO_MENTIONS = { parse: [] as AllowedMentionsTypes[], replied_user: false }
/** Characters that start Discord's Markdown, mentions and links. */
const MARKS = /[\\`*_~|<>[\]()#@:-]/g
const Created = z.object({ id: z.string() })

export function createDiscordService(settings: { editEveryMs: number }, rest: REST, plainFetch: typeof fetch): Service {
  return {
    maxChars: MAX_CHARS,
    editEveryMs: () => settings.editEveryMs,
    async write({ chatId, isDirect }, text, answerTo) {
      const isQuoting = answerTo !== null && !isDirect
      const body: RESTPostAPIChannelMessageJSONBody = {
        content: text,
        flags: MessageFlags.SuppressEmbeds,
        allowed_mentions: NO_MENTIONS,
        // The library retries after a lost connection; the nonce prevents a duplicate message.
        nonce: randomText(NONCE_CHARS),
        enforce_nonce: true,
        ...(isQuoting && { message_reference: { message_id: answerTo, fail_if_not_exists: false } }),
      }
      return Created.parse(await rest.post(Routes.channelMessages(chatId), { body })).id
    },
    async edit({ chatId }, messageId, text) {
      const body: RESTPatchAPIChannelMessageJSONBody = { content: text, allowed_mentions: NO_MENTIONS, components: [] }
      try {
        await rest.patch(Routes.channelMessage(chatId, messageId), { body })
      } catch (error) {
        if (!(error instanceof DiscordAPIError && error.code === UNKNOWN_MESSAGE)) throw error
      }
    },
    toLiteral: (text) => text.replace(MARKS, String.raw`\$&`),
    async writeChoices({ chatId }, text, choices) {
      const components = choices.map(
        ({ label, value }) =>
          ({ type: ComponentType.Button, style: ButtonStyle.Secondary, label, custom_id: value }) as const,
      )
      const body: RESTPostAPIChannelMessageJSONBody = {
        content: text,
        allowed_mentions: NO_MENTIONS,
        components: [{ type: ComponentType.ActionRow, components }],
      }
      return Created.parse(await rest.post(Routes.channelMessages(chatId), { body })).id
    },
    async findDirect(personId) {
      const body: RESTPostAPICurrentUserCreateDMChannelJSONBody = { recipient_id: personId }
      const { id } = Created.parse(await rest.post(Routes.userChannels(), { body }))
      return { chatId: id, threadId: null, isDirect: true }
    },
    async showTyping({ chatId }) {
      await rest.post(Routes.channelTyping(chatId))
    },
    fetchFile: ({ id: url }) => downloadAttachment({ service: 'Discord', url, maxBytes: MAX_FILE_BYTES }, plainFetch),
    isFinal: (error) => error instanceof DiscordAPIError && FINAL_STATUSES.has(error.status),
  }
}

/** Converts a gateway message; returns null for one that a bot or the system wrote. */
export function toDiscordIncoming(
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
      // Discord threads are channels with their own id.
      place: { chatId, threadId: null, isDirect: serverId === undefined },
      person: { id: author.id, name: `${author.global_name ?? author.username} (@${author.username})` },
      text: toReadableText(message, ownId),
      files: attachments.map(({ url, filename }) => ({ id: url, name: filename })),
    },
    // A reply mentions the author it answers unless its writer disabled that.
    isAddressed: message.mentions.some((user) => user.id === ownId),
  }
}

/** Removes the leading mention of the bot and replaces other mentions by names. */
function toReadableText({ content, mentions }: APIMessage, ownId: string): string {
  const begun = content.trimStart()
  const own = [`<@${ownId}>`, `<@!${ownId}>`].find((mention) => begun.startsWith(mention))
  const named = begun.slice(own?.length ?? 0)
  const nameOf = (id: string) => mentions.find((user) => user.id === id)?.username
  return named.replace(/<@!?(\d+)>/g, (mention, id: string) => (nameOf(id) ? `@${nameOf(id)}` : mention)).trim()
}
