import { expect, test } from 'bun:test'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callsTool } from '../../../tests/harness/doubles/platform.ts'
import { OWNER_KEY, startTestAgent } from '../../../tests/harness/test-agent.ts'
import { until } from '../../../tests/harness/until.ts'

const KEEPERS: [string, object][] = [
  ['platform memory', {}],
  ['local memory', { platformToken: OWNER_KEY }],
]

for (const [who, settings] of KEEPERS) {
  test(`${who}: a fact is in every prompt, also after a restart, until it is deleted`, async () => {
    await using agent = await startTestAgent(settings)
    await agent.runTool('remember', { fact: 'The user likes\n tea', name: 'drinks' })
    await agent.restart()
    await agent.chat('hi', 'other')
    expect(agent.prompt()).toContain('You are Ada')
    expect(agent.prompt()).toContain('[drinks] The user likes tea')
    await agent.runTool('remember', { fact: 'The user likes coffee', name: 'drinks' })
    await agent.chat('hi', 'other')
    expect(agent.prompt()).toContain('[drinks] The user likes coffee')
    expect(agent.prompt()).not.toContain('likes tea')
    expect(await agent.runTool('forget', { name: 'food' })).toContain('There is no fact')
    await agent.runTool('forget', { name: 'drinks' })
    await agent.chat('hi', 'other')
    expect(agent.prompt()).not.toContain('likes coffee')
  })

  test(`${who}: a fact gets a generated name when it has none`, async () => {
    await using agent = await startTestAgent(settings)
    const names = [
      JSON.parse(await agent.runTool('remember', { fact: 'one' })).name,
      JSON.parse(await agent.runTool('remember', { fact: 'two' })).name,
    ]
    expect(new Set(names).size).toBe(2)
    await agent.chat('hi')
    for (const name of names) expect(agent.prompt()).toContain(`[${name}] `)
  })

  test(`${who}: a fact is refused with a note to the model when it exceeds 500 characters`, async () => {
    await using agent = await startTestAgent(settings)
    expect(await agent.runTool('remember', { fact: 'x'.repeat(501) })).toContain('at most 500 characters')
    expect(await agent.runTool('remember', { fact: ' ' })).toContain('nothing to remember')
    expect(await agent.runTool('remember', { fact: 'x', name: 'n'.repeat(201) })).toContain('at most 200 characters')
  })

  test(`${who}: no fact is lost when sessions are concurrent`, async () => {
    await using agent = await startTestAgent(settings)
    const calls = Array.from({ length: 10 }, (_, index) => callsTool('remember', { fact: `fact ${index}` }))
    agent.platform.next(...calls)
    await Promise.all(calls.map((_, index) => agent.chat('go', `s${index}`)))
    await agent.chat('hi')
    for (const index of calls.keys()) expect(agent.prompt()).toContain(`fact ${index}`)
  })

  test(`${who}: DELETE /memory removes facts and sessions, but no files`, async () => {
    await using agent = await startTestAgent(settings)
    await agent.runTool('write_file', { path: 'a', content: 'x' })
    await agent.runTool('remember', { fact: 'The user likes tea' })
    await agent.chat('hi', 's')
    const response = await agent.call('/memory', { method: 'DELETE' })
    expect(await response.json()).toEqual({ ok: true })
    expect([...agent.platform.memory.kept]).toEqual([])
    await agent.chat('hi', 's')
    expect(agent.platform.asked.at(-1)?.messages).toHaveLength(2)
    expect(agent.prompt()).not.toContain('likes tea')
    expect(await readdir(join(agent.folder, 'workspace'))).toEqual(['a'])
  })

  test(`${who}: the model gets a note when the memory is full`, async () => {
    await using agent = await startTestAgent(settings)
    const facts = Array.from({ length: 100 }, (_, index) => ({
      id: index + 1,
      text: 'x',
      at: '2026-01-01T00:00:00.000Z',
    }))
    await agent.restart(() => writeFile(join(agent.folder, 'memory.json'), JSON.stringify({ nextId: 101, facts })))
    expect(await agent.runTool('remember', { fact: 'one more' })).toMatch(/Memory is full|Too many memory keys/)
  })
}

test('platform memory: the next turn has the change when the owner adds or removes facts', async () => {
  await using agent = await startTestAgent()
  const { kept } = agent.platform.memory
  kept.set('drinks', 'tea')
  await agent.chat('hi', 's')
  expect(agent.prompt()).toContain('[drinks] tea')
  kept.delete('drinks')
  await agent.chat('hi', 's')
  expect(agent.prompt()).not.toContain('drinks')
})

test('a long fact is in the prompt with its beginning, and recall shows all of it in parts', async () => {
  await using agent = await startTestAgent()
  agent.platform.memory.kept.set('plan', `${'a'.repeat(24_000)}rest`)
  await agent.chat('hi')
  expect(agent.prompt()).toContain(`- [plan] ${'a'.repeat(500)} […] (recall it)`)
  expect(JSON.parse(await agent.runTool('recall', { name: 'plan' }))).toMatchObject({ nextOffset: 24_000 })
  expect(JSON.parse(await agent.runTool('recall', { name: 'plan', offset: 24_000 }))).toEqual({ content: 'rest' })
  expect(await agent.runTool('recall', { name: 'other' })).toContain('There is no fact')
})

