import { z } from 'zod'
import { EGRESS_POLICIES } from '../agents/egress-policy.ts'
import { ImageReference } from '../text/names.ts'
import { VERSION } from '../version.ts'
import { atLeastOne, destinations, egressByTemplate, flag, repositories, seconds, url } from './forms.ts'

const volumeOptions = z
  .string()
  .default('')
  .transform((text, context) => {
    const parts = text.split(/[;\n]/).flatMap((part) => part.trim() || [])
    const pairs = parts.map((part) => /^([\w.-]+)=(.+)$/.exec(part))
    if (pairs.includes(null)) context.addIssue('must be key=value pairs, separated by semicolons')
    return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? '']))
  })
  .meta({ form: '`key=value`, separated by semicolons' })

/** Runtimes of agents. */
export const AGENTS = {
  AGENT_RUNTIME: z.enum(['docker', 'swarm', 'process', 'auto']).optional().meta({
    description:
      'Runtime of new agents. `docker`: containers of one engine; `swarm`: services of a Docker Swarm; `process`: child processes; `auto`: containers if the engine and the image are available, else processes; an installation that has run containers does not return to processes',
    otherwise: '`cloud`: `docker`; `home`: `auto`',
  }),
  AGENT_IMAGE: ImageReference.default(`stead-agent:${VERSION}`).describe(
    'Image of new agents; `stead agent-image` builds the default',
  ),
  AGENT_IMAGES: repositories.optional().meta({
    description: 'Repositories, without tags, of images that owners may choose; administrators may name any image',
    otherwise: '`stead-agent`, `openclaw-agent`, and images of the engine with the label of Stead',
  }),
  DOCKER_HOST: z
    .string()
    .min(1)
    .default('/var/run/docker.sock')
    .describe('Container engine, in the format of the Docker CLI'),
  AGENTS_BASE_PORT: z.coerce
    .number()
    .int()
    .min(1024)
    .max(60_000)
    .default(19_000)
    .describe('First port of agents on 127.0.0.1'),
  AGENT_PROCESS_COMMAND: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Command that the process runtime starts', otherwise: '`stead agent` of this executable' }),
  AGENT_ISOLATION: z
    .enum(['auto', 'off'])
    .default('auto')
    .describe('`auto`: agents of the process runtime run in a sandbox where bubblewrap works; `off`: without one'),
  AGENT_SLEEP_MINUTES: z.coerce.number().nonnegative().max(525_600).default(30).meta({
    description:
      'Minutes without work until an agent without a messenger sleeps; it wakes when something reaches it; `0`: never',
    form: 'minutes',
  }),
  PAIRING_CODE_MINUTES: z.coerce
    .number()
    .positive()
    .max(1440)
    .default(10)
    .describe('Minutes in which a machine can use a pairing code; fractions are accepted'),
  AGENT_SNAPSHOT_MINUTES: z.coerce.number().nonnegative().max(525_600).default(15).meta({
    description:
      'Minutes between copies of the files of a running agent on a Docker Swarm to `OBJECTS_URL`, from which it starts on another machine when its own is lost; `0`: never. Stopped agents are copied once',
    form: 'minutes',
  }),
  SWARM_VOLUME_DRIVER: z.string().min(1).optional().meta({
    description:
      'Driver of the volumes of agents on a Docker Swarm, such as `local` with the options of an NFS server; with it, an agent finds its files on every machine',
    otherwise: "volumes on each machine's own disk",
  }),
  SWARM_VOLUME_OPTIONS: volumeOptions.describe(
    'Options of `SWARM_VOLUME_DRIVER`, one `key=value` per line or separated by semicolons; `{volume}` is replaced by the name of the volume',
  ),
  EGRESS_DEFAULT: z
    .enum(EGRESS_POLICIES)
    .default('open')
    .describe('Egress policy of agents whose owner has not chosen one'),
  EGRESS_BY_TEMPLATE: egressByTemplate.describe(
    'Egress policies that replace `EGRESS_DEFAULT` for agents of a template',
  ),
  EGRESS_PRIVATE_HOSTS: destinations.describe(
    'Private destinations that agents may reach if their policy allows them, as `host`, `host:port` or `host:*`; link-local addresses stay blocked',
  ),
  KILL_SWITCH: flag(false).describe('`true` disables provisioning (503)'),
  BROWSE_ROOT: z.string().min(1).optional().meta({
    description: 'Folder that `/api/browse` shows to the operator and administrators when no agent is named',
    otherwise: '`<DATA_DIR>/workspace`',
  }),
}

/** Watchdog and notifications to operators. */
export const WATCHDOG = {
  WATCHDOG_CHECK_INTERVAL: seconds(120).describe('Interval between health checks of an agent'),
  WATCHDOG_DEGRADED_CHECK_INTERVAL: seconds(5).describe('Interval between health checks of a failing agent'),
  WATCHDOG_STARTUP_FAILURE_THRESHOLD: atLeastOne(3).describe('Failed checks after the start period until a repair'),
  WATCHDOG_MAX_REPAIR_ATTEMPTS: atLeastOne(2).describe('Failed repairs until the agent is marked as failed'),
  WATCHDOG_CRASH_LOOP_WINDOW: seconds(300).describe(
    'Window in which `WATCHDOG_CRASH_LOOP_THRESHOLD` crashes are a crash loop',
  ),
  WATCHDOG_CRASH_LOOP_THRESHOLD: atLeastOne(3).describe('Crashes that stop an agent until it is started again'),
  WATCHDOG_AUTO_REPAIR: flag(true).describe('`false`: the watchdog notifies without repairing'),
  WATCHDOG_HEALTHY_AFTER: seconds(300).describe(
    'Time without a crash after which a configuration or image is healthy, and repairs may return to it',
  ),
  WATCHDOG_RETRY_AFTER: seconds(3600).describe(
    'Time until a failed agent is started again; doubles with every retry, up to a day',
  ),
  WATCHDOG_KILL_WAIT: seconds(5).describe('Wait between stopping and starting an agent during a repair'),
  WATCHDOG_RESTART_WAIT: seconds(30).describe('Wait between starting and checking an agent during a repair'),
  TELEGRAM_BOT_TOKEN: z.string().min(1).optional().describe('Telegram bot that notifies operators'),
  TELEGRAM_ADMIN_CHAT_ID: z.string().min(1).optional().describe('Telegram chat that receives these notifications'),
  TELEGRAM_API_URL: url.default('https://api.telegram.org').describe('Telegram API for the watchdog and for agents'),
  DISCORD_API_URL: url.default('https://discord.com').describe('Discord API for agents'),
  SLACK_API_URL: url.default('https://slack.com').describe('Slack API for agents'),
  WATCHDOG_WEBHOOK_URL: url
    .optional()
    .describe(
      'URL that the watchdog posts events to, signed as Standard Webhooks; `POST /api/watchdog/test` sends a test event',
    ),
  WATCHDOG_WEBHOOK_SECRET: z
    .string()
    .min(24, 'must have at least 24 characters')
    .optional()
    .meta({ description: 'Signing secret of these webhooks', otherwise: 'generated in `DATA_DIR/webhook.key`' }),
}
