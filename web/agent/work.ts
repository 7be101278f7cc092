import type { Deployment } from '../../src/features/agents/deployments/schemas.ts'
import type { AgentStatus, AgentStatusEvent } from '../../src/features/agents/registry/schemas.ts'
import type { Operation } from './agent-api.ts'

const kinds: Partial<Record<string, string>> = {
  deploy: 'Deployment',
  start: 'Start',
  restart: 'Restart',
  update: 'Update',
  repair: 'Repair',
  'reset-memory': 'Memory reset',
  'restore-snapshot': 'Snapshot restore',
}

const steps: Partial<Record<string, string>> = {
  queued: 'queued',
  pull: 'pulling the image',
  stop: 'stopping the agent',
  snapshot: 'saving a snapshot',
  replace: 'restoring the snapshot',
  port: 'reserving a port',
  starting: 'starting the agent',
  health: 'waiting for the health check',
  reset: 'clearing its memory',
  restore: 'rolling back',
}

const results: Partial<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  refused: 'was rejected',
  'rolled-back': 'was rolled back',
  replaced: 'was superseded',
  cancelled: 'was canceled',
}

export function kindOf({ kind }: Pick<Deployment, 'kind'>): string {
  return kinds[kind] ?? kind
}

export function resultOf({ result }: Deployment): string {
  return result === null ? 'is running' : (results[result] ?? result)
}

/** Expects the newest first; returns the oldest unfinished one. */
export function findUnderWay(deployments: Deployment[]): Deployment | null {
  return deployments.findLast(({ result }) => result === null) ?? null
}

/** Prefers the live event, which also knows the progress of an image pull. */
export function describeStep(deployment: Deployment, event: AgentStatusEvent | null): string {
  const detail = event?.detail
  const isMore = detail && !steps[detail]
  return isMore ? detail : (steps[detail ?? deployment.step] ?? deployment.step)
}

/** Returns the image the agent runs on; null for plain processes and before the first update. */
export function findLastImage(deployments: Deployment[]): string | null {
  for (const { result, image, previousImage } of deployments) {
    if (result === 'succeeded' && image) return image
    if (result === 'rolled-back' && previousImage) return previousImage
  }
  return null
}

/** Returns why the action is unavailable, or null. */
export function whyNot(status: AgentStatus, verb: Operation['verb'] | 'start' | 'stop' | 'restart'): string | null {
  if (status === 'pending') return 'Not provisioned yet'
  if (status === 'provisioning') return 'Another operation is running'
  if (verb === 'start' && status === 'running') return 'Already running'
  if (verb === 'stop' && status === 'stopped') return 'Already stopped'
  if (verb === 'restart' && status === 'stopped') return 'Stopped: start the agent first'
  return null
}
