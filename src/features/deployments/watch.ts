import { type ReconcileDeps, reconcileAgent } from './reconcile.ts'

/**
 * Listens to the engine until `signal` aborts and compares each agent that something happened to with its row. One that
 * died is the watchdog's business. Nothing happens without an engine.
 */
export async function watchAgents(deps: ReconcileDeps, signal: AbortSignal): Promise<void> {
  if (!(await deps.runtime.isAvailable())) return
  for await (const { id } of deps.runtime.watch(signal)) await reconcileAgent(deps, id, new Map())
}
