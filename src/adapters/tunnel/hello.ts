import { z } from 'zod'

/** Version of the frames; both sides must use the same one. */
export const TUNNEL_PROTOCOL = 1

const Version = z.string().max(64)
const Count = z.number().int().min(0).max(0xffff_ffff)

/** First message of the machine. `session` names the session to resume, of which `received` frames arrived. */
export const MachineHello = z.object({
  protocol: z.number().int(),
  version: Version,
  session: z.string().max(64).nullable(),
  received: Count,
})
export type MachineHello = z.infer<typeof MachineHello>

/** Answer of the platform. A session that is not resumed starts anew, without streams. */
export const PlatformHello = z.object({
  protocol: z.literal(TUNNEL_PROTOCOL),
  version: Version,
  session: z.string().max(64),
  isResumed: z.boolean(),
  received: Count,
})
export type PlatformHello = z.infer<typeof PlatformHello>

/** Close codes of the platform (RFC 6455, section 7.4.2: 4000 to 4999 are private). */
export const CLOSE = {
  /** The machine sent something unexpected, or nothing in time. */
  invalid: 4400,
  /** The machine was removed, or its credentials were. */
  removed: 4401,
  /** Another process connected with the same credentials. */
  replaced: 4409,
  /** Versions or protocols do not fit. */
  version: 4426,
} as const

/** Close code of a machine that stops on purpose: its session cannot be resumed. */
export const STOPPED = 1000

/** Parses the first message of the peer; null when it is not a hello. */
export function parseHello<T>(schema: z.ZodType<T>, message: string | Buffer): T | null {
  if (typeof message !== 'string') return null
  try {
    return schema.safeParse(JSON.parse(message)).data ?? null
  } catch {
    return null
  }
}
