import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { toByteLink } from '../../tunnel/byte-link.ts'
import { readLines } from '../../tunnel/lines.ts'
import { type MachineLinks, machineOffline } from '../../tunnel/links.ts'
import { LogLine, type LogRequest, TARGETS } from '../../tunnel/services.ts'
import { createBroadcast } from '../contract/events.ts'
import type { AgentKind } from '../contract/runtime.ts'
import {
  agentNotFound,
  MAX_LOG_LINES,
  type Runtime,
  type RuntimeEvent,
  type RuntimeLogLine,
} from '../contract/runtime.ts'
import { createNoRuntime } from '../contract/runtimes.ts'

const LOGS_MS = 10_000

/** The machine that runs an agent. */
export type AgentMachine = { id: string; kind: AgentKind; version: string | null; startedAt: Date | null }

/** Reaches agents on their owners' machines through tunnels. It cannot start, stop or change them. */
export function createMachineRuntime(deps: {
  links: Pick<MachineLinks, 'stateOf' | 'openStream'>
  /** Returns null for an unknown agent. */
  findMachine: (agentId: string) => AgentMachine | null
}): Runtime {
  const { links } = deps
  const refusing = createNoRuntime('machine', 'This agent runs on your own machine', 'conflict')
  const requireMachine = (agentId: string): AgentMachine => {
    const machine = deps.findMachine(agentId)
    if (!machine) throw agentNotFound()
    return machine
  }

  async function* followLines(id: string, request: LogRequest, signal: AbortSignal): AsyncGenerator<RuntimeLogLine> {
    const stream = links.openStream(requireMachine(id).id, TARGETS.logs)
    const leave = () => stream.destroy()
    signal.addEventListener('abort', leave, { once: true })
    try {
      stream.end(`${JSON.stringify(request)}\n`)
      for await (const line of readLines(stream)) yield toLogLine(line)
    } catch (error) {
      if (signal.aborted) return
      throw error instanceof AppError ? error : machineOffline(error)
    } finally {
      signal.removeEventListener('abort', leave)
      stream.destroy()
    }
  }

  return {
    ...refusing,
    egressGap: () => 'This agent runs on your own machine, whose network Stead does not limit',
    remove: async () => undefined,
    async inspect(id) {
      const machine = requireMachine(id)
      const { port } = links.stateOf(machine.id)
      if (port === null) return null
      const { kind, version, startedAt } = machine
      const running = { state: 'running', host: '127.0.0.1', image: null, exitCode: null } as const
      return { ...running, id, kind, version, startedAt, port, isOutOfMemory: false, restarts: 0 }
    },
    async logs(id, { tail }) {
      const lines: string[] = []
      const request = { after: null, tail: Math.min(tail, MAX_LOG_LINES), follow: false }
      for await (const { text } of followLines(id, request, AbortSignal.timeout(LOGS_MS))) lines.push(text)
      return lines
    },
    followLogs: (id, { after, signal }) => followLines(id, { after, tail: MAX_LOG_LINES, follow: true }, signal),
    watch: (signal) => createBroadcast<RuntimeEvent>().listen(signal),
    list: async () => [],
    openFiles: async (id) => {
      const machine = requireMachine(id)
      return { connect: async () => toByteLink(links.openStream(machine.id, TARGETS.files)) }
    },
    measureStored: async () => new Map(),
    findImage: async () => null,
    isAvailable: async () => true,
  }
}

/** @throws AppError `upstream_failed` for a line that is no log line. */
function toLogLine(text: string): RuntimeLogLine {
  const parsed = z.string().transform(parseJson).pipe(LogLine).safeParse(text)
  if (parsed.success) return parsed.data
  throw new AppError('upstream_failed', 'The machine sent something that is no log', {}, { cause: parsed.error })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
