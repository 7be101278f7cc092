import type { JsonObject } from '../../../../core/json/json-object.ts'
import { isJsonObject } from '../../../../core/json/json-object.ts'
import type { DialectTranslator } from '../dialect.ts'
import { toMessage, UNSIGNED } from './answer-from-chat.ts'
import { toMessagesErrorBody } from './errors.ts'
import { requestToChat } from './request-to-chat.ts'
import { createMessageStream } from './stream-from-chat.ts'

/** Translates between Anthropic's Messages and Chat Completions. */
export const messagesTranslator: DialectTranslator = {
  dialect: 'messages',
  startsWithUsage: true,
  toChatRequest: requestToChat,
  toOwnRequest: withoutUnsigned,
  fromChatCompletion: toMessage,
  createStreamTranslator: createMessageStream,
  toErrorBody: toMessagesErrorBody,
}

/** Removes the thinking of translated answers from a conversation. */
function withoutUnsigned(request: JsonObject): JsonObject {
  if (!Array.isArray(request.messages)) return request
  let isChanged = false
  const messages = request.messages.flatMap((message: unknown) => {
    if (!isJsonObject(message) || !Array.isArray(message.content)) return [message]
    const content = message.content.filter((block) => !isJsonObject(block) || block.signature !== UNSIGNED)
    if (content.length === message.content.length) return [message]
    isChanged = true
    return content.length === 0 ? [] : [{ ...message, content }]
  })
  return isChanged ? { ...request, messages } : request
}
