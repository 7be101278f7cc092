import { expect, onTestFinished, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { callsTool, hangs, says, startPlatformDouble } from '../../../tests/harness/doubles/platform.ts'
import { json, read } from '../../../tests/harness/requests.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'
import { until } from '../../../tests/harness/until.ts'

const MAIN = join(import.meta.dir, '../../main.ts')
const LIMIT_MS = 60_000
const AUTHORIZED = { authorization: 'Bearer gw_1' }
const History = z.object({ items: z.array(z.object({ role: z.string(), content: z.string() })).default([]) })
const Chunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().optional() }) })).default([]),
  stead: z.looseObject({ type: z.string() }).optional(),
  error: z.looseObject({ code: z.string().optional(), message: z.string() }).optional(),
})

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('There is no port')
  return address.port
}

/** Starts `stead agent` on a fixed port, to be killed and restarted in the same folder. */
async function startKillableAgent() {
  const folder = await mkdtemp(join(tmpdir(), 'stead-agent-'))
  const platform = startPlatformDouble()
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const start = () =>
    Bun.spawn([process.execPath, MAIN, 'agent'], {
      cwd: folder,
      env: {
        PORT: String(port),
        AGENT_DIR: folder,
        AGENT_MODEL: 'solo',
        GATEWAY_TOKEN: 'gw_1',
        PLATFORM_TOKEN: 'agt_1',
        PLATFORM_URL: platform.url,
      },
      stdout: 'ignore',
      stderr: 'inherit',
    })
  let child = start()
  const isLive = async () => (await fetch(`${url}/healthz`).catch(() => null))?.ok
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await child.exited
    await platform.stop()
    await rm(folder, { recursive: true, force: true })
  })
  await until('the agent', isLive)
  return {
    platform,
    ask: (content: string) =>
      fetch(`${url}/v1/chat/completions`, {
        ...json('POST', { model: 'default', stream: true, messages: [{ role: 'user', content }] }),
        headers: { ...AUTHORIZED, 'content-type': 'application/json', 'x-session-key': 's', 'x-turn-id': 'turn_1' },
      }),
    joinRaw: () => fetch(`${url}/turns/turn_1`, { headers: AUTHORIZED }),
    join: async () => readStream(await (await fetch(`${url}/turns/turn_1`, { headers: AUTHORIZED })).text()),
    history: async () =>
      (await read(History, fetch(`${url}/sessions/s/history`, { headers: AUTHORIZED }))).items.map(
        ({ content }) => content,
      ),
    async killAndStart() {
      child.kill('SIGKILL')
      await child.exited
      child = start()
      await until('the agent again', isLive)
    },
  }
}

function readStream(body: string) {
  const chunks = body
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => Chunk.parse(JSON.parse(line.slice('data: '.length))))
  return {
    text: chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''),
    steps: chunks.flatMap(({ stead }) => (stead ? [stead] : [])),
    error: chunks.flatMap(({ error }) => error ?? [])[0] ?? null,
  }
}

test(
  'GET /turns/:id: 200 with the answer of a new model call when the process was killed before or during the first one',
  async () => {
    const { platform, ask, join: joinTurn, history, killAndStart } = await startKillableAgent()
    platform.next(hangs().answerer, hangs('Half an ').answerer)
    ask('Hi').catch(() => undefined)
    await until('the first call', () => platform.asked.length === 1)
    await killAndStart()
    const second = joinTurn().catch(() => undefined)
    await until('the second call', () => platform.asked.length === 2)
    await killAndStart()
    await second
    platform.next(says('Whole.'))
    const stream = await joinTurn()
    expect(stream).toMatchObject({ text: 'Whole.', steps: [{ type: 'restart', restarts: 2 }], error: null })
    expect(await joinTurn()).toMatchObject({ text: 'Whole.' })
    expect(await history()).toEqual(['Hi', 'Whole.'])
    expect(platform.asked).toHaveLength(3)
  },
  LIMIT_MS,
)

