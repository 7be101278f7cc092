import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { openDatabase } from '../../../src/db/open.ts'
import { WebAgentDetail } from '../../../src/features/agents/registry/schemas.ts'
import { MessageList, SentMessage } from '../../../src/features/conversations/chat/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { read } from '../../harness/requests.ts'
import { dumpTables } from '../../harness/rows/dump.ts'
import { type Installation, openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { readTree } from '../backups/installation.ts'
import { answerLikeAModel, withProvider } from './main-job.ts'

const PATIENCE_MS = 600_000

const Created = z.object({ file: z.string(), agents: z.array(z.object({ id: z.string(), state: z.string() })) })

async function say(person: Person, agentId: string, message: string): Promise<string | null> {
  return (await read(SentMessage, person.post('/api/chat', { agentId, message }))).reply ?? null
}

async function create(installation: Installation, out: string) {
  const made = await installation.run(['backup', 'create', '--out', out, '--json'])
  expect(made).toMatchObject({ exitCode: 0, stderr: '' })
  return Created.parse(JSON.parse(made.stdout))
}

function dump(dataDir: string): string {
  const connection = openDatabase(join(dataDir, 'stead.db'))
  try {
    return dumpTables(connection.db)
  } finally {
    connection.close()
  }
}

test(
  'stead backup …: created while running, verified, and restored by another installation with the agent’s memory',
  async () => {
    await using provider = await startProvider(answerLikeAModel)
    await using original = await openInstallation({ environment: withProvider(provider) })
    await using other = await openInstallation({ environment: withProvider(provider) })
    const program = await original.start()
    const person = await signUp(program.urls.web)
    const agentId = await createAgent(person)
    await say(person, agentId, 'Good morning')
    expect(await say(person, agentId, 'Please keep a note')).toBe('The note says: Tea at four.')

    const out = join(original.dataDir, '..', 'out')
    const online = await create(original, out)
    expect(online.agents).toMatchObject([{ id: agentId }])
    expect(['whole', 'moving']).toContain(online.agents[0]?.state ?? '')
    expect((await original.run(['backup', 'verify', online.file])).exitCode).toBe(0)
    const busy = await original.run(['backup', 'restore', online.file, '--data-dir', original.dataDir, '--in-place'])
    expect(busy).toMatchObject({ exitCode: 75, stdout: '' })

    await program.stop()
    const pids = [...(await original.agentPids()).values()]
    expect(pids).toHaveLength(1)
    const inPlace = await original.run(['backup', 'restore', online.file, '--data-dir', original.dataDir, '--in-place'])
    expect(inPlace).toMatchObject({ exitCode: 0, stderr: '' })
    expect(inPlace.stdout).toContain(`Ended the agents that ran: ${agentId}.\n`)
    expect(inPlace.stdout).toEndWith(`Next:\n  DATA_DIR=${original.dataDir} stead serve\n`)
    // A zombie process has an empty command line.
    const isRunning = (pid: number) => existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`).length > 0
    expect(pids.filter(isRunning)).toEqual([])

    const { file } = await create(original, out)
    const restored = await other.run(['backup', 'restore', file, '--data-dir', other.dataDir])
    expect(restored).toMatchObject({ exitCode: 0, stderr: '' })
    expect(restored.stdout).toContain(`Next, because this is a copy of the installation at ${original.dataDir}`)
    expect(restored.stdout).toEndWith(
      `  DATA_DIR=${other.dataDir} stead adopt\n  DATA_DIR=${other.dataDir} stead serve\n`,
    )
    expect(dump(other.dataDir)).toBe(dump(original.dataDir))
    const stateOf = (installation: Installation) => readTree(join(installation.dataDir, 'agents', agentId, 'state'))
    expect(stateOf(other)).toEqual(stateOf(original))

    const adopted = await other.run(['adopt', '--json'])
    expect(JSON.parse(adopted.stdout)).toEqual({ original: { path: original.dataDir, isTold: true } })
    const again = await other.start()
    const returned = await signIn(again.urls.web)
    // The restored status is `running` before the new process listens; until then requests get status 503.
    const question = 'Do you remember me?'
    await until('the agent answers', async () => {
      const answer = await returned.post('/api/chat', { agentId, message: question })
      if (answer.status === 503) return false
      expect((await read(SentMessage, Promise.resolve(answer))).reply).toBe(`You said: ${question}`)
      return true
    })
    const reported = provider.chats.at(-1)?.body.messages.map(({ content }) => content)
    expect(reported).toContain('Good morning')
    const { messages } = await read(MessageList, returned.get(`/api/chat?agentId=${agentId}`))
    expect(messages.map(({ content }) => content)).toContain('The note says: Tea at four.')
    await again.stop()
  },
  PATIENCE_MS,
)

test(
  'stead backup restore: the folder of an interrupted restore refuses to start until the restore is repeated',
  async () => {
    await using installation = await openInstallation()
    const made = await installation.run(['user', 'create', 'ada@example.com', '--password-stdin'], {
      stdin: 'a long password',
    })
    expect(made.exitCode).toBe(0)
    const folder = join(installation.dataDir, '..', 'half')
    const { file } = await create(installation, join(installation.dataDir, '..', 'out'))
    const environment = { DATA_DIR: folder }
    const marker = Bun.write(join(folder, 'restore.unfinished'), JSON.stringify({ replaced: null, isAside: true }))
    await marker
    for (const args of [['serve'], ['user', 'list'], ['migrate']]) {
      const { exitCode, stderr } = await installation.run(args, { environment })
      expect({ exitCode, stderr }).toEqual({
        exitCode: 78,
        stderr: `stead: DATA_DIR: a restore into ${folder} was interrupted: run stead backup restore again\n`,
      })
    }
    expect(existsSync(join(folder, 'stead.db'))).toBe(false)
    expect((await installation.run(['backup', 'restore', file, '--data-dir', folder])).exitCode).toBe(0)
    expect((await installation.run(['user', 'list'], { environment })).stdout).toContain('ada@example.com')
  },
  PATIENCE_MS,
)

test(
  'stead backup restore --agent: restores a deleted agent that slept at the backup while Stead runs',
  async () => {
    await using provider = await startProvider(answerLikeAModel)
    const sleepy = { AGENT_SLEEP_MINUTES: '0.02' }
    await using installation = await openInstallation({ environment: { ...withProvider(provider), ...sleepy } })
    const program = await installation.start()
    const person = await signUp(program.urls.web)
    const agentId = await createAgent(person)
    await say(person, agentId, 'Good morning')
    const statusOf = async () => (await read(WebAgentDetail, person.get(`/api/agents/${agentId}`))).agent.status
    await until('the agent sleeps', async () => (await statusOf()) === 'sleeping')
    await until('no process', async () => (await installation.agentPids()).size === 0)
    const stored = readTree(join(installation.dataDir, 'agents', agentId, 'state'))

    const { file, agents } = await create(installation, join(installation.dataDir, '..', 'out'))
    expect(agents).toMatchObject([{ id: agentId, state: 'whole' }])
    const order = ['backup', 'restore', file, '--agent', agentId]
    expect(await installation.run(order)).toMatchObject({
      exitCode: 1,
      stderr: `stead: restore: agent ${agentId} exists: use --replace to overwrite it\n`,
    })
    expect((await person.delete(`/api/agents/${agentId}`)).ok).toBe(true)
    await until('nothing of it', () => !existsSync(join(installation.dataDir, 'agents', agentId, 'state')))

    const restored = await installation.run(order)
    expect(restored).toMatchObject({ exitCode: 0, stderr: '' })
    expect(restored.stdout).toContain('It is stopped: start it to go on.')
    expect(await statusOf()).toBe('stopped')
    expect((await person.post(`/api/agents/${agentId}/start`, {})).status).toBe(200)
    expect(await say(person, agentId, 'Do you remember me?')).toBe('You said: Do you remember me?')
    expect(provider.chats.at(-1)?.body.messages.map(({ content }) => content)).toContain('Good morning')
    const back = readTree(join(installation.dataDir, 'agents', agentId, 'state'))
    expect(Object.keys(back)).toEqual(expect.arrayContaining(Object.keys(stored)))
    const { messages } = await read(MessageList, person.get(`/api/chat?agentId=${agentId}`))
    expect(messages.map(({ content }) => content)).toContain('Good morning')
    await program.stop()
  },
  PATIENCE_MS,
)
