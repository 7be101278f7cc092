import { z } from 'zod'

/** `loop`: the same tool call repeated; `cost`, `steps`: the owner's limit for a turn was reached. */
export const END_REASONS = ['loop', 'cost', 'steps'] as const

/** Why a turn was ended before the model answered; `tool` is the repeated one. */
export const EarlyEnd = z.object({ reason: z.enum(END_REASONS), tool: z.string().max(200).nullable() })
export type EarlyEnd = z.infer<typeof EarlyEnd>
