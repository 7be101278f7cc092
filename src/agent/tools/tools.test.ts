import { expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callsTool, fails, says } from '../../../tests/harness/doubles/platform.ts'
import { OWNER_KEY, startTestAgent } from '../../../tests/harness/test-agent.ts'
import { until } from '../../../tests/harness/until.ts'
import { systemClock } from '../../core/clock.ts'
import { createWorkspace } from '../state/workspace.ts'

test('write_file, list_files and read_file work on real files of the workspace', async () => {
  await using agent = await startTestAgent()
  await agent.runTool('write_file', { path: 'notes/a.md', content: 'Grüße' })
  expect(await readFile(join(agent.folder, 'workspace/notes/a.md'), 'utf8')).toBe('Grüße')
  expect(JSON.parse(await agent.runTool('list_files', {}))).toEqual({
    files: [{ path: 'notes/a.md', sizeBytes: 7 }],
    isComplete: true,
  })
  expect(JSON.parse(await agent.runTool('read_file', { path: './notes//a.md' }))).toEqual({ content: 'Grüße' })
  await agent.runTool('write_file', { path: 'notes/a.md', content: 'new' })
  expect(await readFile(join(agent.folder, 'workspace/notes/a.md'), 'utf8')).toBe('new')
  expect(await readdir(join(agent.folder, 'workspace/notes'))).toEqual(['a.md'])
})

