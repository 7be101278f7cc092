import { z } from 'zod'
import { CompletionRequest } from '../schemas.ts'

const Role = z.looseObject({ role: z.string('messages: role must be text') })
const MAX_TOKENS = 'max_tokens: Input should be a positive integer'

const Conversation = z.looseObject({
  model: z.string('model: Field required').min(1, 'model: Field required').max(200, 'model is too long'),
  messages: z.array(Role, 'messages: Field required').min(1, 'messages: at least one message is required'),
  ...CompletionRequest.pick({ fallbacks: true, models: true, taskType: true }).shape,
})

/** `POST /v1/messages/count_tokens` in Anthropic's form. */
export const CountTokensRequest = Conversation.meta({
  examples: [{ model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: 'Say hello' }] }],
})
export type CountTokensRequest = z.infer<typeof CountTokensRequest>

/** `POST /v1/messages` in Anthropic's form. Unknown fields are forwarded to providers that serve it. */
export const MessagesRequest = Conversation.extend({
  max_tokens: z.number('max_tokens: Field required').int(MAX_TOKENS).positive(MAX_TOKENS),
  stream: z.boolean('stream: Input should be a valid boolean').nullish(),
}).meta({
  examples: [{ model: 'claude-sonnet-4-5', max_tokens: 1024, messages: [{ role: 'user', content: 'Say hello' }] }],
})
export type MessagesRequest = z.infer<typeof MessagesRequest>

/** `POST /v1/messages/count_tokens`. */
export const CountedTokens = z.object({ input_tokens: z.number() })
