import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { HouseHealth } from '../../src/features/admin/oversight/schemas.ts'
import { AdminFrame } from '../admin/admin-frame.tsx'
import { LoadingRows } from '../admin/paging.tsx'
import { hasCode, messageFor } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { healthQuery, testMail } from './oversight-api.ts'

const FAILURES: Record<HouseHealth['failing'][number], string> = {
  database: 'The database takes no writes: nothing that anybody does is kept. Look at the disk and at the log.',
  runtime: 'What runs the agents does not answer: agents cannot be started or stopped. Look at the container engine.',
  disk: 'The disk has less free space than MIN_FREE_DISK_MB asks for: writes are refused until there is more.',
}

/** `/admin/health`: does everything work, and is there space for more? */
export function HealthPage() {
  const query = useQuery(healthQuery)
  return (
    <AdminFrame title="Health" lead="How this server is right now. It looks again every ten seconds.">
      <Loaded query={query} what="The health" placeholder={<LoadingRows what="the health" />}>
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

function Parts({ health: { failing, agents, jobs, version, startedAt } }: { health: HouseHealth }) {
  const running = agents.running ?? 0
  const all = Object.values(agents).reduce((sum, count) => sum + count, 0)
  return (
    <Section
      title="Stead"
      badge={failing.length === 0 ? <Badge tone="good">Works</Badge> : <Badge tone="problem">Fails</Badge>}
      lead={`Version ${version}`}
    >
      {failing.map((part) => (
        <Notice key={part} tone="problem">
          {FAILURES[part]}
        </Notice>
      ))}
      <Facts>
        <Fact name="Runs since">
          <Moment at={startedAt} as="minute" />
        </Fact>
        <Fact name="Agents">
          <Link to="/admin/agents" className="text-accent underline underline-offset-2">
            {running.toLocaleString('en')} of {all.toLocaleString('en')} run
          </Link>
          {agents.down ? `, ${agents.down.toLocaleString('en')} are down` : ''}
        </Fact>
        <Fact name="Jobs that wait">
          <Link to="/admin/jobs" className="text-accent underline underline-offset-2" search={{ state: 'queued' }}>
            {((jobs.queued ?? 0) + (jobs.running ?? 0)).toLocaleString('en')}
          </Link>
        </Fact>
        <Fact name="Jobs that were given up">
          <Link to="/admin/jobs" className="text-accent underline underline-offset-2">
            {(jobs.dead ?? 0).toLocaleString('en')}
          </Link>
        </Fact>
      </Facts>
    </Section>
  )
}

const LOADS = {
  healthy: { tone: 'good', word: 'Calm' },
  degraded: { tone: 'warning', word: 'Busy' },
  unhealthy: { tone: 'problem', word: 'At its limit' },
} as const

function Machine({ health }: { health: HouseHealth }) {
  const { cpu, memory, processBytes, databaseBytes, freeDiskBytes, minFreeDiskBytes } = health
  const busiest = Math.max(cpu.usage, memory.usage)
  const load = LOADS[busiest <= 70 ? 'healthy' : busiest <= 85 ? 'degraded' : 'unhealthy']
  return (
    <Section
      title="Machine"
      badge={<Badge tone={load.tone}>{load.word}</Badge>}
      lead="Above 70 percent of processor or memory it is busy."
    >
      <Facts>
        <Fact name="Processor">
          {cpu.usage} % of {cpu.cores} {cpu.cores === 1 ? 'core' : 'cores'}
        </Fact>
        <Fact name="Memory">
          {memory.usage} % of {toSize(memory.total)}
        </Fact>
        <Fact name="Of this, Stead itself">{toSize(processBytes)}</Fact>
        <Fact name="Free on the fullest disk">
          {freeDiskBytes === null ? 'cannot be measured' : toSize(freeDiskBytes)}, at least {toSize(minFreeDiskBytes)}{' '}
          wanted
        </Fact>
        <Fact name="Database">{databaseBytes === null ? 'in memory' : toSize(databaseBytes)}</Fact>
      </Facts>
    </Section>
  )
}

const MAIL_STATES: Record<HouseHealth['mail'], { badge: string; lead: string }> = {
  smtp: { badge: 'Set up', lead: 'Links to sign in, and notices, go out by the mail server that was set up.' },
  log: { badge: 'Not set up', lead: 'No mail goes out. The text of each, with its link, is written to the log.' },
  none: { badge: 'Not set up', lead: 'No mail goes out: nobody can prove an address or ask for a new password.' },
}

function MailSection({ mail }: { mail: HouseHealth['mail'] }) {
  const trial = useMutation({ mutationFn: testMail })
  const { badge, lead } = MAIL_STATES[mail]
  return (
    <Section title="Mail" badge={<Badge tone={mail === 'smtp' ? 'good' : 'warning'}>{badge}</Badge>} lead={lead}>
      {mail === 'smtp' ? (
        <Button className="justify-self-start" isPending={trial.isPending} onClick={() => trial.mutate()}>
          Send me a test mail
        </Button>
      ) : (
        <Notice tone="note">
          <p>
            Add a mail server on the page of{' '}
            <Link to="/admin/services" className="text-accent underline underline-offset-2">
              services
            </Link>
            : it counts at once. Or set <code>SMTP_URL</code> and <code>MAIL_FROM</code>, then restart.
          </p>
        </Notice>
      )}
      {trial.data?.delivered && (
        <Notice tone="good">The mail server took it: look into the inbox of {trial.data.to}.</Notice>
      )}
      {trial.data?.delivered === false && (
        <Notice tone="problem" title="The mail server did not take it">
          <p className="wrap-anywhere">{trial.data.error}</p>
          <p>
            Check it on the page of{' '}
            <Link to="/admin/services" className="text-accent underline underline-offset-2">
              services
            </Link>
            , or SMTP_URL and MAIL_FROM where these set it.
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
