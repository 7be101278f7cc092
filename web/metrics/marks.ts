import type { Deployment } from '../../src/features/agents/deployments/schemas.ts'
import type { AgentWatchdog } from '../../src/features/agents/watchdog/schemas.ts'
import { kindOf, resultOf } from '../agent/work.ts'

/** `at` in ms. */
export type Mark = { at: number; kind: 'deployment' | 'crash'; text: string }

const crashes: Partial<Record<string, string>> = {
  crash: 'Crashed',
  crash_loop: 'Agent failed',
  degraded: 'Stopped responding',
}

export function toMarks(deployments: readonly Deployment[], events: AgentWatchdog['events'], from: number): Mark[] {
  const marks: Mark[] = [
    ...deployments.map((deployment) => ({
      at: Date.parse(deployment.requestedAt),
      kind: 'deployment' as const,
      text: `${kindOf(deployment)} ${resultOf(deployment)}`,
    })),
    ...events.flatMap(({ kind, at }) => {
      const text = crashes[kind]
      return text ? [{ at: Date.parse(at), kind: 'crash' as const, text }] : []
    }),
  ]
  return marks.filter(({ at }) => at >= from).sort((one, other) => one.at - other.at)
}
