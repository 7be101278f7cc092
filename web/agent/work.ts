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
  'restore-snapshot': 'Return to a snapshot',
}

const steps: Partial<Record<string, string>> = {
  queued: 'waiting for its turn',
  pull: 'fetching the image',
  stop: 'stopping the agent',
  snapshot: 'keeping a snapshot',
  replace: 'putting the snapshot back',
  port: 'reserving a port',
  starting: 'starting the agent',
  health: 'waiting until it answers',
  reset: 'clearing its memory',
  restore: 'going back to what it was',
}

const results: Partial<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  refused: 'was refused',
  'rolled-back': 'went back',
  replaced: 'was replaced by a later one',
  cancelled: 'was called off',
}

/** What kind of work a deployment was, as a noun. */
export function kindOf({ kind }: Pick<Deployment, 'kind'>): string {
  return kinds[kind] ?? kind
}

/** What became of a deployment, as the end of a sentence. */
export function resultOf({ result }: Deployment): string {
  return result === null ? 'is under way' : (results[result] ?? result)
}

/** What is being done to an agent now: of a list that is newest first the oldest that has not ended. */
export function findUnderWay(deployments: Deployment[]): Deployment | null {
  return deployments.findLast(({ result }) => result === null) ?? null
}

/** Says what an unfinished deployment is at; the live event may know more, such as how far an image has come. */
export function describeStep(deployment: Deployment, event: AgentStatusEvent | null): string {
  const detail = event?.detail
  const isMore = detail && !steps[detail]
  return isMore ? detail : (steps[detail ?? deployment.step] ?? deployment.step)
}

/** The image an agent runs on as its history tells; null where agents are processes, or before a first update. */
export function findImage(deployments: Deployment[]): string | null {
  for (const { result, image, previousImage } of deployments) {
    if (result === 'succeeded' && image) return image
    if (result === 'rolled-back' && previousImage) return previousImage
  }
  return null
}

/** Why something cannot be asked of an agent now, or null when it can. */
export function whyNot(status: AgentStatus, verb: Operation['verb'] | 'start' | 'stop' | 'restart'): string | null {
  if (status === 'pending') return 'It has not been set up yet'
  if (status === 'provisioning') return 'Something is being done to it already'
  if (verb === 'start' && status === 'running') return 'It runs already'
  if (verb === 'stop' && status === 'stopped') return 'It is stopped already'
  if (verb === 'restart' && status === 'stopped') return 'It is stopped: start it'
  return null
}
