import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type Docker from 'dockerode'
import { isEngineUnavailable, type RuntimeLogLine } from '../contract/runtime.ts'
import { orNull } from '../engine/engine.ts'
import { readLogLines, sinceOf } from '../engine/logs.ts'
import type { SwarmService } from './answers.ts'
import { type AgentService, findAgentService, look, type SwarmRuntimeParts } from './cluster.ts'

const LOOK_AGAIN_MS = 1000

/**
 * Returns the last `tail` lines of the remembered tasks, oldest first; none for a stopped agent, whose containers are
 * gone. Lines of other nodes arrive once the swarm knows that the task runs.
 */
export async function readServiceLog(
  deps: SwarmRuntimeParts,
  { service, tasks }: AgentService,
  tail: number,
): Promise<string[]> {
  if (tail === 0) return []
  const self = await look(deps, async (_docker, { nodeId }) => nodeId)
  const which = { stdout: true, stderr: true, timestamps: true, tail }
  const here = tasks.flatMap((task) => (task.NodeID === self && task.Status.ContainerStatus?.ContainerID) || [])
  const isElsewhere = tasks.some((task) => task.NodeID !== '' && task.NodeID !== self)
  const lines = await deps.engine.ask(async (docker, abortSignal) => {
    // Containers of this node are read without the swarm.
    const own = await Promise.all(
      here.map(async (id) => orNull(docker.getContainer(id).logs({ ...which, follow: false, abortSignal }))),
    )
    if (!isElsewhere) return Promise.all(own.map((bytes) => toLines(bytes === null ? [] : [bytes])))
    // `follow` makes the client return a stream; the query overrides it for the engine.
    const options = { follow: true, _query: { ...which, follow: false }, abortSignal }
    return [await toLines(toIterable(await docker.getService(service.ID).logs(options)))]
  })
  const inOrder = lines.flat().sort((a, b) => (sinceOf(a.cursor) < sinceOf(b.cursor) ? -1 : 1))
  return inOrder.slice(-tail).map(({ text }) => text)
}

/** Yields the agent's lines across tasks and nodes, until it is removed or `signal` aborts. */
export async function* followLines(
  deps: SwarmRuntimeParts,
  id: string,
  { after, signal }: { after: string | null; signal: AbortSignal },
): AsyncGenerator<RuntimeLogLine, void> {
  let cursor = after
  while (!signal.aborted) {
    try {
      const found = await findAgentService(deps, id)
      if (!found) return
      for await (const line of followOnce(deps, id, found.service, { after: cursor, signal })) {
        cursor = line.cursor
        yield line
      }
    } catch (error) {
      if (!isEngineUnavailable(error)) throw error
    }
    await pause(LOOK_AGAIN_MS, undefined, { signal }).catch(() => {})
  }
}

/**
 * Follows one service. The engine does not end the stream of a removed service, and a broken connection may stay
 * silent, so the service is polled.
 */
async function* followOnce(
  deps: SwarmRuntimeParts,
  id: string,
  service: SwarmService,
  { after, signal }: { after: string | null; signal: AbortSignal },
): AsyncGenerator<RuntimeLogLine, void> {
  const connection = new AbortController()
  const end = () => connection.abort()
  signal.addEventListener('abort', end)
  const timer = setInterval(async () => {
    const isThere = await findAgentService(deps, id).then(
      (found) => found?.service.ID === service.ID,
      () => false,
    )
    if (!isThere) end()
  }, LOOK_AGAIN_MS)
  try {
    const options = { follow: true as const, stdout: true, stderr: true, timestamps: true, since: sinceOf(after) }
    const stream = await deps.engine.stream(
      (docker) => docker.getService(service.ID).logs({ ...options, abortSignal: connection.signal }),
      connection.signal,
    )
    yield* readLogLines(toIterable(stream), after)
  } catch {
    // The next check decides whether the agent exists and the engine responds.
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', end)
    end()
  }
}

function toLines(chunks: AsyncIterable<unknown> | Iterable<unknown>): Promise<RuntimeLogLine[]> {
  return Array.fromAsync(readLogLines(Readable.from(chunks), null))
}

/** dockerode's type is less exact than the Node stream that it returns. */
function toIterable(stream: Awaited<ReturnType<Docker.Service['logs']>>): AsyncIterable<unknown> {
  return stream
}
