import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import type { ResponsesRequest } from './schemas.ts'
import { createResponseStore } from './store.ts'
import { openResponseTurn } from './turn.ts'

/** Opens a turn of Ada's on a disk that is full or not. */
async function withTurns({ isLow = false } = {}) {
  const { platform, clock, signIn } = testPlatform()
  const { user } = await signIn('ada@example.com')
  const responses = createResponseStore({ db: platform.db, clock })
  const deps = { responses, diskFloor: { isLow: async () => isLow } }
  return (body: ResponsesRequest, instruction: string | null = null) =>
    openResponseTurn(deps, { userId: user.id }, { body, json: JSON.stringify(body) }, instruction)
}

test('openTurn sends the caller’s text when nothing is stored', async () => {
  const open = await withTurns()
  const body = { input: 'Hi', store: false }
  expect(await open(body)).toMatchObject({ sent: { body, json: JSON.stringify(body) }, isChanged: false, kept: null })
})

test('openTurn sends a text and a body with the same fields when it changes them', async () => {
  const open = await withTurns()
  for (const [body, instruction] of [
    [{ input: 'Hi {' }, null],
    [{ input: 'Hi', store: true }, null],
    [{ input: 'Hi', previous_response_id: null }, null],
    [{ input: 'Hi', store: false }, 'Be brief'],
  ] as const) {
    const { sent } = await open(body, instruction)
    expect(JSON.parse(sent.json)).toEqual(sent.body)
    expect(sent.body).toMatchObject({ input: body.input, store: false })
    expect(sent.body).not.toHaveProperty('previous_response_id')
  }
})

test('openTurn appends the instruction for an agent’s model to the caller’s', async () => {
  const open = await withTurns()
  const { sent, request } = await open({ input: 'Hi', instructions: 'Be brief' }, 'Be kind')
  expect(sent.body.instructions).toBe('Be brief\n\nBe kind')
  expect(request.instructions).toBe('Be brief')
  expect((await open({ input: 'Hi' }, 'Be kind')).sent.body.instructions).toBe('Be kind')
})

test('openTurn stores nothing when the disk is full', async () => {
  const open = await withTurns({ isLow: true })
  expect(await open({ input: 'Hi' })).toMatchObject({ kept: null, request: { store: false } })
})
