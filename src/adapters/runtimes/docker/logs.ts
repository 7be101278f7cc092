import { Readable } from 'node:stream'
import { isEngineUnavailable, type LogLine } from '../contract/runtime.ts'
import { hasStatus } from '../engine/engine.ts'
import { readLogLines, sinceOf } from '../engine/logs.ts'
import type { Container, StepDeps } from './steps.ts'

const LOOK_AGAIN_MS = 500

/** The last `tail` lines that this container wrote, oldest first. */
export async function readLastLines(deps: StepDeps, container: Container, tail: number): Promise<string[]> {
  const bytes = await deps.engine.change((docker, abortSignal) =>
    docker
      .getContainer(container.Id)
      .logs({ follow: false, stdout: true, stderr: true, timestamps: true, tail, abortSignal }),
  )
  return Array.fromAsync(readLogLines(Readable.from([bytes]), null), ({ text }) => text)
}

/**
 * The lines of an agent after `after` and those to come, from one container to the next, until `find` says that there is
 * none any more or `signal` aborts. While the engine does not answer it waits.
 */
export async function* followLines(
  deps: StepDeps,
  find: () => Promise<Container | null>,
  { after, signal }: { after: string | null; signal: AbortSignal },
): AsyncGenerator<LogLine, void> {
  let cursor = after
  let finished = ''
  while (!signal.aborted) {
    try {
      const container = await find()
      if (!container) return
      const run = `${container.Id} ${container.State.StartedAt}`
      if (container.State.Running || run !== finished) {
        for await (const line of readLogLines(await openLog(deps, container, cursor, signal), cursor)) {
          cursor = line.cursor
          yield line
        }
        finished = run
      }
    } catch (error) {
      // A container that is gone by now has a successor, or none: the next look will tell.
      if (!signal.aborted && !isEngineUnavailable(error) && !hasStatus(error, 404, 409)) throw error
    }
    await pause(LOOK_AGAIN_MS, signal)
  }
}

function openLog(deps: StepDeps, container: Container, cursor: string | null, signal: AbortSignal) {
  const which = { stdout: true, stderr: true, timestamps: true, since: sinceOf(cursor) }
  return deps.engine.stream(
    (docker) => docker.getContainer(container.Id).logs({ follow: true, ...which, abortSignal: signal }),
    signal,
  )
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const wake = () => resolve()
  signal.addEventListener('abort', wake)
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', wake)
  })
}
