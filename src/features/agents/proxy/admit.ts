import { orAborted } from '../../../core/concurrency/or-aborted.ts'
import { AppError } from '../../../core/errors.ts'
import { isSameSecret } from '../../../core/secrets.ts'
import { readBearer } from '../../../http/internal-key.ts'
import type { AgentActivity } from '../sleep/activity.ts'
import type { Wake } from '../sleep/wake.ts'
import type { FindGateway } from './find.ts'

export type AdmitDeps = { activity: AgentActivity; wake: Wake; findGateway: FindGateway }

/** Where the agent listens, and what lets it sleep again when the request is over. */
export type Admission = { gateway: ReturnType<FindGateway>; release: () => void }

/**
 * Finds the agent that a request is for. Who shows its token keeps it awake, and wakes it when it sleeps: strangers do
 * neither, or whoever knows its address could keep it running.
 * @throws AppError as `FindGateway` and `Wake`, `unauthenticated` for a stranger at a sleeping agent.
 */
export async function admit(deps: AdmitDeps, id: string, request: Request): Promise<Admission> {
  const gateway = deps.findGateway(id)
  const token = readBearer(request.headers.get('authorization') ?? undefined)
  if (token === null || !isSameSecret(token, gateway.gatewayToken)) {
    if (gateway.isAsleep) throw new AppError('unauthenticated', 'Unauthorized')
    return { gateway, release: () => undefined }
  }
  const release = deps.activity.hold(id)
  if (!gateway.isAsleep) return { gateway, release }
  try {
    await orAborted(deps.wake(id), request.signal)
    // It may listen elsewhere than before, and it may have been stopped.
    return { gateway: deps.findGateway(id), release }
  } catch (error) {
    release()
    throw error
  }
}
