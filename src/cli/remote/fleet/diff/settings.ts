import { isInProfile, isToolName, LIMITS } from '../../../../core/agents/agent-tools.ts'
import type { WantedAgent, WantedSchedule } from '../fleet-file.ts'
import type { PresentAgent } from '../present.ts'
import {
  type Change,
  hasReference,
  joinParts,
  type LookUp,
  NO_PART,
  type Part,
  pairByName,
  toAddition,
  toChanges,
  toRemoval,
  toShown,
} from './change.ts'

/** `sendsSecrets` also sends secrets that are already set: the API never returns them, so they cannot be compared. */
export type DiffOptions = { lookUp: LookUp; sendsSecrets: boolean }

/** Sends the model and the settings in one request, because each may redeploy the agent. */
export function diffSettings(wanted: WantedAgent, { config }: PresentAgent, options: DiffOptions): Part {
  const present: Readonly<Record<string, unknown>> = config
  const given = { ...(wanted.model !== undefined && { model: wanted.model }), ...wanted.settings }
  const plain = Object.entries(given).flatMap(([name, value]) => {
    const changes = toChanges(toField(name), present[name], value)
    return changes.length === 0 ? [] : [{ name, value, changes }]
  })
  const secret = diffSecrets(wanted, config.secrets, options)
  const changed = [...plain, ...secret]
  if (changed.length === 0) return NO_PART
  const body = Object.fromEntries(changed.map(({ name, value }) => [name, value ?? null]))
  return { changes: changed.flatMap(({ changes }) => changes), calls: [{ method: 'PUT', path: '/config', body }] }
}

function toField(name: string): string {
  return name === 'model' ? name : `settings.${name}`
}

type SecretDiff = { name: string; value: string | null; changes: Change[] }

function diffSecrets(
  { name: agent, secrets = {} }: WantedAgent,
  present: Readonly<Record<string, boolean>>,
  { lookUp, sendsSecrets }: DiffOptions,
): SecretDiff[] {
  return Object.entries(secrets).flatMap(([name, reference]): SecretDiff[] => {
    const isSet = present[name] === true
    const field = `secrets.${name}`
    if (reference === null) {
      return isSet ? [{ name, value: null, changes: [{ kind: 'remove', field, before: '(set)' }] }] : []
    }
    if (isSet && !sendsSecrets) return []
    const changes = toChanges(field, isSet ? '(set)' : null, reference)
    return [{ name, value: lookUp(reference, `${agent}: ${field}`), changes }]
  })
}

export function diffLabels({ labels }: WantedAgent, present: PresentAgent): Part {
  const before = [...present.labels].sort()
  const changes = labels ? toChanges('labels', toList(before), toList(labels)) : []
  return changes.length === 0 ? NO_PART : { changes, calls: [{ method: 'PUT', path: '/labels', body: { labels } }] }
}

/** An empty list means unset. */
function toList(list: readonly string[]): readonly string[] | null {
  return list.length === 0 ? null : list
}

/** Sent completely on any difference: the meaning of a switch depends on the profile. */
export function diffTools({ tools: wanted }: WantedAgent, { tools: present }: PresentAgent): Part {
  if (!wanted) return NO_PART
  const { switches = {}, limits = {}, profile, httpHosts } = wanted
  const nextProfile = (profile === undefined ? present?.profile : profile) ?? present?.profile
  const changes = [
    ...(profile === undefined ? [] : toChanges('tools.profile', present?.isChosen ? present.profile : null, profile)),
    ...Object.entries(switches).flatMap(([name, isOn]) => {
      const usual = nextProfile && isToolName(name) ? isInProfile(name, nextProfile) : null
      const before = present?.tools.find((tool) => tool.name === name)?.isOn
      return toChanges(`tools.switches.${name}`, before, isOn ?? usual)
    }),
    ...(httpHosts ? toChanges('tools.httpHosts', toList(present?.httpHosts ?? []), toList(httpHosts)) : []),
    ...Object.entries(limits).flatMap(([name, limit]) => {
      const usual = name === 'maxUsd' ? null : LIMITS[name as keyof typeof LIMITS].usual
      return toChanges(
        `tools.limits.${name}`,
        present ? present.limits[name as keyof typeof present.limits] : usual,
        limit ?? usual,
      )
    }),
  ]
  return changes.length === 0 ? NO_PART : { changes, calls: [{ method: 'PUT', path: '/tools', body: wanted }] }
}

