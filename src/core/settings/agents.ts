import { z } from 'zod'
import { ImageReference } from '../text/image-reference.ts'
import { VERSION } from '../version.ts'
import { atLeastOne, flag, repositories, seconds, url } from './forms.ts'

/** What agents run as, and where. */
export const AGENTS = {
  AGENT_RUNTIME: z.enum(['docker', 'swarm', 'process', 'auto']).optional().meta({
    description:
      'What new agents run as. `docker`: containers of one engine; `swarm`: services of a Docker Swarm; `process`: child processes; `auto`: containers when an engine has the image, else processes; an installation that has run containers never goes back to processes by itself',
    otherwise: 'cloud `docker`, home `auto`',
  }),
  AGENT_IMAGE: ImageReference.default(`stead-agent:${VERSION}`).describe(
    'What containers of new agents are made from; `stead agent-image` makes the default',
  ),
  AGENT_IMAGES: repositories.optional().meta({
    description:
      'Repositories, without tags, whose images owners may choose besides `AGENT_IMAGE`; administrators may name any image',
    otherwise: '`stead-agent`, `openclaw-agent`, and what the engine has with our label',
  }),
  DOCKER_HOST: z
    .string()
    .min(1)
    .default('/var/run/docker.sock')
    .describe('The container engine, as the Docker CLI reads it'),
  AGENTS_BASE_PORT: z.coerce
    .number()
    .int()
    .min(1024)
    .max(60_000)
    .default(19_000)
    .describe('First port of agents, on 127.0.0.1 only'),
  AGENT_PROCESS_COMMAND: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'What the process runtime starts', otherwise: 'this program, `agent`' }),
  AGENT_SLEEP_MINUTES: z.coerce.number().nonnegative().max(525_600).default(30).meta({
    description:
      'An agent without an open channel sleeps when it has had nothing to do for so long: without process or container, until somebody addresses it. `0`: never',
    form: 'minutes',
  }),
  KILL_SWITCH: flag(false).describe('`true`: provisioning answers 503'),
  BROWSE_ROOT: z.string().min(1).optional().meta({
    description: 'The files that `/api/browse` shows when no agent is named: to the operator and to administrators',
    otherwise: '`<DATA_DIR>/workspace`',
  }),
}

/** When an agent is repaired and given up, and who is told. */
export const WATCHDOG = {
  WATCHDOG_CHECK_INTERVAL: seconds(120).describe('Between two looks at an agent'),
  WATCHDOG_DEGRADED_CHECK_INTERVAL: seconds(5).describe('Between two looks at one that fails'),
  WATCHDOG_STARTUP_FAILURE_THRESHOLD: atLeastOne(3).describe('Failed looks after the start period until more is done'),
  WATCHDOG_MAX_REPAIR_ATTEMPTS: atLeastOne(2).describe('Repairs until an agent is given up'),
  WATCHDOG_CRASH_LOOP_WINDOW: seconds(300).describe(
    'Within so long, `WATCHDOG_CRASH_LOOP_THRESHOLD` crashes are a crash loop',
  ),
  WATCHDOG_CRASH_LOOP_THRESHOLD: atLeastOne(3).describe('So many crashes end an agent until somebody starts it'),
  WATCHDOG_AUTO_REPAIR: flag(true).describe('`false`: the watchdog only tells'),
  WATCHDOG_KILL_WAIT: seconds(5).describe('Of a repair, between the end of an agent and its start'),
  WATCHDOG_RESTART_WAIT: seconds(30).describe('Of a repair, between the start of an agent and the look at it'),
  TELEGRAM_BOT_TOKEN: z.string().min(1).optional().describe('The bot by which the watchdog writes to operators'),
  TELEGRAM_ADMIN_CHAT_ID: z.string().min(1).optional().describe('The chat that it writes to'),
  TELEGRAM_API_URL: url
    .default('https://api.telegram.org')
    .describe('Where bots are asked: that of the watchdog and those of agents'),
  DISCORD_API_URL: url.default('https://discord.com').describe('Where the Discord bots of agents are asked'),
  SLACK_API_URL: url.default('https://slack.com').describe('Where the Slack apps of agents are asked'),
  WATCHDOG_WEBHOOK_URL: url
    .optional()
    .describe('Where the watchdog posts JSON, signed as Standard Webhooks says; `POST /api/watchdog/test` tries it'),
  WATCHDOG_WEBHOOK_SECRET: z
    .string()
    .min(24, 'must have at least 24 characters')
    .optional()
    .meta({ description: 'Signs those posts', otherwise: 'generated in `DATA_DIR/webhook.key`' }),
}
