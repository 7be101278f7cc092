import { expect, test } from 'bun:test'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callsTool } from '../../../tests/harness/doubles/platform.ts'
import { startOwnedAgent } from '../../../tests/harness/owned-agent.ts'
import { until } from '../../../tests/harness/until.ts'

/** Starts an agent that counts as confined, with both command tools enabled. */
async function openAgent(settings: { maxTurnMs?: number } = {}) {
  const started = await startOwnedAgent({}, { ...settings, runtime: 'docker', isConfined: true })
  const switches = { run_shell: true, run_python: true }
  const changed = await started.asOwner(`/api/agents/${started.agent.id}/tools`, 'PUT', { switches })
  expect(changed.status).toBe(200)
  return {
    ...started,
    workspace: join(started.running.folder, 'workspace'),
    /** Approves the tool call and returns the result that the model sees. */
    async run(name: 'run_shell' | 'run_python', input: object): Promise<string> {
      const result = started.running.runTool(name, input)
      await started.decide((await started.question()).id, 'approve')
      return result
    },
  }
}

/** Returns whether the process in this file is alive; the file may still be empty. A zombie is not alive. */
async function isAlive(file: string): Promise<boolean> {
  const [pid] = /^\d+(?=\n)/.exec(await readFile(file, 'utf8')) ?? []
  if (pid === undefined) return false
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return stat !== null && !/\) Z /.test(stat)
}

test("run_shell shows the owner the whole command first, and runs it in the workspace without the agent's secrets", async () => {
  await using agent = await openAgent()
  const command = 'pwd; env; echo "to stderr" >&2; echo made > made.txt; exit 3'
  const running = agent.running.runTool('run_shell', { command })
  const question = await agent.question()
  expect(question.tool).toBe('run_shell')
  expect(JSON.parse(question.arguments)).toEqual({ command, timeoutSeconds: 60 })
  expect(await readdir(agent.workspace)).toEqual([])
  await agent.decide(question.id, 'approve')
  const result = JSON.parse(await running)
  expect(result).toMatchObject({ exitCode: 3, stderr: 'to stderr\n' })
  expect(result.stdout).toStartWith(`${agent.workspace}\n`)
  expect(result.stdout).not.toContain('TOKEN')
  expect(result.stdout).toContain(`HOME=${join(agent.running.folder, 'home')}`)
  expect(await readFile(join(agent.workspace, 'made.txt'), 'utf8')).toBe('made\n')
})

test('run_shell runs nothing when the command is denied; an approval covers only its command', async () => {
  await using agent = await openAgent()
  const denied = agent.running.runTool('run_shell', { command: 'touch denied' })
  await agent.decide((await agent.question()).id, 'deny')
  expect(await denied).toContain('Your owner has denied it')
  await agent.run('run_shell', { command: 'touch one' })
  const other = agent.running.runTool('run_shell', { command: 'touch two' })
  await agent.decide((await agent.question()).id, 'deny')
  await other
  expect(await readdir(agent.workspace)).toEqual(['one'])
})

test('run_shell keeps the beginning and end of output without end, and ends the command at the timeout', async () => {
  await using agent = await openAgent()
  const shown = await agent.run('run_shell', { command: 'echo first; yes', timeoutSeconds: 1 })
  const { stdout, exitCode, note } = JSON.parse(shown)
  expect([exitCode, note]).toEqual([null, 'Ended by force after 1 seconds.'])
  expect(stdout).toStartWith('first\ny\n')
  expect(stdout).toMatch(/\[\d+ bytes left out\]/)
  expect(shown.length).toBeLessThan(20_000)
})

test('run_shell ends all processes of a command when it ends, also those outside its group', async () => {
  await using agent = await openAgent()
  const leave = (file: string, by = '') => `${by} sh -c 'echo $$ > ${file}; exec sleep 600' >/dev/null 2>&1 & `
  const command = `${leave('child')}${leave('daemon', 'setsid')}until [ -s child ] && [ -s daemon ]; do sleep 0.05; done`
  expect(JSON.parse(await agent.run('run_shell', { command }))).toMatchObject({ exitCode: 0 })
  for (const file of ['child', 'daemon']) {
    await until(`the end of the ${file}`, async () => !(await isAlive(join(agent.workspace, file))))
  }
})

test('run_shell ends its command when the turn is stopped', async () => {
  await using agent = await openAgent({ maxTurnMs: 60_000 })
  const stop = new AbortController()
  agent.model.next(callsTool('run_shell', { command: 'echo $$ > pid; sleep 600' }))
  const turn = agent.running.chat('go', undefined, {}, stop.signal).catch((error: Error) => error.name)
  await agent.decide((await agent.question()).id, 'approve')
  const pid = join(agent.workspace, 'pid')
  await until('the command', () => isAlive(pid).catch(() => false))
  stop.abort()
  expect(await turn).toBe('AbortError')
  await until('the end of the command', async () => !(await isAlive(pid)))
})

test('run_python runs the approved code and no workspace file instead', async () => {
  await using agent = await openAgent()
  await writeFile(join(agent.workspace, 'json.py'), 'print("planted")')
  const code = 'import json\nprint(json.dumps([6 * 7]))'
  if (Bun.which('python3') === null) {
    expect(await agent.run('run_python', { code })).toContain('has no Python')
  } else {
    expect(JSON.parse(await agent.run('run_python', { code }))).toMatchObject({ exitCode: 0, stdout: '[42]\n' })
  }
})

test('run_shell is not offered when the agent is not confined, even if its settings allow it', async () => {
  await using agent = await startOwnedAgent({}, { runtime: 'docker' })
  await agent.asOwner(`/api/agents/${agent.agent.id}/tools`, 'PUT', { switches: { run_shell: true } })
  expect(await agent.running.runTool('run_shell', { command: 'id' })).toContain('run_shell')
  const offered = agent.model.asked.at(-1)?.tools?.map(({ function: { name } }) => name)
  expect(offered).not.toContain('run_shell')
  expect(await agent.list()).toEqual([])
})
