import { z } from 'zod'
import { Guardrails } from '../../accounts/guardrails/schemas.ts'
import { AgentStatus, ShownIsolation, WebAgent, WebAgentList } from '../registry/schemas.ts'
import { ShownProof } from '../verification/schemas.ts'

/** The host name and URL of an agent. */
const Place = z.object({ subdomain: z.string(), url: z.string() })

/** `GET /api/agents` of the backend: a bare list; `status` is `active` for a running agent. */
export const BackendAgentList = z.array(Place.extend({ id: z.string(), status: z.string(), created: z.string() }))

/** `GET /api/agents/:id` of the backend: the agent and its owner's verification. */
export const BackendAgent = Place.extend({
  id: z.string(),
  status: z.string(),
  startedAt: z.string().nullable(),
  plan: z.string(),
  runtimeVersion: z.string().nullable(),
  lastError: z.string().nullable(),
  isolation: ShownIsolation,
  ...ShownProof.shape,
})

/** `POST /api/agents`, flat on both APIs; `agentId` repeats `id`. */
export const CreatedAgent = Place.extend({
  id: z.string(),
  name: z.string(),
  agentId: z.string(),
  status: AgentStatus,
  createdAt: z.string(),
})
export type CreatedAgent = z.infer<typeof CreatedAgent>
export const CreatedWebAgent = CreatedAgent.extend({ agent: WebAgent })

/** `PUT /api/agents/:id`, flat on both APIs. */
export const UpdatedAgent = Place.omit({ url: true }).extend({
  id: z.string(),
  plan: z.string(),
  aiProvider: z.string(),
  status: z.string(),
  message: z.string(),
})
export type UpdatedAgent = z.infer<typeof UpdatedAgent>
export const UpdatedWebAgent = UpdatedAgent.extend({
  agent: WebAgent.extend({ plan: z.string(), aiProvider: z.string() }),
})

/** `GET /api/agents/provision`. */
export const ProvisionedAgentList = WebAgentList.omit({ status: true }).extend({ success: z.literal(true) })

/** `PATCH /api/agents/:id`. */
export const RenamedAgent = z.object({
  success: z.literal(true),
  agent: WebAgent.pick({ id: true, name: true, status: true, updatedAt: true }).extend({
    logBodies: z.boolean(),
    guardrails: Guardrails.nullable(),
  }),
})

const MAX_LABELS = 10

/** A label: a short word or two, case-sensitive. */
export const Label = z
  .string('A label must be text')
  .trim()
  .min(1, 'A label must not be empty')
  .max(40, 'A label must be at most 40 characters')
  .refine((label) => !/[\p{Cc},]/u.test(label), 'A label must not contain commas or control characters')

/** `PUT /api/agents/:id/labels`: replaces all labels. */
export const LabelsRequest = z.object({
  labels: z
    .array(Label, 'labels must be a list of texts')
    .max(MAX_LABELS, `An agent has at most ${MAX_LABELS} labels`)
    .transform((labels) => [...new Set(labels)].sort()),
})

/** The labels of an agent, sorted. */
export const Labels = z.object({ labels: z.array(z.string()) })
