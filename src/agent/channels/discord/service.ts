import { DiscordAPIError, type REST } from '@discordjs/rest'
import {
  type AllowedMentionsTypes,
  ButtonStyle,
  ComponentType,
  MessageFlags,
  type RESTPatchAPIChannelMessageJSONBody,
  type RESTPostAPIChannelMessageJSONBody,
  type RESTPostAPICurrentUserCreateDMChannelJSONBody,
  Routes,
} from 'discord-api-types/v10'
import { z } from 'zod'
import { randomText } from '../../../core/ids.ts'
import type { Service } from '../channel.ts'
import { downloadFile } from '../download.ts'

const MAX_CHARS = 2000
const NONCE_CHARS = 24
const MAX_FILE_BYTES = 25 * 1024 * 1024
/** Of a message that somebody has deleted. */
const UNKNOWN_MESSAGE = 10_008
/** Of requests that will fail again: not understood, forbidden, gone. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 403, 404])
/** The text of an agent calls nobody, whatever names stand in it. */
const NOBODY = { parse: [] as AllowedMentionsTypes[], replied_user: false }
/** What Markdown, mentions and links of Discord begin with. */
const MARKS = /[\\`*_~|<>[\]()#@:-]/g
/** A message, or a chat. */
const Created = z.object({ id: z.string() })

/** What a conversation needs, by Discord's HTTP API. */
export function createDiscordService(settings: { editEveryMs: number }, rest: REST, plainFetch: typeof fetch): Service {
  return {
    maxChars: MAX_CHARS,
    editEveryMs: () => settings.editEveryMs,
    async write({ chatId, isDirect }, text, answerTo) {
      const isQuoting = answerTo !== null && !isDirect
      const body: RESTPostAPIChannelMessageJSONBody = {
        content: text,
        flags: MessageFlags.SuppressEmbeds,
        allowed_mentions: NOBODY,
        // The library asks again after a broken connection: Discord then writes no second message.
        nonce: randomText(NONCE_CHARS),
        enforce_nonce: true,
        ...(isQuoting && { message_reference: { message_id: answerTo, fail_if_not_exists: false } }),
      }
      return Created.parse(await rest.post(Routes.channelMessages(chatId), { body })).id
    },
    async edit({ chatId }, messageId, text) {
      const body: RESTPatchAPIChannelMessageJSONBody = { content: text, allowed_mentions: NOBODY, components: [] }
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
        allowed_mentions: NOBODY,
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
    fetchFile: ({ id: url }) => downloadFile({ service: 'Discord', url, maxBytes: MAX_FILE_BYTES }, plainFetch),
    isFinal: (error) => error instanceof DiscordAPIError && FINAL_STATUSES.has(error.status),
  }
}
