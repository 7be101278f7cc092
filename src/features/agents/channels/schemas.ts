import { z } from 'zod'

/** Somebody who may write to an agent; one whom its settings name is let in as long as they do. */
export const ChannelPerson = z.object({
  id: z.string(),
  name: z.string().nullable(),
  since: z.string().nullable(),
  isConfigured: z.boolean(),
})
export type ChannelPerson = z.infer<typeof ChannelPerson>

/** A stranger who was told this code and waits for the owner. */
export const ChannelPairing = z.object({ code: z.string(), id: z.string(), name: z.string(), expiresAt: z.string() })
export type ChannelPairing = z.infer<typeof ChannelPairing>

/** A messenger that an agent listens to, or `mail`, which the platform keeps for it. `account` is the agent's name there; an error stays to be seen after it has passed. */
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

/** `untold` says why nothing can be told: the agent does not run, or it is OpenClaw, which keeps its channels itself. */
export const ChannelList = z.object({
  channels: z.array(AgentChannel),
  untold: z.enum(['not_running', 'openclaw']).nullable(),
})
export type ChannelList = z.infer<typeof ChannelList>

/** `GET` and `PUT /api/agents/:id/channels/mail`. `missing` names what the operator has to set before it can be switched on. */
export const MailChannel = z.object({ isOn: z.boolean(), address: z.string().nullable(), missing: z.array(z.string()) })
export type MailChannel = z.infer<typeof MailChannel>
export const MailChannelRequest = z.object({ isOn: z.boolean('isOn must be true or false') })

export const PairingDecision = z.object({ approve: z.boolean('approve must be true or false') })
export const ChannelChanged = z.object({ success: z.literal(true) })
