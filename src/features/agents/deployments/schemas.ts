import { z } from 'zod'
import { ImageReference } from '../../../core/text/names.ts'
import { AI_PROVIDERS, ConfigRequest, hasNoNul } from '../registry/schemas.ts'

const Word = (name: string) =>
  z.string(`${name} must be text`).max(200, `${name} is too long`).refine(hasNoNul, `${name} must not contain NUL`)

/** `POST /api/deployments`: `userId` and `name` apply to an agent without a row; `config` holds settings. */
export const DeploymentRequest = z
  .object({
    agentId: z
      .string('agentId is required')
      .min(1, 'agentId is required')
      .regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'Invalid agentId'),
    userId: Word('userId').optional(),
    name: Word('name').optional(),
    config: ConfigRequest.extend({ aiProvider: z.enum(AI_PROVIDERS, 'Unsupported aiProvider').optional() }).default({}),
  })
  .meta({ examples: [{ agentId: 'ada', userId: 'user_1', config: { model: 'openai/gpt-4o', plan: 'solo' } }] })
export type DeploymentRequest = z.infer<typeof DeploymentRequest>

/** `POST /api/agents/:id/update`: without `image` the agent restarts on the current version. */
export const UpdateImageRequest = z
  .object({
    image: z
      .unknown()
      .refine((image) => ImageReference.safeParse(image).success, 'Invalid docker image value')
      .transform((image) => ImageReference.parse(image))
      .optional(),
  })
  .meta({ examples: [{}, { image: 'ghcr.io/openclaw/openclaw:2026.5.1' }] })

/** An entry of `GET /api/agents/:id/deployments`: an operation, its requester and its outcome. */
export const Deployment = z.object({
  id: z.number(),
  kind: z.string(),
  requestedBy: z.string(),
  step: z.string(),
  result: z.string().nullable(),
  image: z.string().nullable(),
  previousImage: z.string().nullable(),
  reason: z.string().nullable(),
  logTail: z.string().nullable(),
  backupPath: z.string().nullable(),
  requestedAt: z.string(),
  finishedAt: z.string().nullable(),
  durationMs: z.number().nullable(),
})
export type Deployment = z.infer<typeof Deployment>

export const DeploymentList = z.object({ deployments: z.array(Deployment), count: z.number() })

/** `POST /api/deployments`. */
export const DeployedAgent = z.object({
  id: z.string(),
  agentId: z.string(),
  subdomain: z.string(),
  url: z.string(),
  status: z.string(),
  runtimeVersion: z.string().nullable(),
})

/** Response to a request that starts or stops an agent. */
export const ChangedStatus = z.object({ success: z.literal(true), status: z.string() })

/** `POST /api/agents/:id/restart`. */
export const RestartedAgent = ChangedStatus.extend({
  runtimeVersion: z.string().nullable(),
  healedLegacyModel: z.boolean(),
  healMessage: z.string(),
})

/**
 * `POST /api/agents/:id/update`: `backupPath` names the snapshot taken before; `message` says why the image was not
 * used.
 */
export const UpdatedImage = ChangedStatus.extend({
  runtimeVersion: z.string().nullable(),
  image: z.string().nullable(),
  previousImage: z.string().nullable(),
  backupPath: z.string().nullable(),
  message: z.string().optional(),
})

/** `POST /api/agents/:id/snapshots/:snapshotId/restore`: `backupPath` names the snapshot of the replaced state. */
export const RestoredSnapshot = ChangedStatus.extend({ backupPath: z.string().nullable() })

/** `POST /api/agents/:id/repair`. */
export const RepairedAgent = z.object({ success: z.literal(true), message: z.string() })

/** `DELETE /api/agents/:id`. */
export const DeletedAgent = z.object({ id: z.string(), deleted: z.literal(true) })

/** `GET /api/agents/:id/token`. */
export const AgentToken = z.object({ token: z.string() })

/** `POST /api/agents/:id/token/rotate`. */
export const RotatedToken = ChangedStatus.extend(AgentToken.shape)