test(
  'GET /turns/:id: 200 with the rest of the turn after a kill; the last finished tool does not run again',
  async () => {
    const { platform, ask, join: joinTurn, history, killAndStart } = await startKillableAgent()
    const remembered: unknown[] = []
    platform.answerAt('/v1/memory', async (request) => {
      if (request.method === 'POST') remembered.push(await request.json())
      return Response.json({ facts: [] })
    })
    platform.next(callsTool('remember', { fact: 'Ada likes tea' }, 'I note that.'), hangs('Half an ').answerer)
    ask('I like tea').catch(() => undefined)
    await until('the call after the tool', () => platform.asked.length === 2)
    await killAndStart()
    platform.next(says('Noted.'))
    const stream = await joinTurn()
    expect(stream).toMatchObject({ text: 'I note that.\n\nNoted.', error: null })
    expect(stream.steps).toMatchObject([
      { type: 'restart', restarts: 1 },
      { type: 'tool', name: 'remember', success: true },
    ])
    expect(remembered).toHaveLength(1)
    expect(platform.asked).toHaveLength(3)
    expect(platform.asked[2]?.messages.slice(1)).toEqual(platform.asked[1]?.messages.slice(1) ?? [])
    expect(await history()).toEqual(['I like tea', 'I note that.\n\nNoted.'])
  },
  LIMIT_MS,
)

test(
  'GET /turns/:id: 200 after a kill; the interrupted tool does not run again, and the model gets a note',
  async () => {
    const { platform, ask, join: joinTurn, killAndStart } = await startKillableAgent()
    const remembered: unknown[] = []
    platform.answerAt('/v1/memory', async (request) => {
      if (request.method !== 'POST') return Response.json({ facts: [] })
      remembered.push(await request.json())
      return new Promise(() => undefined)
    })
    platform.next(callsTool('remember', { fact: 'Ada likes tea' }))
    ask('I like tea').catch(() => undefined)
    await until('the tool', () => remembered.length === 1)
    await killAndStart()
    platform.next(says('It may be noted.'))
    const stream = await joinTurn()
    expect(stream).toMatchObject({ text: 'It may be noted.', error: null })
    expect(stream.steps).toMatchObject([{ type: 'restart' }, { type: 'tool', name: 'remember', success: false }])
    expect(remembered).toHaveLength(1)
    const result = platform.asked[1]?.messages.at(-1)
    expect(result).toMatchObject({ role: 'tool', tool_call_id: 'call_remember' })
    expect(String(result?.content)).toContain('Interrupted')
  },
  LIMIT_MS,
)

test(
  'GET /turns/:id: 409 TURN_INTERRUPTED with the step after three restarts; the session has the finished steps',
  async () => {
    const { platform, ask, join: joinTurn, joinRaw, history, killAndStart } = await startKillableAgent()
    platform.answerAt('/v1/memory', () => Response.json({ facts: [] }))
    platform.next(callsTool('remember', { fact: 'Ada likes tea' }))
    platform.next(...Array.from({ length: 4 }, () => hangs('Half').answerer))
    ask('I like tea').catch(() => undefined)
    for (let calls = 2; calls <= 5; calls += 1) {
      await until(`call ${calls}`, () => platform.asked.length === calls)
      await killAndStart()
      joinTurn().catch(() => undefined)
    }
    await until('the end', async () => (await history()).length > 0)
    const stream = await joinRaw()
    expect([stream.status, await stream.json()]).toMatchObject([
      409,
      { error: { code: 'TURN_INTERRUPTED', message: expect.stringContaining('remember') } },
    ])
    expect((await history())[1]).toContain('interrupted')
    expect(platform.asked).toHaveLength(5)
  },
  LIMIT_MS,
)

test(
  'POST /v1/chat/completions: 200 after a new model call when the platform ends during a turn with x-turn-id',
  async () => {
    const first = startPlatformDouble()
    await using agent = await startTestAgent({ maxTurnMs: 60_000 }, first)
    first.next(callsTool('write_file', { path: 'a.md', content: 'Tea' }), hangs('Half an ').answerer)
    const answer = agent.call('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-session-key': 's', 'x-turn-id': 'turn_1' },
      body: JSON.stringify({ model: 'default', stream: true, messages: [{ role: 'user', content: 'Write' }] }),
    })
    const body = answer.then((response) => response.text())
    await until('the call after the tool', () => first.asked.length === 2)
    await until('its first word', async () => (await agent.call('/healthz')).ok)
    await first.stop()
    const second = startPlatformDouble(undefined, first.port)
    onTestFinished(async () => void (await second.stop()))
    second.next(says('Written.'))
    const stream = readStream(await body)
    expect(stream.error).toBeNull()
    expect(stream.text).toEndWith('Written.')
    expect(stream.steps.map(({ type }) => type)).toEqual(['tool', 'restart', 'tool'])
    expect(second.asked).toHaveLength(1)
    expect(second.asked[0]?.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_write_file' })
  },
  LIMIT_MS,
)
