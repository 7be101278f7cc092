import { agentNotFound } from '../contract/runtime.ts'
import { readState } from '../engine/archive.ts'
import { agentDrivers } from '../engine/drivers.ts'
import type { Engine } from '../engine/engine.ts'
import { driverOf, findContainer } from './agent.ts'
import { AskedFor } from './watch.ts'

/**
 * Writes all that an agent has stored to `file`, a gzipped tar of mode 0600, whether it runs or not, and changes nothing in
 * the engine. What it writes meanwhile may be in it or not.
 * @throws AppError `not_found` when it has no container, `internal` {code: 'ENGINE_UNAVAILABLE'}.
 */
export async function readStoredInDocker(
  { engine, instance }: { engine: Engine; instance: string },
  id: string,
  file: string,
): Promise<void> {
  const container = await findContainer({ engine, instance, asked: new AskedFor() }, id)
  if (!container) throw agentNotFound()
  await readState(engine, container.Id, driverOf({ drivers: agentDrivers }, container).stateDir, file)
}
