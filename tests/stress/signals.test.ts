import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent, signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { answerLikeAModel, withProvider } from '../integration/journeys/main-job.ts'

const ROOT = join(import.meta.dir, '..', '..')
const FROM_SOURCE = { command: undefined, serve: ['serve'] }
const BY_BUN_START = { command: [process.execPath, 'run', '--silent', 'start'] as const, serve: [] }

/** Sends the signal to all processes of the group, as a terminal does. */
function signalAll(pid: number, signal: NodeJS.Signals): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  // The agents are not in the terminal's process group.
  const isService = (child: number) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('serve')
  for (const process_ of [pid, ...children.filter(isService)]) process.kill(process_, signal)
}

test.each([
  ['a doubled SIGTERM', 'SIGTERM', FROM_SOURCE],
  ['a doubled SIGINT', 'SIGINT', FROM_SOURCE],
  ['SIGINT from a terminal to bun start', 'SIGINT', BY_BUN_START],
] as const)(
  '%s: running requests are answered, and the service exits with 0',
  async (_what, signal, { command, serve }) => {
    await using provider = await startProvider()
    await using installation = await openInstallation({
      environment: withProvider(provider),
      serve: [...serve],
      ...(command && { command, cwd: ROOT }),
    })
    const program = await installation.start()
    const person = await signUp(program.urls.web)
    const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
    const isStopping = Promise.withResolvers<void>()
    provider.answerWith(async (request) => {
      await isStopping.promise
      return answerLikeAModel(request)
    })
    const asking = person.post('/api/chat', { agentId, message: 'Please keep a note' })
    await until('the call at the provider', () => provider.chats.length > 0)
    signalAll(program.pid, signal)
    const stops = () => program.lines.some((line) => line.includes('stopping'))
    await until('the log line of the shutdown', stops)
    signalAll(program.pid, signal)
    // The second signal must kill the process before the reply is released.
    await Bun.sleep(200)
    isStopping.resolve()
    expect((await asking).status).toBe(200)
    const { exitCode, stdout } = await program.ended()
    expect(exitCode).toBe(0)
    // The hint appears for Ctrl-C only, where the user may expect the agents to end too.
    expect(stdout.includes('1 agent goes on running')).toBe(signal === 'SIGINT')
  },
  300_000,
)
