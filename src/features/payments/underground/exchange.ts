import type { ZodType } from 'zod'
import { AppError } from '../../../core/errors.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { SendRequest } from './schemas.ts'

/** A message that was found to be its sender's, with whom it concerns. */
export type Exchange = { message: SendRequest; sender: AgentRow; recipient: AgentRow; now: Date }

/** The payload of a message, as its action needs it. @throws AppError `invalid`. */
export function parsePayload<Payload>(schema: ZodType<Payload>, { message }: Exchange): Payload {
  const parsed = schema.safeParse(message.payload)
  if (parsed.success) return parsed.data
  throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'payload is not valid')
}
