import { spareTurn } from '../../../core/concurrency/timing.ts'
import type { JsonObject } from '../../../core/json/json-object.ts'
import { requireOwnState } from '../dialects/responses/request.ts'
import { type ResponseConversation, readResponseConversation, resolveReferences } from './conversation.ts'
import type { ResponsesRequest } from './schemas.ts'
import type { ResponseStore } from './store.ts'

/** Longer requests take several turns of the event loop. */
const LONG_CHARACTERS = 256 * 1024

type TurnDeps = {
  responses: ResponseStore
  diskFloor: { isLow(): Promise<boolean> }
}

/** A request of a conversation: as it goes to the models, and what is stored with its answer. */
export type ResponseTurn = {
  /** The whole conversation; providers store nothing themselves. */
  sent: { body: JsonObject; json: string }
  /** The caller's request; `store` is false when the answer will not be stored. */
  request: JsonObject
  /** The sent body is not the caller's own, so neither are these fields of the answer. */
  isChanged: boolean
  /** Null when the answer is not stored. */
  kept: {
    userId: string
    previousId: string | null
    input: string
    ancestors: ResponseConversation['responses']
  } | null
}

/**
 * Continues a stored conversation with the caller's request. `instruction` is a further instruction for the model, or
 * null.
 * @throws AppError `invalid` for a previous response that is not the account's, and for state that only providers keep.
 */
export async function openResponseTurn(
  { responses, diskFloor }: TurnDeps,
  { userId }: { userId: string },
  { body, json }: { body: ResponsesRequest; json: string },
  instruction: string | null,
): Promise<ResponseTurn> {
  requireOwnState(body)
  const { previous_response_id: previousId = null, ...own } = body
  const conversation = previousId === null ? null : await readResponseConversation(responses, userId, previousId)
  const isStored = body.store !== false && responses.canStore(userId) && !(await isLow(diskFloor))
  const given = toItems(body.input)
  const added = resolveReferences(responses, userId, given)
  const changes: JsonObject = {
    ...(body.store !== false && { store: false }),
    ...((conversation || added !== given) && { input: [...(conversation?.items ?? []), ...added] }),
    ...(instruction !== null && { instructions: join(body.instructions, instruction) }),
  }
  const isChanged = Object.keys(changes).length > 0
  const ancestors = conversation?.responses ?? []
  const sent = isChanged
    ? { body: { ...own, ...changes }, json: toJson({ ...own, ...changes }, body, json) }
    : { body, json }
  if (json.length > LONG_CHARACTERS) await spareTurn()
  return {
    sent,
    request: { ...body, store: isStored },
    isChanged,
    kept: isStored ? { userId, previousId, input: JSON.stringify(added), ancestors } : null,
  }
}

/** Adds a field to the caller's text where that is the only change, because long conversations are slow to serialize. */
function toJson(sent: JsonObject, body: ResponsesRequest, json: string): string {
  const isOnlyStore = sent.input === body.input && sent.instructions === body.instructions
  const hasState = 'store' in body || 'previous_response_id' in body
  return isOnlyStore && !hasState ? json.replace('{', '{"store":false,') : JSON.stringify(sent)
}

/** A disk that cannot be measured counts as free, as for other writes. */
function isLow(floor: TurnDeps['diskFloor']): Promise<boolean> {
  return floor.isLow().catch(() => false)
}

function toItems(input: ResponsesRequest['input']): readonly unknown[] {
  if (input === undefined || input === null) return []
  if (typeof input !== 'string') return input
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

function join(instructions: string | null | undefined, added: string): string {
  return instructions ? `${instructions}\n\n${added}` : added
}