/** If the instructions could not be read, they are sent unconditionally. */
export function diffInstructions({ instructions }: WantedAgent, { instructions: present }: PresentAgent): Part {
  if (instructions === undefined) return NO_PART
  const changes = toChanges('instructions', present.unreadable === null ? present.text : '(not known)', instructions)
  if (changes.length === 0) return NO_PART
  return { changes, calls: [{ method: 'PUT', path: '/instructions', body: { text: instructions } }] }
}

export function diffCaps({ caps }: WantedAgent, { caps: present }: PresentAgent): Part {
  if (!caps) return NO_PART
  const changed = (['tokensPerDay', 'costUsdPerDay'] as const).filter(
    (name) => caps[name] !== undefined && caps[name] !== present[name],
  )
  if (changed.length === 0) return NO_PART
  return {
    changes: changed.flatMap((name) => toChanges(`caps.${name}`, present[name], caps[name])),
    calls: [{ method: 'PUT', path: '/breaker', body: Object.fromEntries(changed.map((name) => [name, caps[name]])) }],
  }
}

const TASKS = '/api/scheduled-tasks'
const SCHEDULE_FIELDS = ['cronSchedule', 'timezone', 'prompt', 'description', 'enabled'] as const

/** Removals first: the number of items is limited. */
export function diffSchedules({ schedules }: WantedAgent, present: PresentAgent): Part {
  if (!schedules) return NO_PART
  const { kept, added, removed } = pairByName(schedules, present.schedules)
  return joinParts([
    ...removed.map(({ id, name }) => toRemoval(`schedule ${name}`, TASKS, { taskId: id })),
    ...kept.map(({ want, have }) => changeSchedule(want, have)),
    // The agent's id is not known before the call.
    ...added.map((want) => toAddition(`schedule ${want.name}`, `${want.cronSchedule} ${want.timezone}`, TASKS, want)),
  ])
}

function changeSchedule(want: WantedSchedule, have: PresentAgent['schedules'][number]): Part {
  const changes = SCHEDULE_FIELDS.flatMap((name) => toChanges(`schedule ${want.name}: ${name}`, have[name], want[name]))
  if (changes.length === 0) return NO_PART
  return { changes, calls: [{ method: 'PUT', path: TASKS, body: { taskId: have.id, ...want } }] }
}

export function diffChannels(
  { name: agent, channels = {} }: WantedAgent,
  present: PresentAgent,
  { lookUp, sendsSecrets }: DiffOptions,
): Part {
  return joinParts([diffMail(channels.mail, present.mail), diffWebhook()])

  function diffWebhook(): Part {
    const { webhook } = channels
    if (webhook === undefined) return NO_PART
    if (webhook === null) return present.webhook === null ? NO_PART : toRemoval('channel webhook', '/webhook-channel')
    const isSecret = hasReference(webhook.url)
    if (present.webhook !== null && !sendsSecrets && isSecret) return NO_PART
    const url = lookUp(webhook.url, `${agent}: channel webhook`)
    if (present.webhook === toOrigin(url) && !sendsSecrets) return NO_PART
    const changes = toChanges('channel webhook', present.webhook, isSecret ? webhook.url : toOrigin(url))
    const sent: Change[] = [
      { kind: 'change', field: 'channel webhook', before: present.webhook, after: toShown(webhook.url) },
    ]
    return {
      changes: changes.length > 0 ? changes : sent,
      calls: [{ method: 'PUT', path: '/webhook-channel', body: { url } }],
    }
  }
}

function diffMail(wanted: boolean | undefined, present: boolean): Part {
  if (wanted === undefined || wanted === present) return NO_PART
  const change: Change = wanted ? { kind: 'add', field: 'channel mail' } : { kind: 'remove', field: 'channel mail' }
  return { changes: [change], calls: [{ method: 'PUT', path: '/channels/mail', body: { isOn: wanted } }] }
}

/** The server rejects an invalid address. */
function toOrigin(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}
