import type { WantedAgent, WantedSchedule } from '../fleet-file.ts'
import type { PresentAgent } from '../present.ts'
import { hasReference } from '../references.ts'
import {
  type Change,
  join,
  NO_PART,
  type Part,
  pairByName,
  toAddition,
  toChanges,
  toRemoval,
  toShown,
} from './change.ts'
import type { DiffOptions } from './settings.ts'

const TASKS = '/api/scheduled-tasks'
const SCHEDULE_FIELDS = ['cronSchedule', 'timezone', 'prompt', 'description', 'enabled'] as const

/** Removals first: the number of items is limited. */
export function diffSchedules({ schedules }: WantedAgent, present: PresentAgent): Part {
  if (!schedules) return NO_PART
  const { kept, added, removed } = pairByName(schedules, present.schedules)
  return join([
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
  return join([diffMail(channels.mail, present.mail), diffWebhook()])

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
