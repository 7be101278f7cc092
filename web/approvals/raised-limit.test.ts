import { expect, test } from 'bun:test'
import { describeRaise } from './raised-limit.ts'

const CASES = [
  [{ limit: 'usd', amount: 2.5 }, 'Allow $2.50 more on models on 2026-06-15.'],
  [{ limit: 'tokens', amount: 100_000 }, 'Allow 100,000 more tokens on 2026-06-15.'],
  [{ limit: 'messages', amount: 7 }, 'Allow 7 more messages on 2026-06-15.'],
  [{ limit: 'toolCalls', amount: 40 }, 'Allow 40 more tool calls on 2026-06-15.'],
  [{ limit: 'files', amount: 3 }, 'Allow 3 more written files on 2026-06-15.'],
] as const

for (const [raised, text] of CASES) {
  test(`describeRaise names the amount and the day of ${raised.limit}`, () => {
    const json = JSON.stringify({ ...raised, day: '2026-06-15' })
    expect(describeRaise({ tool: 'raise_limit', arguments: json })).toBe(text)
  })
}

test('describeRaise returns null for tools of agents and for arguments that it does not know', () => {
  expect(describeRaise({ tool: 'delete_file', arguments: '{"path":"a"}' })).toBeNull()
  expect(describeRaise({ tool: 'notes/raise_limit', arguments: '{}' })).toBeNull()
  expect(describeRaise({ tool: 'raise_limit', arguments: '{"limit":"moons","amount":1,"day":"x"}' })).toBeNull()
})
