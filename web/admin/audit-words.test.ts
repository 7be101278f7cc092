import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { describeDetail, describeEntry } from './audit-words.ts'

const NAMES = { usr_1: 'ada@example.com', usr_2: 'bo@example.com', 'agent-1': 'Harbour' }

test.each([
  [{ actor: 'usr_1', action: 'agent.stop', target: 'agent-1' }, 'ada@example.com stopped Harbour'],
  [
    { actor: 'usr_1', action: 'account.end-sessions', target: 'usr_2' },
    'ada@example.com ended all sessions of bo@example.com',
  ],
  [
    { actor: 'usr_1', action: 'account.password-changed', target: 'usr_1' },
    'ada@example.com changed the password of their own account',
  ],
  [{ actor: 'cli', action: 'account.create', target: 'usr_2' }, 'Command line created bo@example.com'],
  [{ actor: 'usr_9', action: 'agent.stop', target: 'agent-9' }, 'usr_9 (deleted) stopped agent-9'],
  [{ actor: 'usr_1', action: 'moon.landed', target: 'usr_2' }, 'ada@example.com moon.landed bo@example.com'],
])('describeEntry, for %j, returns %p', (entry, sentence) => {
  expect(describeEntry(entry, NAMES)).toBe(sentence)
})

test('describeEntry has a sentence for every audit action in the sources', async () => {
  const actions = new Set<string>()
  for await (const file of new Glob('src/features/**/*.ts').scan()) {
    if (file.endsWith('.test.ts') || file.endsWith('schemas.ts')) continue
    const text = await Bun.file(file).text()
    if (!/recordAudit|audit\(|toLine\(|flag\(|noteNewPassword/.test(text)) continue
    for (const [, action] of text.matchAll(/\baction: '([a-z][a-z-]*\d*\.[a-z.-]+)'/g)) if (action) actions.add(action)
  }
  expect(actions.size).toBeGreaterThan(30)
  const unnamed = [...actions].filter((action) =>
    describeEntry({ actor: 'usr_1', action, target: 'agent-1' }, NAMES).includes(action),
  )
  expect(unnamed).toEqual([])
})

test('describeDetail shows a pair as a change and anything else as a value', () => {
  expect(describeDetail({ plan: ['free', 'solo'], ended: 3, via: 'link' })).toEqual([
    'plan: free → solo',
    'ended: 3',
    'via: link',
  ])
  expect(describeDetail({})).toEqual([])
  expect(describeDetail(null)).toEqual([])
})
