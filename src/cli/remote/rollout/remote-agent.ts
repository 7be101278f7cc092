import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '../../../core/errors.ts'
import { DeploymentList, UpdatedImage } from '../../../features/agents/deployments/schemas.ts'
import type { WebAgent } from '../../../features/agents/registry/schemas.ts'
import type { ServerClient } from '../client.ts'
import { toPlain } from '../table.ts'
import type { Member } from './roll-out.ts'

/** An agent on a server as a roll-out member. */
export type RemoteAgent = Member & { id: string }

const LOOK_MS = 1000

/** `image` is the target; the newest image without one. */
export function toRemoteAgent(server: ServerClient, { id, name }: WebAgent, image?: string): RemoteAgent {
  const path = `/api/agents/${encodeURIComponent(id)}`
  const update = async (wanted?: string) => {
    const body = wanted === undefined ? {} : { image: wanted }
    const updated = await server.ask(UpdatedImage, 'POST', `${path}/update`, body)
    if (updated.message !== undefined) process.stderr.write(`${toPlain(`${name}: ${updated.message}`)}\n`)
    if (updated.status === 'provisioning') await waitForEnd(server, path)
    return updated
  }
  return {
    id,
    name,
    update: async () => {
      const { previousImage, image: current } = await update(image)
      if (previousImage === null || previousImage === current) return null
      return async () => void (await update(previousImage))
    },
  }
}

/**
 * Waits for an update that outlasts its response, for example during a slow image pull.
 * @throws AppError with the reason of a failure.
 */
async function waitForEnd(server: ServerClient, path: string): Promise<void> {
  for (;;) {
    const { deployments } = await server.ask(DeploymentList, 'GET', `${path}/deployments`)
    const [last] = deployments
    if (!last || last.result === 'succeeded') return
    if (last.result !== null) throw new AppError('internal', last.reason ?? `its update is ${last.result}`)
    await pause(LOOK_MS)
  }
}
