import { z } from 'zod'
import type { Person } from '../../harness/client.ts'
import { json } from '../../harness/requests.ts'
import { STEAD } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { readLines } from '../../harness/wires/lines.ts'

const Line = z.looseObject({ event: z.string() })
const Key = z.object({ id: z.string(), key: z.string() })

/**
 * Starts `stead home` or `stead link` with `--json` as a process, killed at the end of the block. `prefix` is a command
 * that runs it, for example in a network namespace.
 */
export function startMachine(args: string[], environment: Record<string, string> = {}, prefix: string[] = []) {
  const child = Bun.spawn([...prefix, ...STEAD, ...args, '--json'], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nowhere', ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const events: z.infer<typeof Line>[] = []
  const stderr = new Response(child.stderr).text()
  const reading = (async () => {
    for await (const line of readLines(child.stdout)) events.push(Line.parse(JSON.parse(line)))
  })()
  const ended = async () => {
    const exitCode = await child.exited
    await reading
    return { exitCode, stderr: await stderr, events: events.map(({ event }) => event) }
  }
  return {
    pid: child.pid,
    events,
    ended,
    /** Waits for the next event of this name, starting at line `after`. */
    next: (event: string, after: number) =>
      until(`the event ${event}`, async () => {
        const found = events.slice(after).find((line) => line.event === event)
        if (!found && child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}: ${await stderr}`)
        return found
      }),
    stop: () => {
      child.kill('SIGTERM')
      return ended()
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

/** Creates an `sk_` key of `person`. */
export async function createKey(person: Person): Promise<z.infer<typeof Key>> {
  return Key.parse(await (await person.post('/api/keys', { name: 'home' })).json())
}

/** Requests a chat completion at a gateway. */
export function chat(gatewayUrl: string, token: string, content: string): Promise<Response> {
  const body = { model: 'default', messages: [{ role: 'user', content }] }
  return fetch(`${gatewayUrl}/v1/chat/completions`, json('POST', body, { authorization: `Bearer ${token}` }))
}
