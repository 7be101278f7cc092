import { expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callsTool, fails, says } from '../../tests/harness/platform-double.ts'
import { startTestAgent } from '../../tests/harness/test-agent.ts'
import { until } from '../../tests/harness/until.ts'

type Agent = Awaited<ReturnType<typeof startTestAgent>>

/** Lets the model call one tool and returns what the model was then shown as its result. */
async function runTool(agent: Agent, name: string, input: unknown): Promise<string> {
  agent.platform.next(callsTool(name, input), says('done'))
  expect((await agent.chat('go')).status).toBe(200)
  return String(agent.platform.asked.at(-1)?.messages.find((message) => message.role === 'tool')?.content)
}

test('write_file, list_files and read_file work on real files of the workspace', async () => {
  await using agent = await startTestAgent()
  await runTool(agent, 'write_file', { path: 'notes/a.md', content: 'Grüße' })
  expect(await readFile(join(agent.folder, 'workspace/notes/a.md'), 'utf8')).toBe('Grüße')
  expect(JSON.parse(await runTool(agent, 'list_files', {}))).toEqual({
    files: [{ path: 'notes/a.md', sizeBytes: 7 }],
    isComplete: true,
  })
  expect(JSON.parse(await runTool(agent, 'read_file', { path: './notes//a.md' }))).toEqual({ content: 'Grüße' })
  await runTool(agent, 'write_file', { path: 'notes/a.md', content: 'new' })
  expect(await readFile(join(agent.folder, 'workspace/notes/a.md'), 'utf8')).toBe('new')
  expect(await readdir(join(agent.folder, 'workspace/notes'))).toEqual(['a.md'])
})

test('each use of a tool is told to the platform: its name, whether it went well, how long it took', async () => {
  await using agent = await startTestAgent()
  await runTool(agent, 'write_file', { path: 'a', content: 'x' })
  await runTool(agent, 'read_file', { path: '../outside' })
  await until('both reports', () => agent.platform.toolReports.length === 2)
  expect(agent.platform.toolReports).toEqual([
    { events: [{ tool_name: 'write_file', success: true, duration_ms: expect.any(Number) }] },
    { events: [{ tool_name: 'read_file', success: false, duration_ms: expect.any(Number) }] },
  ])
})

const escapes = [
  '/etc/passwd',
  '../memory.json',
  'a/../../memory.json',
  '..',
  'a\0b',
  '..\\memory.json',
  'C:\\x',
  'x'.repeat(600),
]
test.each(escapes)('write_file, read_file and list_files refuse %j', async (path) => {
  await using agent = await startTestAgent()
  expect(await runTool(agent, 'write_file', { path, content: 'x' })).toContain('Not a path inside the workspace')
  expect(await runTool(agent, 'read_file', { path })).toContain('Not a path inside the workspace')
  expect(await runTool(agent, 'list_files', { folder: path })).toContain('Not a path inside the workspace')
  expect(await readdir(join(agent.folder, 'workspace'))).toEqual([])
  expect((await readdir(agent.folder)).sort()).toEqual(['sessions', 'workspace'])
})

test('links that leave the workspace are neither read, written, listed nor replaced', async () => {
  await using agent = await startTestAgent()
  const workspace = join(agent.folder, 'workspace')
  const outside = join(agent.folder, 'outside')
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'secret text')
  await symlink(outside, join(workspace, 'folder'))
  await symlink(join(outside, 'secret'), join(workspace, 'file'))
  await symlink(join(outside, 'new'), join(workspace, 'dangling'))
  for (const path of ['folder/secret', 'file']) {
    expect(await runTool(agent, 'read_file', { path })).toContain('Not a path inside the workspace')
  }
  for (const path of ['folder/secret', 'folder/new', 'folder/sub/new', 'file', 'dangling', 'dangling/x']) {
    expect(await runTool(agent, 'write_file', { path, content: 'overwritten' })).toMatch(/Not a|There is no/)
  }
  expect(await runTool(agent, 'list_files', { folder: 'folder' })).toContain('Not a path inside the workspace')
  expect(JSON.parse(await runTool(agent, 'list_files', {}))).toMatchObject({ files: [] })
  expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('secret text')
  expect(await readdir(outside)).toEqual(['secret'])
})

