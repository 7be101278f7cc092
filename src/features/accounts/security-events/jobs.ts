import { z } from 'zod'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { type ActDeps, actOnSecurityEvent } from './act.ts'
import { ACT_JOB } from './receive.ts'

/** Acts on a security event that was acknowledged. */
export function securityEventJob(deps: ActDeps): JobKind {
  return defineJob({
    kind: ACT_JOB,
    payload: z.object({ issuer: z.string(), jti: z.string() }),
    run: (id) => actOnSecurityEvent(deps, id),
  })
}
