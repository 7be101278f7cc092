import { useEffect, useState } from 'react'
import { AgentStatusEvent, type DeploymentStep } from '../../src/features/agents/registry/schemas.ts'
import { whileInSight } from '../api/while-in-sight.ts'
import { agentEventsPath, getAgent } from './agents-api.ts'

export const deploymentSteps: { step: DeploymentStep; label: string; detail: string }[] = [
  { step: 'queued', label: 'Queued', detail: 'Waiting in the queue' },
  { step: 'port', label: 'Port', detail: 'Reserving a port for the gateway' },
  { step: 'starting', label: 'Starting', detail: 'Starting the agent' },
  { step: 'health', label: 'Health', detail: 'Waiting for the health check' },
  { step: 'running', label: 'Running', detail: 'Ready to chat' },
]

/** `reached` indexes `deploymentSteps`; `error` says why it failed. */
export type Deployment = { reached: number; outcome: 'working' | 'running' | 'failed'; error: string | null }

const start: Deployment = { reached: 0, outcome: 'working', error: null }

/** Follows a deployment until the agent runs or fails. `again` starts over after a restart. */
export function useDeployment(agentId: string) {
  const [attempt, setAttempt] = useState(0)
  const [deployment, setDeployment] = useState(start)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt opens a new stream
  useEffect(() => {
    let known = start
    setDeployment(known)
    return followDeployment(agentId, (event) => {
      known = advance(known, event)
      setDeployment(known)
      return known.outcome === 'working'
    })
  }, [agentId, attempt])
  return { deployment, again: () => setAttempt(attempt + 1) }
}

/** Applies one event; a step never goes back. */
export function advance(known: Deployment, { status, step, error }: AgentStatusEvent): Deployment {
  if (status === 'running' || status === 'sleeping' || step === 'running') {
    return { reached: deploymentSteps.length - 1, outcome: 'running', error: null }
  }
  if (status === 'error' || step === 'failed') {
    return { ...known, outcome: 'failed', error: error ?? 'The deployment failed without an error message.' }
  }
  if (status === 'stopped')
    return { ...known, outcome: 'failed', error: error ?? 'The agent was stopped before it was ready.' }
  const index = deploymentSteps.findIndex((candidate) => candidate.step === step)
  return { ...known, reached: Math.max(known.reached, index) }
}

/** Calls `onEvent` for each event until it returns false; polls every two seconds where event streams are blocked. */
export function followDeployment(agentId: string, onEvent: (event: AgentStatusEvent) => boolean): () => void {
  let poll: ReturnType<typeof setInterval> | undefined
  const close = () => {
    leave()
    clearInterval(poll)
  }
  const hand = (event: AgentStatusEvent) => onEvent(event) || close()
  const ask = () =>
    getAgent(agentId).then(({ status }) => hand({ status, step: null, error: null }), ignoreUntilNextTime)
  const leave = whileInSight(() => {
    const source = new EventSource(agentEventsPath(agentId))
    source.addEventListener('status', ({ data }) => {
      const event = AgentStatusEvent.safeParse(parseJson(data))
      if (event.success) hand(event.data)
    })
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) poll ??= setInterval(() => void ask(), 2_000)
    })
    return source
  })
  return close
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return null
  }
}

function ignoreUntilNextTime(): void {}