test('what is no text file of at most 1 MB is refused, and a pipe does not hang the agent', async () => {
  await using agent = await startTestAgent()
  const workspace = join(agent.folder, 'workspace')
  await writeFile(join(workspace, 'big'), 'x'.repeat(1024 * 1024 + 1))
  await writeFile(join(workspace, 'binary'), new Uint8Array([0xff, 0xfe]))
  execFileSync('mkfifo', [join(workspace, 'pipe')])
  expect(await runTool(agent, 'read_file', { path: 'big' })).toContain('Larger than 1 MB')
  expect(await runTool(agent, 'read_file', { path: 'binary' })).toContain('Not a text file')
  expect(await runTool(agent, 'read_file', { path: 'pipe' })).toContain('Not a regular file')
  expect(await runTool(agent, 'read_file', { path: '.' })).toContain('Not a regular file')
  expect(await runTool(agent, 'read_file', { path: 'none' })).toContain('There is no none')
  expect(await runTool(agent, 'write_file', { path: 'big/x', content: '' })).toContain('Not a')
  const tooMuch = { path: 'x', content: 'x'.repeat(1024 * 1024 + 1) }
  expect(await runTool(agent, 'write_file', tooMuch)).toContain('at most 1 MB')
})

test('read_file shows a long file in parts', async () => {
  await using agent = await startTestAgent()
  await writeFile(join(agent.folder, 'workspace/long'), `${'a'.repeat(24_000)}rest`)
  const first = JSON.parse(await runTool(agent, 'read_file', { path: 'long' }))
  expect(first).toMatchObject({ nextOffset: 24_000, totalChars: 24_004 })
  expect(JSON.parse(await runTool(agent, 'read_file', { path: 'long', offset: 24_000 }))).toEqual({ content: 'rest' })
})

test('what was remembered is in the prompt of every session, also after a restart, until it is forgotten', async () => {
  await using agent = await startTestAgent()
  await runTool(agent, 'remember', { fact: 'The user likes\n tea' })
  await agent.restart()
  await agent.chat('hi', 'other')
  const prompt = String(agent.platform.asked.at(-1)?.messages[0]?.content)
  expect(prompt).toContain('You are Ada')
  expect(prompt).toContain(new Date().toISOString().slice(0, 10))
  expect(prompt).toContain('[1] The user likes tea')
  expect(await runTool(agent, 'forget', { id: 7 })).toContain('There is no fact 7')
  await runTool(agent, 'forget', { id: 1 })
  await agent.chat('hi', 'other')
  expect(String(agent.platform.asked.at(-1)?.messages[0]?.content)).not.toContain('likes tea')
  expect(await runTool(agent, 'remember', { fact: 'new' })).toContain('"id":2')
})

test('memory is bounded: 500 characters a fact, 100 facts, and the model is told', async () => {
  await using agent = await startTestAgent()
  expect(await runTool(agent, 'remember', { fact: 'x'.repeat(501) })).toContain('at most 500 characters')
  expect(await runTool(agent, 'remember', { fact: ' ' })).toContain('nothing to remember')
  const facts = Array.from({ length: 100 }, (_, index) => ({ id: index + 1, text: 'x', at: '2026-01-01' }))
  await writeFile(join(agent.folder, 'memory.json'), JSON.stringify({ nextId: 101, facts }))
  expect(await runTool(agent, 'remember', { fact: 'one more' })).toContain('Memory is full')
})

test('sessions that remember at the same time lose nothing', async () => {
  await using agent = await startTestAgent()
  const calls = Array.from({ length: 10 }, (_, index) => callsTool('remember', { fact: `fact ${index}` }))
  agent.platform.next(...calls)
  await Promise.all(calls.map((_, index) => agent.chat('go', `s${index}`)))
  const memory = JSON.parse(await readFile(join(agent.folder, 'memory.json'), 'utf8'))
  expect(memory.facts).toHaveLength(10)
})

test('an input that does not fit a tool goes back to the model, which can go on', async () => {
  await using agent = await startTestAgent()
  expect(await runTool(agent, 'write_file', { path: 7 })).toContain('Invalid input')
  expect(await runTool(agent, 'no_such_tool', {})).toContain('no_such_tool')
})

test('DELETE /memory: memory and all sessions are gone, files stay', async () => {
  await using agent = await startTestAgent()
  await runTool(agent, 'write_file', { path: 'a', content: 'x' })
  await runTool(agent, 'remember', { fact: 'The user likes tea' })
  await agent.chat('hi', 's')
  const response = await agent.call('/memory', { method: 'DELETE' })
  expect(await response.json()).toEqual({ ok: true })
  await agent.chat('hi', 's')
  expect(agent.platform.asked.at(-1)?.messages).toHaveLength(2)
  expect(String(agent.platform.asked.at(-1)?.messages[0]?.content)).not.toContain('likes tea')
  expect(await readdir(join(agent.folder, 'workspace'))).toEqual(['a'])
})

test('a model without tools is told that it has none', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(fails(404, 'No endpoints found that support tool use'))
  await agent.chat('hi')
  expect(String(agent.platform.asked.at(-1)?.messages[0]?.content)).toContain('You have no tools')
})
