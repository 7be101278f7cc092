import { expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { hangs, startPlatformDouble } from '../../tests/harness/doubles/platform.ts'
import { until } from '../../tests/harness/until.ts'
import { readLines } from '../../tests/harness/wires/lines.ts'

const CLI = join(import.meta.dir, '../cli/agent.ts')
const ERRORS = join(import.meta.dir, '../core/errors.ts')
/** The part of `main.ts` that this command uses. */
const PROGRAM = `
  import { Command } from ${JSON.stringify(require.resolve('commander'))}
  import { agentCommand } from ${JSON.stringify(CLI)}
  import { StartupError } from ${JSON.stringify(ERRORS)}
  const program = new Command()
  agentCommand(program)
  try { await program.parseAsync(['bun', 'stead', 'agent']) } catch (error) {
    if (!(error instanceof StartupError)) throw error
    console.error(error.message)
    process.exit(78)
  }`

const LogLine = z.object({ url: z.string() })

/** Starts `stead agent` as the platform does: a child process that gets only its environment. */
async function spawnAgent(environment: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'stead-agent-'))
  const child = Bun.spawn([process.execPath, '-e', PROGRAM], {
    cwd: folder,
    env: { PORT: '0', AGENT_DIR: folder, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  return {
    child,
    folder,
    async url() {
      for await (const line of readLines(child.stdout)) {
        const parsed = LogLine.safeParse(JSON.parse(line))
        if (parsed.success) return parsed.data.url
      }
      throw new Error(await new Response(child.stderr).text())
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const TOKENS = { AGENT_MODEL: 'solo', GATEWAY_TOKEN: 'gw_1', PLATFORM_TOKEN: 'agt_1' }

test('stead agent: exits with 0 when SIGTERM is repeated, finishes the running turn and refuses new ones', async () => {
  const platform = startPlatformDouble()
  await using agent = await spawnAgent({ ...TOKENS, PLATFORM_URL: `${platform.url}/` })
  const url = await agent.url()
  const slow = hangs('begun')
  platform.next(slow.answerer)
  const asked = platform.nextAsked()
  const turn = fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer gw_1', 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }),
  })
  await asked
  agent.child.kill('SIGTERM')
  await until('the end of its door', () =>
    fetch(`${url}/healthz`).then(
      () => false,
      () => true,
    ),
  )
  agent.child.kill('SIGTERM')
  slow.release()
  expect((await turn).status).toBe(200)
  expect(await agent.child.exited).toBe(0)
  await platform.stop()
})

test('stead agent: reads its tokens from files when their variables name files', async () => {
  const platform = startPlatformDouble()
  const folder = await mkdtemp(join(tmpdir(), 'stead-secrets-'))
  await writeFile(join(folder, 'gateway'), 'gw_file\n')
  await writeFile(join(folder, 'platform'), 'agt_file\n')
  await using agent = await spawnAgent({
    AGENT_MODEL: 'solo',
    GATEWAY_TOKEN_FILE: join(folder, 'gateway'),
    PLATFORM_TOKEN_FILE: join(folder, 'platform'),
    PLATFORM_URL: platform.url,
  })
  const response = await fetch(`${await agent.url()}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer gw_file', 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }),
  })
  expect(response.status).toBe(200)
  expect(platform.tokens).toEqual(['Bearer agt_file'])
  await platform.stop()
  await rm(folder, { recursive: true })
})

const bad: [string, Record<string, string>][] = [
  ['PLATFORM_URL: must be an http or https URL, not "ftp://x"', { PLATFORM_URL: 'ftp://x' }],
  ['PORT: must be a number, not "abc"', { PORT: 'abc' }],
  ['GATEWAY_TOKEN_FILE: cannot be read', { GATEWAY_TOKEN_FILE: '/nowhere/token' }],
  ['AGENT_DIR: cannot be used', { AGENT_DIR: '/dev/null/x' }],
]
test.each(bad)('stead agent: exits with 78 and one line when given %s', async (line, environment) => {
  await using agent = await spawnAgent({ ...TOKENS, PLATFORM_URL: 'http://127.0.0.1:1', ...environment })
  expect(await agent.child.exited).toBe(78)
  const said = (await new Response(agent.child.stderr).text()).trim()
  expect(said).toStartWith(line)
  expect(said.split('\n')).toHaveLength(1)
})

const MISSING: [string, string[]][] = [
  ['no settings', []],
  ['all but the model', ['GATEWAY_TOKEN', 'PLATFORM_TOKEN', 'PLATFORM_URL']],
  ['all but the gateway token', ['AGENT_MODEL', 'PLATFORM_TOKEN', 'PLATFORM_URL']],
]
test.each(MISSING)(
  'stead agent: is live and never ready, and names the missing settings, when started with %s',
  async (_what, given) => {
    const all: Record<string, string> = { ...TOKENS, PLATFORM_URL: 'http://127.0.0.1:1' }
    const missing = Object.keys(all).filter((name) => !given.includes(name))
    await using agent = await spawnAgent(Object.fromEntries(given.map((name) => [name, all[name] ?? ''])))
    const url = await agent.url()
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ ok: true, status: 'live' })
    const readiness = await fetch(`${url}/readyz`)
    expect(readiness.status).toBe(503)
    const { failing, ready } = z
      .object({ ready: z.boolean(), failing: z.array(z.string()) })
      .parse(await readiness.json())
    expect({ ready, failing: failing.toSorted() }).toEqual({ ready: false, failing: missing.toSorted() })
    for (const authorization of ['', 'Bearer ', 'Bearer undefined', 'Bearer gw_1']) {
      const asked = await fetch(`${url}/sessions`, { headers: { authorization } })
      expect([asked.status, await asked.text()]).toEqual([503, expect.stringContaining('not configured')])
    }
    agent.child.kill('SIGTERM')
    expect(await agent.child.exited).toBe(0)
  },
)
