import { z } from 'zod'
import { withoutUserinfo } from '../../../core/text/url-userinfo.ts'

export const MODES = ['home', 'link', 'cloud'] as const
export const STATUSES = ['active', 'inactive'] as const
const AGENT_KINDS = ['stead', 'openclaw'] as const
export type MachineAgentKind = (typeof AGENT_KINDS)[number]

const UserId = z.string('userId required').min(1, 'userId required').max(200, 'userId is too long')
const Name = z.string('name must be text').trim().max(64, 'name is too long (max 64 chars)')
const badUrl = 'gatewayUrl must be an http or https URL'

/**
 * `POST /api/register-link`. `name` distinguishes the machines of one user; without a name it is the user's unnamed
 * machine.
 */
export const RegisterLinkRequest = z.object({
  userId: UserId,
  name: Name.default(''),
  gatewayUrl: z
    .url({ protocol: /^https?$/, error: badUrl })
    .max(2048, badUrl)
    .transform(withoutUserinfo)
    .nullish(),
  gatewayToken: z.string('gatewayToken must be text').max(4096, 'gatewayToken is too long').nullish(),
  /** Given by machines that open a tunnel. */
  version: z.string('version must be text').max(64, 'version is too long').nullish(),
  agentKind: z.enum(AGENT_KINDS, `agentKind must be one of ${AGENT_KINDS.join(', ')}`).optional(),
})
export type RegisterLinkRequest = z.infer<typeof RegisterLinkRequest>

/** `POST /api/register-home`. */
export const RegisterHomeRequest = RegisterLinkRequest.extend({
  mode: z.enum(MODES, `mode must be one of ${MODES.join(', ')}`).default('home'),
})

/** `POST /api/installations/pair`. The code may be typed in lower case, with spaces or hyphens. */
export const PairRequest = RegisterHomeRequest.omit({ userId: true }).extend({
  code: z
    .string('code required')
    .max(64, 'code is too long')
    .transform((code) => code.toUpperCase().replace(/[\s-]/g, ''))
    .pipe(z.string().length(8, 'code must have 8 characters')),
  version: z.string('version required').max(64, 'version is too long'),
})
export type PairRequest = z.infer<typeof PairRequest>

/** `PUT /api/installations/self`: changes of a machine with its own token. */
export const MachineUpdate = RegisterLinkRequest.omit({ userId: true, name: true }).extend({
  version: z.string('version required').max(64, 'version is too long'),
})
export type MachineUpdate = z.infer<typeof MachineUpdate>

/** `POST /api/heartbeat` of the backend; without a name it applies to all machines of the user. */
export const HeartbeatRequest = z.object({
  userId: z.string('userId must be text').max(200, 'userId is too long').optional(),
  name: Name.optional(),
})
export type HeartbeatRequest = z.infer<typeof HeartbeatRequest>

/** A machine as shown to its owner and the operator. Times are ISO 8601; the gateway's token is never returned. */
export const Installation = z.object({
  id: z.string(),
  userId: z.string(),
  name: z.string(),
  mode: z.enum(MODES),
  gatewayUrl: z.string().nullable(),
  registeredAt: z.string(),
  lastSeen: z.string(),
  status: z.enum(STATUSES),
  /** The agent of a machine with a tunnel, for chat and the agent's pages. */
  agentId: z.string().nullable(),
  /** The versions of the machine, null when unknown, and of the platform. */
  version: z.string().nullable(),
  platformVersion: z.string(),
  /** Why the machine's version is refused, with the command that helps; null when it is accepted. */
  versionProblem: z.string().nullable(),
  /** `none` for a machine without a tunnel; `since` is the time at which it went offline. */
  tunnel: z.object({
    state: z.enum(['online', 'offline', 'none']),
    since: z.string().nullable(),
    latencyMs: z.number().nullable(),
  }),
})
export type Installation = z.infer<typeof Installation>

/** `GET /api/installations` on both APIs. */
export const Installations = z.object({
  success: z.literal(true),
  count: z.number(),
  installations: z.array(Installation),
})
export type Installations = z.infer<typeof Installations>

/** `POST /api/register-home` and `/api/register-link`. */
export const RegisteredInstallation = z.object({
  success: z.literal(true),
  message: z.string(),
  dashboardUrl: z.string(),
  /** For machines that open a tunnel. */
  installationId: z.string().optional(),
  agentId: z.string().nullable().optional(),
  version: z.string().optional(),
})

/** `POST /api/installations/pairing-codes`. */
export const PairingCode = z.object({ code: z.string(), expiresAt: z.string() })
export type PairingCode = z.infer<typeof PairingCode>

/** `POST /api/installations/pair`: the machine's credentials, shown once. */
export const PairedMachine = z.object({
  success: z.literal(true),
  installationId: z.string(),
  agentId: z.string(),
  userId: z.string(),
  name: z.string(),
  token: z.string(),
  version: z.string(),
  dashboardUrl: z.string(),
})

/** `POST /api/heartbeat` of the backend. */
export const NotedHeartbeat = z.object({ success: z.literal(true), timestamp: z.string() })

/**
 * `GET /api/installations/address`: the backend's port on the dashboard's host, for users' machines and API clients.
 */
export const BackendAddress = z.object({ port: z.number() })
