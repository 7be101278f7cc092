import { statusOf } from '../../../../http/errors.ts'
import type { DialectTranslator } from '../dialect.ts'
import { toOpenAiError } from '../openai-error.ts'
import { toChatRequest, toOwnRequest } from './request.ts'
import { createResponseStream, fromChatCompletion } from './stream.ts'

/** Translates OpenAI Responses. */
export const responsesTranslator: DialectTranslator = {
  dialect: 'responses',
  toChatRequest,
  toOwnRequest,
  fromChatCompletion,
  createStreamTranslator: createResponseStream,
  toErrorBody: (error) => ({ status: statusOf(error.kind), body: toOpenAiError(error) }),
}
