import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import type { Outbox } from '../channels/channel.ts'
import { defineTool } from './define.ts'

const Input = z.object({
  action: z.enum(['list', 'send']),
  to: z
    .string()
    .optional()
    .describe('send: as "list" names it, or <channel>:<id of a person>, such as telegram:123456789'),
  text: z.string().min(1).max(20_000).optional().describe('send: what to say'),
})

/** Messages by Telegram, Discord or Slack. Somebody to whom the agent does not talk yet takes the owner's approval. */
export function createMessageTool(outbox: Outbox) {
  const isKnown = (to: string | undefined) => outbox.listRecipients().some((one) => one.to === to)
  return {
    send_message: defineTool({
      description:
        'Writes to people by your channels (Telegram, Discord, Slack): "list" shows whom you know, "send" sends a message. Answers in the chat you are in need no tool. Somebody new waits for your owner.',
      inputSchema: Input,
      check: async ({ action, to }) => {
        if (action === 'send' && to) await outbox.requireRecipient(to)
      },
      needsOwner: ({ action, to }) => action === 'send' && !isKnown(to),
      execute: async ({ action, to, text }) => {
        if (action === 'list') return { recipients: outbox.listRecipients() }
        if (!to || !text) throw new AppError('invalid', 'send takes to and text')
        await outbox.send(to, text)
        return { sent: true }
      },
    }),
  }
}
