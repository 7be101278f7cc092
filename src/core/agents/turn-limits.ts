import { z } from 'zod'

/** `loop`: the same call of a tool again and again; `cost`, `steps`: more than the owner allows for one turn. */
export const END_REASONS = ['loop', 'cost', 'steps'] as const

/** Why a turn was ended before the model had answered; `tool` is the one that was called again and again. */
export const EarlyEnd = z.object({ reason: z.enum(END_REASONS), tool: z.string().max(200).nullable() })
export type EarlyEnd = z.infer<typeof EarlyEnd>
