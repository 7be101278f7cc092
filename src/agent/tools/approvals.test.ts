import { expect, test } from 'bun:test'
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startOwnedAgent } from '../../../tests/harness/owned-agent.ts'
import { until } from '../../../tests/harness/until.ts'

async function openAgent(settings: { approvalWaitMs?: number } = {}) {
  const started = await startOwnedAgent({}, settings)
  const workspace = join(started.running.folder, 'workspace')
  await writeFile(join(workspace, 'a.md'), 'kept')
  return {
    ...started,
    workspace,
    remove: (path = 'a.md') => started.running.runTool('delete_file', { path }),
    isThere: () =>
      access(join(workspace, 'a.md')).then(
        () => true,
        () => false,
      ),
  }
}

test('delete_file waits for the owner, who sees the exact call, and moves the file to the trash when approved', async () => {
  await using agent = await openAgent()
  const removal = agent.remove()
  const question = await agent.question()
  expect(question).toMatchObject({ tool: 'delete_file', arguments: '{"path":"a.md"}' })
  expect(await agent.isThere()).toBe(true)
  await agent.decide(question.id, 'approve')
  const { movedTo } = JSON.parse(await removal)
  expect(movedTo).toMatch(/^\.trash\/.+-a\.md$/)
  expect(await agent.isThere()).toBe(false)
  expect(await readFile(join(agent.workspace, movedTo), 'utf8')).toBe('kept')
  expect(await agent.list()).toMatchObject([{ id: question.id, status: 'used' }])
  expect(JSON.parse(await agent.running.runTool('list_files', {}))).toMatchObject({ files: [] })
  await agent.running.runTool('move_file', { from: movedTo, to: 'a.md' })
  expect(await agent.isThere()).toBe(true)
})

test('delete_file deletes nothing and informs the model when it is denied', async () => {
  await using agent = await openAgent()
  const removal = agent.remove()
  await agent.decide((await agent.question()).id, 'deny')
  expect(await removal).toContain('Your owner has denied it')
  expect(await agent.isThere()).toBe(true)
})

test('delete_file waits again when the same deletion is repeated, because an approval covers one use', async () => {
  await using agent = await openAgent()
  const removal = agent.remove()
  await agent.decide((await agent.question()).id, 'approve')
  await removal
  await writeFile(join(agent.workspace, 'a.md'), 'new')
  const again = agent.remove()
  await agent.decide((await agent.question()).id, 'deny')
  expect(await again).toContain('denied')
  expect(await agent.isThere()).toBe(true)
})

test('a turn reports that it ended before the owner answered, and the same call runs when it is approved later', async () => {
  await using agent = await openAgent({ approvalWaitMs: 500 })
  const early = await agent.remove()
  expect(early).toContain('has not answered yet')
  expect(await agent.isThere()).toBe(true)
  await agent.decide((await agent.question()).id, 'approve')
  expect(await agent.remove()).toContain('movedTo')
  expect(await agent.list()).toHaveLength(1)
})

test('an agent finds its request decided when it was restarted while it waited', async () => {
  await using agent = await openAgent()
  const cut = agent.remove().catch((error: Error) => error.message)
  const question = await agent.question()
  await agent.running.stop(0)
  await cut
  await agent.decide(question.id, 'approve')
  await agent.running.restart()
  // The answer of the interrupted turn.
  await agent.running.chat('hello')
  expect(await agent.isThere()).toBe(true)
  expect(await agent.remove()).toContain('movedTo')
  expect(await agent.list()).toMatchObject([{ id: question.id, status: 'used' }])
})

test('an agent keeps request and decision when the platform restarts while it waits', async () => {
  await using agent = await openAgent()
  const removal = agent.remove()
  const question = await agent.question()
  agent.setDown(true)
  await agent.decide(question.id, 'approve')
  agent.setDown(false)
  expect(await removal).toContain('movedTo')
})

test('two calls of one turn wait for two separate decisions', async () => {
  await using agent = await openAgent()
  await writeFile(join(agent.workspace, 'b.md'), 'kept')
  const first = agent.remove('a.md')
  await agent.decide((await agent.question()).id, 'approve')
  await first
  const second = agent.remove('b.md')
  const question = await agent.question()
  expect(question.arguments).toBe('{"path":"b.md"}')
  await agent.decide(question.id, 'deny')
  expect(await second).toContain('denied')
  expect(await readdir(agent.workspace)).toContain('b.md')
})

test('a tool is missing from the next turn on when the owner disables it', async () => {
  await using agent = await openAgent()
  await agent.asOwner(`/api/agents/${agent.agent.id}/tools`, 'PUT', { switches: { delete_file: false } })
  expect(await agent.remove()).toContain('delete_file')
  expect(await agent.list()).toEqual([])
  expect(agent.model.asked.at(-1)?.tools?.map(({ function: { name } }) => name)).not.toContain('delete_file')
})

test('delete_file moves a file to the trash when its folder has a name similar to the trash', async () => {
  await using agent = await openAgent()
  await mkdir(join(agent.workspace, 'x'))
  await writeFile(join(agent.workspace, 'x/a.md'), 'kept')
  const removal = agent.remove('x/a.md')
  await agent.decide((await agent.question()).id, 'approve')
  const { movedTo } = JSON.parse(await removal)
  await until('the file in the trash', async () => (await readdir(join(agent.workspace, '.trash'))).length === 1)
  const trashed = agent.remove(movedTo)
  await agent.decide((await agent.question()).id, 'approve')
  expect(await trashed).toContain('in the trash already')
})
