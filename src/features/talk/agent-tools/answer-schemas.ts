import { z } from 'zod'

/** `GET /v1/tools`. */
export const BackendToolsAnswer = z.object({
  tools: z.array(z.string()),
  hasMcp: z.boolean(),
  limits: z.object({ modelTurns: z.number(), toolCalls: z.number(), maxUsd: z.number().nullable() }),
  price: z.object({ inputUsdPerMillion: z.number(), outputUsdPerMillion: z.number() }).nullable(),
})
