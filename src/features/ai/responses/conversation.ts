import { spareTurn } from '../../../core/concurrency/timing.ts'
import { AppError } from '../../../core/errors.ts'
import type { ResponseStore } from './store.ts'
import type { StoredResponseRow } from './tables.ts'

/** The largest conversation that is continued, as long as the largest request. */
const MAX_ITEM_BYTES = 8 * 1024 * 1024
const MAX_RESPONSES = 2000
const MAX_ID_CHARACTERS = 200

type Item = Readonly<Record<string, unknown>>
/** The items of a stored conversation, oldest first, and the responses that they are from. */
export type ResponseConversation = { items: Item[]; responses: StoredResponseRow[] }

/**
 * Reads the conversation that ends with response `id`, one response per turn of the event loop.
 * @throws AppError `invalid` when a response of the conversation is not the account's, was deleted or has expired, or
 * when the conversation is too long to be sent.
 */
export async function readResponseConversation(
  store: ResponseStore,
  userId: string,
  id: string,
): Promise<ResponseConversation> {
  const responses: StoredResponseRow[] = []
  const turns: Item[][] = []
  let sizeBytes = 0
  for (let next: string | null = id; next !== null; ) {
    const response: StoredResponseRow | null = next.length > MAX_ID_CHARACTERS ? null : store.find(userId, next)
    if (!response) throw previousNotFound(id, next)
    const output = listItems(JSON.parse(response.response).output).flatMap(toInput)
    const outputBytes = Buffer.byteLength(JSON.stringify(output))
    sizeBytes += Buffer.byteLength(response.input) + outputBytes
    if (sizeBytes > MAX_ITEM_BYTES || responses.length >= MAX_RESPONSES) throw tooLong()
    responses.push(response)
    turns.push([...listItems(JSON.parse(response.input)), ...output])
    next = response.previousId
    await spareTurn()
  }
  return { items: turns.toReversed().flat(), responses }
}

/**
 * Replaces references to items of stored responses by the items. @returns the same list when it contains no reference.
 * @throws AppError `invalid` when an item is not the account's, was deleted or has expired.
 */
export function resolveReferences(store: ResponseStore, userId: string, input: readonly unknown[]): readonly unknown[] {
  if (!input.some(isReference)) return input
  // References of one request are mostly to the same few responses.
  const known = new Map<string, Item>()
  return input.flatMap((item) => {
    if (!isReference(item)) return [item]
    const { id } = item
    const found = known.get(id) ?? findItem(store, userId, id, known)
    if (!found)
      throw new AppError('invalid', `Item with id '${id.slice(0, MAX_ID_CHARACTERS)}' not found.`, { param: 'input' })
    return toInput(found)
  })
}

function isReference(item: unknown): item is Item & { id: string } {
  return typeof item === 'object' && item !== null && 'type' in item && item.type === 'item_reference' && hasId(item)
}

function hasId(item: object): item is { id: string } {
  return 'id' in item && typeof item.id === 'string'
}

function findItem(store: ResponseStore, userId: string, id: string, known: Map<string, Item>): Item | undefined {
  const response = id.length > MAX_ID_CHARACTERS ? null : store.findByItem(userId, id)
  if (!response) return undefined
  for (const item of listItems(JSON.parse(response.response).output)) if (hasId(item)) known.set(item.id, item)
  return known.get(id)
}

/**
 * Providers do not know the ids of items that they did not store, and refuse reasoning without its encrypted content.
 */
function toInput(item: Item): Item[] {
  const { id, ...content } = item
  if (item.type !== 'reasoning') return [content]
  return typeof item.encrypted_content === 'string' ? [{ id, ...content }] : []
}

function listItems(value: unknown): Item[] {
  if (!Array.isArray(value)) return []
  return value.filter((item): item is Item => typeof item === 'object' && item !== null)
}

function previousNotFound(id: string, missing: string): AppError {
  const shown = id.slice(0, MAX_ID_CHARACTERS)
  const message =
    missing === id
      ? `Previous response with id '${shown}' not found.`
      : `Previous response with id '${shown}' continues a response that was deleted or has expired.`
  return new AppError('invalid', message, { code: 'previous_response_not_found', param: 'previous_response_id' })
}

function tooLong(): AppError {
  return new AppError('invalid', 'The stored conversation is longer than the 8 MB that a request may have.', {
    code: 'context_length_exceeded',
    param: 'previous_response_id',
  })
}
