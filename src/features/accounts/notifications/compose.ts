import type { Notification, WatchdogEvent } from './schemas.ts'

const TITLES: Readonly<Record<Notification['kind'], string>> = {
  degraded: '🟡 Agent degraded',
  recovered: '🟢 Agent recovered',
  crash: '🔴 Agent crashed',
  crash_loop: '🔴 CRITICAL: agent in a crash loop',
  repair_started: '🟡 Repair started',
  repaired: '🟢 Agent repaired',
  repair_failed: '🔴 Repair failed',
  host_fault: '🔴 CRITICAL: most agents fail together',
  disk_low: '🔴 CRITICAL: the disk is full',
  disk_recovered: '🟢 The disk has room again',
  test: '🟢 Test notification',
}

/** Title, status, `Trigger: <kind>`, `Attempt count: <n>`: one line each. */
export function toText(notification: Notification): string {
  const { agent, kind, status, attempt } = notification
  const title = agent ? `${TITLES[kind]}: ${toLine(agent.name)} (${agent.id})` : TITLES[kind]
  return [title, status, `Trigger: ${kind}`, `Attempt count: ${attempt}`].join('\n')
}

/** The body of a webhook. */
export function toWebhookBody(notification: Notification): string {
  const { id, kind, at, agent, status, attempt, exitCode, outOfMemory } = notification
  const event: WatchdogEvent = {
    version: 1,
    type: `watchdog.${kind}`,
    timestamp: at,
    data: {
      id,
      severity: SEVERITIES[kind],
      agentId: agent?.id ?? null,
      agentName: agent?.name ?? null,
      status,
      attempt,
      exitCode,
      outOfMemory,
    },
  }
  return JSON.stringify(event)
}

const SEVERITIES: Readonly<Record<Notification['kind'], WatchdogEvent['data']['severity']>> = {
  degraded: 'warning',
  recovered: 'info',
  crash: 'error',
  crash_loop: 'critical',
  repair_started: 'warning',
  repaired: 'info',
  repair_failed: 'error',
  host_fault: 'critical',
  disk_low: 'critical',
  disk_recovered: 'info',
  test: 'info',
}

/** A name must not forge the lines below it. */
function toLine(name: string): string {
  return name.replace(/\p{C}+|\p{Zl}|\p{Zp}/gu, ' ').slice(0, 100)
}
