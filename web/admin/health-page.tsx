import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { PlatformHealth } from '../../src/features/admin/oversight/schemas.ts'
import { hasCode, messageFor } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, Notice } from '../ui/notice.tsx'
import { Fact, Facts, Section } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { healthQuery, testMail } from './oversight-api.ts'
import { LoadingRows } from './paging.tsx'

const FAILURES: Record<PlatformHealth['failing'][number], string> = {
  database: 'The database rejects writes, so no changes are saved. Check the disk and the logs.',
  runtime: 'The agent runtime is not responding, so agents cannot be started or stopped. Check the container engine.',
  disk: 'Free disk space is below MIN_FREE_DISK_MB. Writes are rejected until space is freed.',
}

/** Page `/admin/health`. */
export function HealthPage() {
  const query = useQuery(healthQuery)
  return (
    <AdminFrame title="Health" lead="Current state of this server. Updates every ten seconds.">
      <Loaded query={query} what="health" placeholder={<LoadingRows what="health" />}>
        {(health) => (
          <div className="grid grid-cols-1 gap-6">
            <Parts health={health} />
            <Machine health={health} />
            <MailSection mail={health.mail} />
          </div>
        )}
      </Loaded>
    </AdminFrame>
  )
}

function Parts({ health: { failing, agents, jobs, version, startedAt } }: { health: PlatformHealth }) {
  const running = agents.running ?? 0
  const all = Object.values(agents).reduce((sum, count) => sum + count, 0)
  return (
    <Section
      title="Stead"
      badge={failing.length === 0 ? <Badge tone="good">Operational</Badge> : <Badge tone="problem">Failing</Badge>}
      lead={`Version ${version}`}
    >
      {failing.map((part) => (
        <Notice key={part} tone="problem">
          {FAILURES[part]}
        </Notice>
      ))}
      <Facts>
        <Fact name="Up since">
          <Moment at={startedAt} as="minute" />
        </Fact>
        <Fact name="Agents">
          <Link to="/admin/agents" className="text-accent underline underline-offset-2">
            {running.toLocaleString('en')} of {all.toLocaleString('en')} running
          </Link>
          {agents.down ? `, ${agents.down.toLocaleString('en')} down` : ''}
        </Fact>
        <Fact name="Queued jobs">
          <Link to="/admin/jobs" className="text-accent underline underline-offset-2" search={{ state: 'queued' }}>
            {((jobs.queued ?? 0) + (jobs.running ?? 0)).toLocaleString('en')}
          </Link>
        </Fact>
        <Fact name="Failed jobs">
          <Link to="/admin/jobs" className="text-accent underline underline-offset-2">
            {(jobs.dead ?? 0).toLocaleString('en')}
          </Link>
        </Fact>
      </Facts>
    </Section>
  )
}

const LOADS = {
  healthy: { tone: 'good', word: 'normal' },
  degraded: { tone: 'warning', word: 'high' },
  unhealthy: { tone: 'problem', word: 'critical' },
} as const

function Machine({ health }: { health: PlatformHealth }) {
  const { cpu, memory, processBytes, databaseBytes, freeDiskBytes, minFreeDiskBytes } = health
  const busiest = Math.max(cpu.usage, memory.usage)
  const load = LOADS[busiest <= 70 ? 'healthy' : busiest <= 85 ? 'degraded' : 'unhealthy']
  return (
    <Section
      title="Host"
      badge={<Badge tone={load.tone}>Load: {load.word}</Badge>}
      lead="Load is high above 70% CPU or memory."
    >
      <Facts>
        <Fact name="CPU">
          {cpu.usage}% of {cpu.cores} {cpu.cores === 1 ? 'core' : 'cores'}
        </Fact>
        <Fact name="Memory">
          {memory.usage}% of {toSize(memory.total)}
        </Fact>
        <Fact name="Stead memory">{toSize(processBytes)}</Fact>
        <Fact name="Free disk space">
          {freeDiskBytes === null ? 'unavailable' : toSize(freeDiskBytes)} (minimum: {toSize(minFreeDiskBytes)})
        </Fact>
        <Fact name="Database">{databaseBytes === null ? 'in memory' : toSize(databaseBytes)}</Fact>
      </Facts>
    </Section>
  )
}

const MAIL_STATES: Record<PlatformHealth['mail'], { badge: string; lead: string }> = {
  smtp: { badge: 'Configured', lead: 'Sign-in links and notifications are sent through the configured mail server.' },
  log: { badge: 'Not configured', lead: 'Email is off. Each message and its link are written to the log.' },
  none: { badge: 'Not configured', lead: 'Email is off. Users cannot confirm addresses or reset passwords.' },
}

function MailSection({ mail }: { mail: PlatformHealth['mail'] }) {
  const trial = useMutation({ mutationFn: testMail })
  const { badge, lead } = MAIL_STATES[mail]
  return (
    <Section title="Mail" badge={<Badge tone={mail === 'smtp' ? 'good' : 'warning'}>{badge}</Badge>} lead={lead}>
      {mail === 'smtp' ? (
        <Button className="justify-self-start" isPending={trial.isPending} onClick={() => trial.mutate()}>
          Send test email
        </Button>
      ) : (
        <Notice tone="note">
          <p>
            Add a mail server in{' '}
            <Link to="/admin/services" className="text-accent underline underline-offset-2">
              Services
            </Link>{' '}
            (no restart needed), or set <code>SMTP_URL</code> and <code>MAIL_FROM</code> and restart.
          </p>
        </Notice>
      )}
      {trial.data?.delivered && <Notice tone="good">Test email sent to {trial.data.to}.</Notice>}
      {trial.data?.delivered === false && (
        <Notice tone="problem" title="Could not send the test email">
          <p className="wrap-anywhere">{trial.data.error}</p>
          <p>
            Check{' '}
            <Link to="/admin/services" className="text-accent underline underline-offset-2">
              Services
            </Link>{' '}
            or SMTP_URL and MAIL_FROM.
          </p>
        </Notice>
      )}
      {trial.error && (
        <Notice tone={hasCode(trial.error, 'NOT_CONFIGURED') ? 'note' : 'problem'}>{messageFor(trial.error)}</Notice>
      )}
    </Section>
  )
}

function toSize(bytes: number): string {
  const [size, unit] = bytes >= 1e9 ? [bytes / 1e9, 'GB'] : [bytes / 1e6, 'MB']
  return `${size.toLocaleString('en', { maximumFractionDigits: size >= 100 ? 0 : 1 })} ${unit}`
}
