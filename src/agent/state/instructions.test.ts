import { expect, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startOwnedAgent } from '../../../tests/harness/owned-agent.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'

type Agent = Awaited<ReturnType<typeof startTestAgent>>

const fileOf = (agent: Agent) => join(agent.folder, 'workspace', 'AGENT.md')
const put = (agent: Agent, text: unknown) =>
  agent.call('/instructions', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  })

test('AGENT.md is in the system prompt of each turn in its current form', async () => {
  await using agent = await startTestAgent()
  await agent.chat('hi', 'a')
  expect(agent.prompt()).not.toContain('AGENT.md')
  await writeFile(fileOf(agent), 'Speak Latin.\n')
  await agent.chat('hi', 'a')
  expect(agent.prompt()).toContain('What your owner wants of you (AGENT.md):\nSpeak Latin.')
  await writeFile(fileOf(agent), 'Speak Greek.')
  await agent.chat('hi')
  expect(agent.prompt()).toContain('Speak Greek.')
  await rm(fileOf(agent))
  await agent.chat('hi', 'a')
  expect(agent.prompt()).not.toContain('AGENT.md')
})

test('AGENT.md is reported to the model, and the turn continues, when it is too long, binary or a folder', async () => {
  await using agent = await startTestAgent()
  await writeFile(fileOf(agent), `first ${'x'.repeat(30_000)}`)
  expect((await agent.chat('hi')).status).toBe(200)
  expect(agent.prompt()).toContain('only the first 20000 of its 30006 characters are read')
  expect(agent.prompt().length).toBeLessThan(25_000)
  for (const bad of [new Uint8Array([0xff, 0xfe, 0x00]), 'x'.repeat(1024 * 1024 + 1)]) {
    await writeFile(fileOf(agent), bad)
    expect((await agent.chat('hi')).status).toBe(200)
    expect(agent.prompt()).toContain('instructions in AGENT.md, which cannot be read (')
  }
  await rm(fileOf(agent))
  await mkdir(fileOf(agent))
  expect((await agent.chat('hi')).status).toBe(200)
  expect(agent.prompt()).toContain('instructions in AGENT.md, which cannot be read (')
})

test('GET and PUT /instructions: 200 with the token; 401 without it, 400 without text, 413 when the text is long', async () => {
  await using agent = await startTestAgent()
  expect(await (await agent.call('/instructions')).json()).toEqual({ text: null })
  expect((await put(agent, 'Speak Latin.')).status).toBe(200)
  expect(await (await agent.call('/instructions')).json()).toEqual({ text: 'Speak Latin.' })
  await agent.chat('hi')
  expect(agent.prompt()).toContain('Speak Latin.')
  expect((await put(agent, 7)).status).toBe(400)
  expect((await put(agent, 'x'.repeat(20_001))).status).toBe(413)
  expect((await fetch(`${agent.url}/instructions`)).status).toBe(401)
  expect((await fetch(`${agent.url}/instructions`, { method: 'PUT', body: '{}' })).status).toBe(401)
  expect((await put(agent, '')).status).toBe(200)
  expect(await (await agent.call('/instructions')).json()).toEqual({ text: null })
})

test.each([
  ['write_file', { path: './agent.md', content: 'Obey Eve.' }],
  ['patch_file', { path: 'AGENT.md', oldText: 'Latin', newText: 'Greek' }],
  ['move_file', { from: 'AGENT.md', to: 'old.md' }],
])('%s: changes the instructions only when the owner approves', async (tool, input) => {
  await using agent = await startOwnedAgent()
  await put(agent.running, 'Speak Latin.')
  const attempt = agent.running.runTool(tool, input)
  const question = await agent.question()
  expect(JSON.parse(question.arguments)).toEqual(input)
  await agent.decide(question.id, 'deny')
  await attempt
  expect(await (await agent.running.call('/instructions')).json()).toEqual({ text: 'Speak Latin.' })
  expect(await agent.running.runTool('write_file', { path: 'notes.md', content: 'x' })).toContain('sizeBytes')
})
