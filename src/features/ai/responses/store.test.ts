import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { readResponseConversation, resolveReferences } from './conversation.ts'
import { createResponseStore } from './store.ts'
import { storedResponses } from './tables.ts'

const DAY_MS = 86_400_000
const MEBIBYTE = 1024 * 1024

async function withStore() {
  const { platform, clock, signIn } = testPlatform()
  const { user } = await signIn('ada@example.com')
  const { db } = platform
  const store = createResponseStore({ db, clock })
  const stored = () =>
    db
      .select({ id: storedResponses.id })
      .from(storedResponses)
      .all()
      .map(({ id }) => id)
  /** Stores a response that says its id, after `previousId`. */
  const add = async (id: string, previousId: string | null = null, padding = '') => {
    const ancestors = previousId === null ? [] : (await readResponseConversation(store, user.id, previousId)).responses
    const input = JSON.stringify([{ type: 'message', role: 'user', content: `ask ${id}${padding}` }])
    const output = [
      { id: `rs_${id}`, type: 'reasoning', summary: [] },
      { id: `msg_${id}`, type: 'message', role: 'assistant', content: [{ type: 'output_text', text: id }] },
    ]
    const response = JSON.stringify({ id, output })
    return store.add(
      { id, userId: user.id, previousId, input, response, itemIds: [`rs_${id}`, `msg_${id}`] },
      ancestors,
    )
  }
  return { store, user, clock, add, stored, db }
}

test('readConversation returns the items of every turn in order when responses continue each other', async () => {
  const { store, user, add } = await withStore()
  await add('a')
  await add('b', 'a')
  const { items, responses } = await readResponseConversation(store, user.id, 'b')
  const answer = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
  expect(items).toEqual([
    { type: 'message', role: 'user', content: 'ask a' },
    answer('a'),
    { type: 'message', role: 'user', content: 'ask b' },
    answer('b'),
  ])
  expect(responses.map(({ id }) => id)).toEqual(['b', 'a'])
})

test('readConversation throws `invalid` when a response is missing, another account’s, or its ancestor was deleted', async () => {
  const { store, user, add } = await withStore()
  await add('a')
  await add('b', 'a')
  const notFound = { kind: 'invalid', extra: { code: 'previous_response_not_found', param: 'previous_response_id' } }
  expect(readResponseConversation(store, user.id, 'c')).rejects.toMatchObject(notFound)
  expect(readResponseConversation(store, user.id, 'x'.repeat(5000))).rejects.toMatchObject(notFound)
  expect(readResponseConversation(store, 'usr_other', 'a')).rejects.toMatchObject(notFound)
  expect(await store.remove('usr_other', 'a')).toBe(false)
  expect(await store.remove(user.id, 'a')).toBe(true)
  expect(readResponseConversation(store, user.id, 'b')).rejects.toMatchObject(notFound)
})

test('readConversation throws `invalid` when the conversation exceeds the size of a request', async () => {
  const { store, user, add } = await withStore()
  await add('a', null, 'x'.repeat(5 * MEBIBYTE))
  await add('b', 'a', 'x'.repeat(5 * MEBIBYTE))
  expect(readResponseConversation(store, user.id, 'b')).rejects.toMatchObject({
    extra: { code: 'context_length_exceeded' },
  })
})

test('add marks the ancestors as used when they were not used for a day', async () => {
  const { add, clock, db } = await withStore()
  await add('a')
  clock.advance(2 * DAY_MS)
  await add('b', 'a')
  const rows = db.select().from(storedResponses).all()
  expect(new Set(rows.map(({ usedAt }) => usedAt.getTime()))).toEqual(new Set([clock.now().getTime()]))
})

test('add deletes the least recently used responses when an account has more than 64 MiB', async () => {
  const { add, stored, clock } = await withStore()
  for (let number = 0; number < 10; number++) {
    expect(await add(`r${number}`, null, 'x'.repeat(7 * MEBIBYTE))).toBe(true)
    clock.advance(1000)
  }
  expect(stored()).toEqual(['r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8', 'r9'].slice(-8))
})

test('add returns false when a response is longer than 16 MiB', async () => {
  const { add, stored } = await withStore()
  expect(await add('a', null, 'x'.repeat(17 * MEBIBYTE))).toBe(false)
  expect(stored()).toEqual([])
})

test('resolveReferences returns the items that an account stored, and throws `invalid` for others', async () => {
  const { store, user, add } = await withStore()
  await add('a')
  const question = { role: 'user', content: 'And?' }
  const references = [{ type: 'item_reference', id: 'msg_a' }, question]
  const answer = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] }
  expect(resolveReferences(store, user.id, references)).toEqual([answer, question])
  expect(resolveReferences(store, user.id, [question])).toEqual([question])
  const notFound = "Item with id 'msg_a' not found."
  expect(() => resolveReferences(store, 'usr_other', references)).toThrow(notFound)
  await store.remove(user.id, 'a')
  expect(() => resolveReferences(store, user.id, references)).toThrow(notFound)
})

test('canStore returns true for accounts only', async () => {
  const { store, user } = await withStore()
  expect(store.canStore(user.id)).toBe(true)
  expect(store.canStore('operator')).toBe(false)
})
