import { z } from 'zod'

/** A person who may write to an agent; `isConfigured` when the agent's settings name them. */
export const ChannelPerson = z.object({
  id: z.string(),
  name: z.string().nullable(),
  since: z.string().nullable(),
  isConfigured: z.boolean(),
})
export type ChannelPerson = z.infer<typeof ChannelPerson>

/** A person who received this code and waits for approval. */
export const ChannelPairing = z.object({ code: z.string(), id: z.string(), name: z.string(), expiresAt: z.string() })
export type ChannelPairing = z.infer<typeof ChannelPairing>

/**
 * A messenger of the agent, or `mail`, which the platform serves. `account` is the agent's own name there;
 * `lastError` remains after the channel recovers.
 */
export const AgentChannel = z.object({
  name: z.string(),
  connected: z.boolean(),
  since: z.string().nullable(),
  account: z.string().nullable(),
  lastError: z.object({ message: z.string(), at: z.string() }).nullable(),
  people: z.array(ChannelPerson),
  pairings: z.array(ChannelPairing),
})
export type AgentChannel = z.infer<typeof AgentChannel>

/** `untold` says why the agent's own channels are unknown: the agent does not run, or it is OpenClaw. */
export const ChannelList = z.object({
  channels: z.array(AgentChannel),
  untold: z.enum(['not_running', 'openclaw']).nullable(),
})
export type ChannelList = z.infer<typeof ChannelList>

/** `GET` and `PUT /api/agents/:id/channels/mail`. `missing` names the settings the operator has to set first. */
export const MailChannel = z.object({ isOn: z.boolean(), address: z.string().nullable(), missing: z.array(z.string()) })
export type MailChannel = z.infer<typeof MailChannel>
export const MailChannelRequest = z.object({ isOn: z.boolean('isOn must be true or false') })

export const PairingDecision = z.object({ approve: z.boolean('approve must be true or false') })
export const ChannelChanged = z.object({ success: z.literal(true) })
