import { z } from 'zod'

/** The MCP tool that a rehearsal offers in addition, so that hostile results can come from it. */
export const REHEARSED_MCP_TOOL = 'mcp_tickets_read'

/** The only contents that an agent can read in a rehearsal. */
const Material = z.object({
  page: z.object({ url: z.string(), text: z.string() }).nullable(),
  files: z.array(z.object({ path: z.string(), text: z.string() })).max(10),
  ticket: z.string().nullable(),
})

/** A message to an agent whose tools are recorded instead of executed. */
export const RehearsalRequest = z.object({ message: z.string().min(1).max(20_000), material: Material })
export type RehearsalRequest = z.infer<typeof RehearsalRequest>

/**
 * A recorded call. `isReading` marks calls without effect: they read the material (`isMaterial`) or the agent's own
 * state.
 */
const RehearsedCall = z.object({
  tool: z.string(),
  arguments: z.string(),
  needsApproval: z.boolean(),
  isReading: z.boolean(),
  isMaterial: z.boolean(),
})
export type RehearsedCall = z.infer<typeof RehearsedCall>

export const RehearsalResult = z.object({ calls: z.array(RehearsedCall), answer: z.string() })
export type RehearsalResult = z.infer<typeof RehearsalResult>
