import { watchAgentEvents } from '../registry/events.ts'
import { type ReconcileDeps, reconcileAgent } from './reconcile.ts'

/**
 * Listens to the runtimes until `signal` aborts and compares each agent that something happened to with its row. One that
 * died is the watchdog's business.
 */
export async function watchAgents(deps: ReconcileDeps, signal: AbortSignal): Promise<void> {
  for await (const { id } of watchAgentEvents(deps, signal)) await reconcileAgent(deps, id, new Map())
}