test('a memory too large for the prompt is shown newest first, and the rest by name', async () => {
  await using agent = await startTestAgent()
  for (let index = 0; index < 150; index++) agent.platform.memory.kept.set(`k${index}`, `${index}`.padStart(500, '.'))
  await agent.chat('hi')
  expect(agent.prompt()).toContain('- [k0] […] (recall it)')
  expect(agent.prompt()).toMatch(/- \[k149\] \.+149$/m)
  expect(agent.prompt().length).toBeLessThan(60_000)
})

test('platform memory: a turn continues when an outage is short, and fails with the reason when it is long', async () => {
  await using agent = await startTestAgent()
  agent.platform.memory.kept.set('drinks', 'tea')
  agent.platform.memory.down = 3
  expect((await agent.chat('hi')).status).toBe(200)
  expect(agent.prompt()).toContain('[drinks] tea')
  agent.platform.memory.down = Number.POSITIVE_INFINITY
  const refused = await agent.chat('hi')
  expect([refused.status, await refused.text()]).toEqual([502, expect.stringContaining('Starting')])
  await agent.platform.stop()
  const alone = await agent.chat('hi')
  expect([alone.status, await alone.text()]).toEqual([502, expect.stringContaining('The platform cannot be reached')])
})

/** A memory file of an earlier version. */
const OLD_FILE = JSON.stringify({
  nextId: 8,
  facts: [
    { id: 3, text: 'The user likes tea', at: '2026-01-01T00:00:00.000Z' },
    { id: 7, text: 'The cat is called Bo', at: 'yesterday' },
  ],
})

test('platform memory: an older local file is imported once when the agent starts, without a turn', async () => {
  await using agent = await startTestAgent()
  const { kept } = agent.platform.memory
  await agent.restart(() => writeFile(join(agent.folder, 'memory.json'), OLD_FILE))
  await until('both facts at the platform', () => kept.size === 2)
  expect(Object.fromEntries(kept)).toEqual({ 'fact-3': 'The user likes tea', 'fact-7': 'The cat is called Bo' })
  await until('the file set aside', async () => !(await readdir(agent.folder)).includes('memory.json'))
  expect(await readFile(join(agent.folder, 'memory.imported.json'), 'utf8')).toBe(OLD_FILE)
  kept.delete('fact-3')
  await agent.restart()
  await agent.chat('hi')
  expect(agent.prompt()).toContain('[fact-7] The cat is called Bo')
  expect(agent.prompt()).not.toContain('likes tea')
  await agent.call('/memory', { method: 'DELETE' })
  expect((await readdir(agent.folder)).sort()).toEqual(['sessions', 'workspace'])
})

test('platform memory: an older local file is kept when the platform is unreachable', async () => {
  await using agent = await startTestAgent()
  const { memory } = agent.platform
  memory.down = 6
  await agent.restart(() => writeFile(join(agent.folder, 'memory.json'), OLD_FILE))
  await until('both facts at the platform', () => memory.kept.size === 2)
})

test('platform memory: a local file is renamed, and the agent continues, when it is unreadable', async () => {
  await using agent = await startTestAgent()
  await agent.restart(() => writeFile(join(agent.folder, 'memory.json'), '{"facts":'))
  expect((await agent.chat('hi')).status).toBe(200)
  expect((await agent.call('/readyz')).status).toBe(200)
  expect(await readFile(join(agent.folder, 'memory.unreadable.json'), 'utf8')).toBe('{"facts":')
})

test('local memory: facts are named by their numbers when the file is an older one', async () => {
  await using agent = await startTestAgent({ platformToken: OWNER_KEY })
  await writeFile(join(agent.folder, 'memory.json'), OLD_FILE)
  await agent.chat('hi')
  expect(agent.prompt()).toContain('[fact-7] The cat is called Bo')
  await agent.runTool('forget', { name: 'fact-7' })
  expect(JSON.parse(await readFile(join(agent.folder, 'memory.json'), 'utf8')).facts).toHaveLength(1)
  expect(agent.platform.memory.calls).toBe(0)
})

test('the prompt ends with the time in the owner’s time zone, or says that the zone is unknown', async () => {
  await using agent = await startTestAgent()
  await agent.chat('hi')
  expect(agent.prompt()).toMatch(
    /\nIt is \w+day, \d+ \w+ \d{4}, \d\d:\d\d \(Europe\/Berlin, GMT\+[12]\)\. Your owner is in this time zone\.$/,
  )
  agent.platform.toolSettings.timeZone = null
  await agent.chat('hi')
  expect(agent.prompt()).toMatch(/\(UTC, GMT\+0\)\. Your owner’s time zone is unknown: ask before you assume one\.$/)
})