test('each tool call is reported to the platform with name, success and duration', async () => {
  await using agent = await startTestAgent()
  await agent.runTool('write_file', { path: 'a', content: 'x' })
  await agent.runTool('read_file', { path: '../outside' })
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
test.each(escapes)('write_file, read_file and list_files return an error when the path is %j', async (path) => {
  await using agent = await startTestAgent()
  expect(await agent.runTool('write_file', { path, content: 'x' })).toContain('Not a path inside the workspace')
  expect(await agent.runTool('read_file', { path })).toContain('Not a path inside the workspace')
  expect(await agent.runTool('list_files', { folder: path })).toContain('Not a path inside the workspace')
  expect(await readdir(join(agent.folder, 'workspace'))).toEqual([])
  expect((await readdir(agent.folder)).sort()).toEqual(['sessions', 'workspace'])
})

const gitPaths = [
  '.git',
  '.git/config',
  '.GIT/config',
  '.git/hooks/new/pre-commit',
  'sub/.git/config',
  './sub//.Git./config',
  'git~1/config',
  '.g\u200cit/config',
  'link/config',
  'link/new/config',
]
test.each(gitPaths)(
  'write_file, patch_file, move_file and delete_file leave the files of Git unchanged when the path is %j',
  async (path) => {
    await using agent = await startTestAgent()
    const workspace = join(agent.folder, 'workspace')
    for (const folder of ['.git', 'sub/.git']) {
      await mkdir(join(workspace, folder), { recursive: true })
      await writeFile(join(workspace, folder, 'config'), '[core]')
    }
    await symlink('.git', join(workspace, 'link'))
    await writeFile(join(workspace, 'a'), 'a')
    const before = (await readdir(workspace, { recursive: true })).sort()
    const refusal = 'The files of Git cannot be changed by this tool'
    expect(await agent.runTool('write_file', { path, content: 'x' })).toContain(refusal)
    expect(await agent.runTool('move_file', { from: 'a', to: path })).toContain(refusal)
    if (existsSync(join(workspace, path)) && !path.endsWith('.git')) {
      const patched = await agent.runTool('patch_file', { path, oldText: '[core]', newText: 'x' })
      expect(patched).toContain(refusal)
      expect(await agent.runTool('move_file', { from: path, to: 'b' })).toContain(refusal)
      // The tool asks the owner first.
      await expect(createWorkspace(workspace, systemClock).discard(path)).rejects.toThrow(refusal)
      expect(JSON.parse(await agent.runTool('read_file', { path }))).toEqual({ content: '[core]' })
    }
    expect((await readdir(workspace, { recursive: true })).sort()).toEqual(before)
    expect(await readFile(join(workspace, '.git/config'), 'utf8')).toBe('[core]')
  },
)

test('links to paths outside the workspace are neither read, written, listed nor replaced', async () => {
  await using agent = await startTestAgent()
  const workspace = join(agent.folder, 'workspace')
  const outside = join(agent.folder, 'outside')
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'secret text')
  await symlink(outside, join(workspace, 'folder'))
  await symlink(join(outside, 'secret'), join(workspace, 'file'))
  await symlink(join(outside, 'new'), join(workspace, 'dangling'))
  for (const path of ['folder/secret', 'file']) {
    expect(await agent.runTool('read_file', { path })).toContain('Not a path inside the workspace')
  }
  for (const path of ['folder/secret', 'folder/new', 'folder/sub/new', 'file', 'dangling', 'dangling/x']) {
    expect(await agent.runTool('write_file', { path, content: 'overwritten' })).toMatch(/Not a|There is no/)
  }
  expect(await agent.runTool('list_files', { folder: 'folder' })).toContain('Not a path inside the workspace')
  expect(JSON.parse(await agent.runTool('list_files', {}))).toMatchObject({ files: [] })
  expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('secret text')
  expect(await readdir(outside)).toEqual(['secret'])
})

test('read_file returns an error when a file is binary or over 1 MB, and does not wait for a pipe', async () => {
  await using agent = await startTestAgent()
  const workspace = join(agent.folder, 'workspace')
  await writeFile(join(workspace, 'big'), 'x'.repeat(1024 * 1024 + 1))
  await writeFile(join(workspace, 'binary'), new Uint8Array([0xff, 0xfe]))
  execFileSync('mkfifo', [join(workspace, 'pipe')])
  expect(await agent.runTool('read_file', { path: 'big' })).toContain('Larger than 1 MB')
  expect(await agent.runTool('read_file', { path: 'binary' })).toContain('Not a text file')
  expect(await agent.runTool('read_file', { path: 'pipe' })).toContain('Not a regular file')
  expect(await agent.runTool('read_file', { path: '.' })).toContain('Not a regular file')
  expect(await agent.runTool('read_file', { path: 'none' })).toContain('There is no none')
  expect(await agent.runTool('write_file', { path: 'big/x', content: '' })).toContain('Not a')
  const tooMuch = { path: 'x', content: 'x'.repeat(1024 * 1024 + 1) }
  expect(await agent.runTool('write_file', tooMuch)).toContain('at most 1 MB')
})

test('patch_file replaces one passage, and returns an error when it is missing or repeated', async () => {
  await using agent = await startTestAgent()
  const file = join(agent.folder, 'workspace/a.md')
  await writeFile(file, 'one two two three')
  expect(await agent.runTool('patch_file', { path: 'a.md', oldText: 'two', newText: '2' })).toContain('more than once')
  expect(await agent.runTool('patch_file', { path: 'a.md', oldText: 'four', newText: '4' })).toContain(
    'does not contain',
  )
  await agent.runTool('patch_file', { path: 'a.md', oldText: 'two three', newText: '$& 3' })
  expect(await readFile(file, 'utf8')).toBe('one two $& 3')
})

test('search_files ignores case, limits its results and skips binary files', async () => {
  await using agent = await startTestAgent()
  const workspace = join(agent.folder, 'workspace')
  await mkdir(join(workspace, 'notes'))
  await writeFile(join(workspace, 'notes/a.md'), 'first\nThe Tea is hot\n')
  await writeFile(join(workspace, 'binary'), new Uint8Array([0xff, 0x74, 0x65, 0x61]))
  expect(JSON.parse(await agent.runTool('search_files', { text: 'tea' }))).toEqual({
    lines: [{ path: 'notes/a.md', number: 2, text: 'The Tea is hot' }],
    isComplete: true,
  })
  await writeFile(join(workspace, 'many'), 'tea\n'.repeat(150))
  const many = JSON.parse(await agent.runTool('search_files', { text: 'TEA' }))
  expect([many.lines.length, many.isComplete]).toEqual([100, false])
})

test('move_file creates folders, replaces no file, and stays in the workspace', async () => {
  await using agent = await startTestAgent()
  const workspace = join(agent.folder, 'workspace')
  await writeFile(join(workspace, 'a'), 'a')
  await writeFile(join(workspace, 'b'), 'b')
  expect(await agent.runTool('move_file', { from: 'a', to: 'b' })).toContain('There is a file already')
  expect(await agent.runTool('move_file', { from: 'a', to: '../c' })).toContain('Not a path inside')
  expect(await agent.runTool('move_file', { from: '../memory.json', to: 'c' })).toContain('Not a path inside')
  expect(await agent.runTool('move_file', { from: 'none', to: 'c' })).toContain('There is no none')
  expect(await agent.runTool('move_file', { from: 'a', to: 'new/c' })).toContain('new/c')
  expect((await readdir(workspace, { recursive: true })).sort()).toEqual(['b', 'new', 'new/c'])
})

test('a turn ends with an answer within its model steps when it exceeds its tool limit', async () => {
  await using agent = await startTestAgent()
  agent.platform.toolSettings.limits.toolCalls = 1
  agent.platform.next(callsTool('list_files', {}), callsTool('list_files', {}), says('done'))
  expect((await agent.chat('go')).status).toBe(200)
  const results = agent.platform.asked.at(-1)?.messages.filter(({ role }) => role === 'tool')
  expect(results?.map(({ content }) => String(content).includes('at most 1 tools'))).toEqual([false, true])
  agent.platform.toolSettings.limits = { modelTurns: 2, toolCalls: 9, maxUsd: null }
  const before = agent.platform.asked.length
  agent.platform.next(callsTool('list_files', {}), says('done'))
  await agent.chat('go')
  expect(agent.platform.asked.length - before).toBe(2)
  expect(agent.platform.asked.at(-1)?.tool_choice).toBe('none')
})

test('a turn ends with the reason when it exceeds its cost limit', async () => {
  await using agent = await startTestAgent()
  // The fake model reports 10 input and 5 output tokens for each answer.
  agent.platform.toolSettings.price = { inputUsdPerMillion: 1000, outputUsdPerMillion: 2000 }
  agent.platform.toolSettings.limits.maxUsd = 0.03
  agent.platform.next(callsTool('list_files', {}), callsTool('list_files', {}), says('never asked'))
  const answer = await agent.chat('go')
  expect(await answer.json()).toMatchObject({
    choices: [
      {
        finish_reason: 'length',
        message: { content: 'I stopped here: this turn has cost as much as my owner allows for one.' },
      },
    ],
  })
  expect(agent.platform.asked).toHaveLength(2)
  await until('the report', () => agent.platform.earlyEnds.length > 0)
  expect(agent.platform.earlyEnds).toEqual([{ reason: 'cost', tool: null }])
})

test('a tool call is refused the third time, whatever the order of its arguments, and ends the turn the fourth time', async () => {
  await using agent = await startTestAgent()
  const call = (words: object) => callsTool('write_file', words)
  agent.platform.next(
    callsTool('write_file', { path: 'a.md', content: 'x' }, 'I am writing.'),
    call({ content: 'x', path: 'a.md' }),
    call({ path: 'b.md', content: 'x' }),
    call({ path: 'a.md', content: 'x' }),
    call({ path: 'a.md', content: 'x' }),
    says('never asked'),
  )
  const { choices } = JSON.parse(await (await agent.chat('go', 's')).text())
  const sentence = 'I stopped here: I was going in circles, with the same call of write_file again and again.'
  expect(choices[0]).toMatchObject({ finish_reason: 'length', message: { content: `I am writing.\n\n${sentence}` } })
  const report = agent.platform.asked.at(-1)?.messages.filter(({ role }) => role === 'tool')
  expect(report?.map(({ content }) => String(content).includes('with the same arguments 3 times'))).toEqual([
    false,
    false,
    false,
    true,
  ])
  expect(agent.platform.asked).toHaveLength(5)
  await until('the report', () => agent.platform.earlyEnds.length > 0)
  expect(agent.platform.earlyEnds).toEqual([{ reason: 'loop', tool: 'write_file' }])
  expect(await (await agent.call('/sessions/s/history')).text()).toContain(sentence)
})

test('a tool call with invalid input counts as a call', async () => {
  await using agent = await startTestAgent()
  const wrong = () => callsTool('read_file', { file: 'a.md' })
  agent.platform.next(wrong(), wrong(), wrong(), wrong(), says('never asked'))
  expect(await (await agent.chat('go')).text()).toContain('the same call of read_file again and again')
  expect(agent.platform.asked).toHaveLength(4)
})

test('a model that stops after the refusal of a repeated call answers, and the next turn starts at zero', async () => {
  await using agent = await startTestAgent()
  const same = () => callsTool('list_files', {})
  for (let turn = 0; turn < 2; turn++) {
    agent.platform.next(same(), same(), same(), says('It is empty.'))
    expect(await (await agent.chat('go')).json()).toMatchObject({
      choices: [{ finish_reason: 'stop', message: { content: 'It is empty.' } }],
    })
  }
  expect(agent.platform.earlyEnds).toEqual([])
})

test('an agent with its owner’s API key has no tool that needs approval', async () => {
  await using agent = await startTestAgent({ platformToken: OWNER_KEY })
  await agent.chat('hi')
  const tools = agent.platform.asked.at(-1)?.tools?.map(({ function: { name } }) => name)
  expect(tools).toContain('patch_file')
  expect(tools).not.toContain('delete_file')
})

test('read_file returns a part when the file is long', async () => {
  await using agent = await startTestAgent()
  await writeFile(join(agent.folder, 'workspace/long'), `${'a'.repeat(24_000)}rest`)
  const first = JSON.parse(await agent.runTool('read_file', { path: 'long' }))
  expect(first).toMatchObject({ nextOffset: 24_000, totalChars: 24_004 })
  expect(JSON.parse(await agent.runTool('read_file', { path: 'long', offset: 24_000 }))).toEqual({ content: 'rest' })
})

test('a tool returns an error and the model continues when the input is invalid', async () => {
  await using agent = await startTestAgent()
  expect(await agent.runTool('write_file', { path: 7 })).toContain('Invalid input')
  expect(await agent.runTool('no_such_tool', {})).toContain('no_such_tool')
})

test('a model gets a note when it does not support tools', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(fails(404, 'No endpoints found that support tool use'))
  await agent.chat('hi')
  expect(String(agent.platform.asked.at(-1)?.messages[0]?.content)).toContain('You have no tools')
})
